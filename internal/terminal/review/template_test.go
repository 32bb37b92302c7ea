package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestPodOf(t *testing.T) {
	const template = `{"metadata":{"name":"dropped","labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{"containers":[{"name":"c","future":9007199254740993}]}}`
	for _, tt := range []struct{ apiVersion, kind, spec, owner string }{
		{"apps/v1", "Deployment", `{"template":` + template + `}`, "apps/v1 ReplicaSet"},
		{"apps/v1", "StatefulSet", `{"template":` + template + `}`, "apps/v1 StatefulSet"},
		{"batch/v1", "Job", `{"template":` + template + `}`, "batch/v1 Job"},
		{"batch/v1", "CronJob", `{"jobTemplate":{"spec":{"template":` + template + `}}}`, "batch/v1 Job"},
		{"apps.kruise.io/v1alpha1", "CloneSet", `{"template":` + template + `}`, "apps.kruise.io/v1alpha1 CloneSet"},
		{"apps.kruise.io/v1beta1", "AdvancedCronJob", `{"template":{"broadcastJobTemplate":{"spec":{"template":` + template + `}}}}`, "apps.kruise.io/v1beta1 BroadcastJob"},
		{"apps.kruise.io/v1beta1", "AdvancedCronJob", `{"template":{"jobTemplate":{"spec":{"template":` + template + `}}}}`, "batch/v1 Job"},
		{"apps.kruise.io/v1beta1", "UnitedDeployment", `{"template":{"deploymentTemplate":{"spec":{"template":` + template + `}}}}`, "apps/v1 ReplicaSet"},
		{"apps.kruise.io/v1beta1", "UnitedDeployment", `{"template":{"cloneSetTemplate":{"spec":{"template":` + template + `}}}}`, "apps.kruise.io/v1beta1 CloneSet"},
		{"v1", "Service", `{"ports":[]}`, ""},
		{"v1", "ConfigMap", `7`, ""},
	} {
		object := `{"apiVersion":"` + tt.apiVersion + `","kind":"` + tt.kind + `","metadata":{"name":"web","namespace":"shop"},"spec":` + tt.spec + `}`
		request, found, err := PodOf(Request{Source: "f:1", Object: []byte(object), Namespace: "other"})
		if err != nil || found != (tt.owner != "") {
			t.Errorf("%s: %v, %v", tt.kind, found, err)
			continue
		}
		if !found {
			continue
		}
		var pod corev1.Pod
		if err := json.Unmarshal(request.Object, &pod); err != nil {
			t.Fatal(err)
		}
		owner := pod.OwnerReferences[0]
		if got := owner.APIVersion + " " + owner.Kind; got != tt.owner || !*owner.Controller {
			t.Errorf("%s: the owner is %s, want %s", tt.kind, got, tt.owner)
		}
		if pod.Namespace != "shop" || pod.Name != "" || pod.GenerateName != "web-" || pod.Labels["app"] != "web" || pod.Annotations["a"] != "b" ||
			request.Operation != admission.Create || request.Of != tt.kind+" web" {
			t.Errorf("%s: %+v", tt.kind, pod.ObjectMeta)
		}
		if !strings.Contains(string(request.Object), `"future":9007199254740993`) {
			t.Errorf("%s: what is not known is lost: %s", tt.kind, request.Object)
		}
	}
}

// Without a cluster, names and scopes are those that our definitions have.
func TestOfflineKnowsOurKinds(t *testing.T) {
	files, err := filepath.Glob("../../../charts/kruise/files/crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding definitions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		resource, namespaced, err := Offline{}.Of(schema.GroupVersionKind{Group: crd.Spec.Group, Version: "v1beta1", Kind: crd.Spec.Names.Kind})
		if err != nil || resource.Resource != crd.Spec.Names.Plural || namespaced != (crd.Spec.Scope == apiextensionsv1.NamespaceScoped) {
			t.Errorf("%s: %s, in a namespace: %v, %v", crd.Name, resource.Resource, namespaced, err)
		}
	}
}

func TestExitCodeOfResults(t *testing.T) {
	of := func(decisions ...Decision) []*Result {
		var results []*Result
		for _, d := range decisions {
			results = append(results, &Result{Webhooks: []Verdict{{Decision: d}}})
		}
		return results
	}
	for want, results := range map[int][]*Result{
		terminal.ExitOK: of(Allowed, Changed), terminal.ExitFound: of(Failed, Denied), terminal.ExitUnreachable: of(Allowed, Failed),
	} {
		if got := ExitCode(results); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
