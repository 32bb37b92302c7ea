package conversion

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/test/installation"
)

// old are objects as clients wrote them when v1alpha1 was all there was.
const old = `
apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata: {name: logs}
spec:
  namespace: default
  selector: {matchLabels: {app: web}}
  containers: [{name: logs, image: "bank.test/logs:v1", newerField: {x: 1}}]
---
apiVersion: apps.kruise.io/v1alpha1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Surging}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: "bank.test/agent:v1", newerField: 9007199254740993}]}}
---
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata:
  name: web
  namespace: default
  annotations: {kruise.io/pub-protect-operations: "DELETE, EVICT"}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata:
  name: odd
  namespace: default
  annotations: {kruise.io/pub-protect-operations: "DELETE,PATCH", pub.kruise.io/protect-total-replicas: "many"}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: odd}}}
---
apiVersion: apps.kruise.io/v1alpha1
kind: WorkloadSpread
metadata: {name: zones, namespace: default}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  subsets: [{name: a, requiredNodeSelectorTerm: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}]
`

// TestConversion takes a cluster from objects that are stored as v1alpha1 to one where v1beta1 works without us.
func TestConversion(t *testing.T) {
	w := newWorld(t)
	w.installOldDefinitions()
	w.apply(old)
	w.storedAsAlpha()
	w.helm("install", installation.Release, w.chart, "--namespace", "default")
	w.nothingIsReadWrongWhileNobodyConverts()

	one, two := w.startReplica("one"), w.startReplica("two")
	w.everyDefinitionConverts()
	w.defaultsAreFilledIn()
	w.oldObjectsReadInTheNewVersion()
	w.anOlderClientErasesNothing()
	w.aBadBudgetIsRefused()
	w.upgradesLeaveConversionAlone(one, two)

	manager := w.startControllers()
	w.objectsAreStoredAnew(manager)
	w.aLongListIsOneReview()
	one.stop()
	two.stop()
	manager.stop()
	w.noEndpoints()
	w.v1beta1WorksWithoutUs()
	w.uninstallingLeavesObjectsThatCanBeDeleted()
}

func (w *world) storedAsAlpha() {
	w.Helper()
	for _, r := range conversion.Resources() {
		if stored := w.definition(r.Definition()).Status.StoredVersions; !cmp.Equal(stored, []string{"v1alpha1"}) {
			w.Fatalf("%s has stored %v", r.Definition(), stored)
		}
	}
}

// nothingIsReadWrongWhileNobodyConverts: the namespace of a SidecarSet would be missing, and it would be injected
// everywhere.
func (w *world) nothingIsReadWrongWhileNobodyConverts() {
	w.Helper()
	w.until("the definition is followed", func() string {
		object, err := w.get("sidecarsets", "v1beta1", "logs")
		if err == nil { // of an API server that has not seen the definition yet
			return "read as " + object.GetAPIVersion()
		}
		if !strings.Contains(err.Error(), "conversion webhook") {
			return err.Error()
		}
		return ""
	})
}

func (w *world) everyDefinitionConverts() {
	w.Helper()
	for _, r := range conversion.Resources() {
		w.until(r.Definition(), func() string {
			crd := w.definition(r.Definition())
			webhook := crd.Spec.Conversion.Webhook
			switch {
			case !r.Differs && crd.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter:
				return ""
			case crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter:
				return "strategy " + string(crd.Spec.Conversion.Strategy)
			case len(webhook.ClientConfig.CABundle) == 0:
				return "there is no CA"
			case webhook.ClientConfig.Service.Name != "kruise-conversion" || *webhook.ClientConfig.Service.Path != "/convert" ||
				!cmp.Equal(webhook.ConversionReviewVersions, []string{"v1"}):
				return webhook.String()
			}
			return ""
		})
	}
}

// defaultsAreFilledIn waits for the webhooks: what was written before they are there changes with the next write.
func (w *world) defaultsAreFilledIn() {
	w.Helper()
	const set = "{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: probe, namespace: default}, " +
		"spec: {selector: {matchLabels: {app: probe}}, template: {metadata: {labels: {app: probe}}, spec: {containers: [{name: c, image: i}]}}}}"
	w.until("defaults", func() string {
		out, err := w.KubectlInput(w.Context(), strings.NewReader(set), "create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.revisionHistoryLimit}")
		if err != nil {
			return err.Error()
		}
		if strings.TrimSpace(out) != "10" {
			return "there are none: " + out
		}
		return ""
	})
}

func (w *world) oldObjectsReadInTheNewVersion() {
	w.Helper()
	w.has("SidecarSet", w.read("sidecarsets", "v1beta1", "logs"), map[string]string{
		"spec/namespaceSelector": `{"matchLabels":{"kubernetes.io/metadata.name":"default"}}`, "spec/namespace": "",
		"spec/containers": `[{"image":"bank.test/logs:v1","name":"logs","newerField":{"x":1}}]`,
	})
	w.has("DaemonSet", w.read("daemonsets", "v1beta1", "agent"), map[string]string{
		"spec/updateStrategy/rollingUpdate": `{"maxSurge":1,"maxUnavailable":0,"rollingUpdateType":"Standard"}`,
		"spec/template/spec/containers":     `[{"image":"bank.test/agent:v1","name":"agent","newerField":9007199254740993}]`,
	})
	w.has("PodUnavailableBudget", w.read("podunavailablebudgets", "v1beta1", "web"), map[string]string{
		"spec/protectOperations": `["DELETE","EVICT"]`,
	})
	// Nobody judged this one when it was written. It must not fail the lists that it is in.
	odd := w.read("podunavailablebudgets", "v1beta1", "odd")
	w.has("PodUnavailableBudget", odd, map[string]string{"spec/protectOperations": `["DELETE"]`, "spec/protectTotalReplicas": ""})
	if a := odd.GetAnnotations(); a["kruise.io/pub-protect-operations"] != "DELETE,PATCH" || a["pub.kruise.io/protect-total-replicas"] != "many" {
		w.Errorf("annotations are %v, want those that were written", a)
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		names, err := w.Kubectl(w.Context(), "get", "podunavailablebudgets."+version+".policy.kruise.io", "-o", "jsonpath={.items[*].metadata.name}")
		w.must(err)
		if strings.TrimSpace(names) != "odd web" {
			w.Errorf("budgets in %s are %q, want both", version, names)
		}
	}
	w.has("WorkloadSpread", w.read("workloadspreads", "v1beta1", "zones"), map[string]string{
		"spec/subsets": `[{"name":"a","requiredNodeSelector":{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}}]`,
	})
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":%NS%,"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"bank.test/web:v1"}]}}`
	for _, c := range []struct{ namespace, want string }{{"default", "logs web"}, {"kruise-daemon-config", "web"}} {
		w.until("admission in "+c.namespace, func() string {
			out, err := w.KubectlInput(w.Context(), strings.NewReader(strings.Replace(pod, "%NS%", `"`+c.namespace+`"`, 1)),
				"create", "--dry-run=server", "-o", "jsonpath={.spec.containers[*].name}", "-f", "-")
			if err != nil {
				return err.Error()
			}
			if out != c.want {
				return "the Pod has containers " + out
			}
			return ""
		})
	}
}

func (w *world) aBadBudgetIsRefused() {
	w.Helper()
	_, err := w.KubectlInput(w.Context(), strings.NewReader(`
apiVersion: policy.kruise.io/v1alpha1
kind: PodUnavailableBudget
metadata: {name: bad, namespace: default, annotations: {kruise.io/pub-protect-operations: "DELETE,PATCH"}}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}`), "create", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), `PodUnavailableBudget.policy.kruise.io "bad" is invalid`) ||
		!strings.Contains(err.Error(), `metadata.annotations[kruise.io/pub-protect-operations]: Unsupported value: "PATCH"`) {
		w.Errorf("error is %v", err)
	}
}

// upgradesLeaveConversionAlone: neither Helm nor the service writes a definition that is as it should be, and what
// somebody else makes of it is put right.
func (w *world) upgradesLeaveConversionAlone(replicas ...*process) {
	w.Helper()
	const name = "clonesets.apps.kruise.io"
	time.Sleep(2 * time.Second) // what the registration had to do is done
	before, writes := w.definition(name), writesOf(replicas)
	for _, flags := range [][]string{{}, {"--server-side=false", "--set", "manager.replicas=3"}, {"--server-side=true", "--set", "manager.replicas=2"}} {
		w.helm(append([]string{"upgrade", installation.Release, w.chart, "--namespace", "default"}, flags...)...)
		after := w.definition(name)
		if diff := cmp.Diff(before.Spec.Conversion, after.Spec.Conversion); diff != "" {
			w.Errorf("helm upgrade %v changes the conversion:\n%s", flags, diff)
		}
		if before.Generation != after.Generation {
			w.Errorf("helm upgrade %v: generation %d, then %d", flags, before.Generation, after.Generation)
		}
	}
	time.Sleep(2 * time.Second)
	if got := writesOf(replicas); got != writes {
		w.Errorf("%d writes of ours beside the upgrades", got-writes)
	}
	w.kubectl("patch", "crd", name, "--type", "merge", "-p", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	w.until("the conversion is put right", func() string { return cmp.Diff(before.Spec.Conversion, w.definition(name).Spec.Conversion) })
	w.kubectl("patch", "crd", name, "--type", "merge", "-p",
		`{"spec":{"conversion":{"webhook":{"clientConfig":{"service":null,"url":"https://elsewhere.example/convert"}}}}}`)
	w.until("the conversion is put right", func() string { return cmp.Diff(before.Spec.Conversion, w.definition(name).Spec.Conversion) })
}

func writesOf(processes []*process) (total int64) {
	for _, p := range processes {
		total += p.writes.Load()
	}
	return total
}

func (w *world) objectsAreStoredAnew(manager *process) {
	w.Helper()
	before := w.read("daemonsets", "v1beta1", "agent")
	for _, r := range conversion.Resources() {
		w.until(r.Definition(), func() string {
			if stored := w.definition(r.Definition()).Status.StoredVersions; !cmp.Equal(stored, []string{"v1beta1"}) {
				return "stored are " + strings.Join(stored, ", ")
			}
			return ""
		})
	}
	after := w.read("daemonsets", "v1beta1", "agent")
	// The update also fills in what was left out, as any update of an object that is older than the defaults does.
	spec, _, err := unstructured.NestedMap(after.Object, "spec")
	w.must(err)
	delete(spec, "burstReplicas")
	delete(spec, "revisionHistoryLimit")
	if diff := cmp.Diff(before.Object["spec"], any(spec)); diff != "" {
		w.Errorf("having an object stored anew changed it (-before +after):\n%s", diff)
	}
	writes := manager.writes.Load()
	time.Sleep(5 * time.Second)
	if got := manager.writes.Load(); got != writes {
		w.Errorf("%d writes after everything was done", got-writes)
	}
}

// aLongListIsOneReview: what the API server reads from etcd in one go it has converted in one go.
func (w *world) aLongListIsOneReview() {
	w.Helper()
	const objects, namespaces = 5000, 50 // each is compared with its neighbours when it is created
	for n := range namespaces {
		w.kubectl("create", "namespace", fmt.Sprintf("many-%d", n))
	}
	anywhere := func(version string) dynamic.NamespaceableResourceInterface {
		return w.dynamic.Resource(resource("workloadspreads", version))
	}
	text := `{"apiVersion":"apps.kruise.io/v1beta1","kind":"WorkloadSpread","metadata":{"name":"many-%[1]d","labels":{"many":"true"},"annotations":{"padding":"` +
		strings.Repeat("x", 4<<10) + `"}},"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web-%[1]d"},"subsets":[{"name":"a","requiredNodeSelector":{}}]}}`
	var creating errgroup.Group
	creating.SetLimit(16)
	for i := range objects {
		creating.Go(func() error {
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(fmt.Appendf(nil, text, i)); err != nil {
				return err
			}
			_, err := anywhere("v1beta1").Namespace(fmt.Sprintf("many-%d", i%namespaces)).Create(w.Context(), object, metav1.CreateOptions{})
			return err
		})
	}
	w.must(creating.Wait())
	all := metav1.ListOptions{LabelSelector: "many=true"}
	newest, err := anywhere("v1beta1").List(w.Context(), all)
	w.must(err)
	start := time.Now()
	// A list at an exact version comes from etcd, not from a cache that was filled object by object.
	exact := metav1.ListOptions{LabelSelector: "many=true", ResourceVersion: newest.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	list, err := anywhere("v1alpha1").List(w.Context(), exact)
	w.must(err)
	w.Logf("a list of %d objects in the other version takes %v", len(list.Items), time.Since(start))
	if len(list.Items) != objects {
		w.Errorf("%d objects of %d", len(list.Items), objects)
	}
	for i := range list.Items {
		subsets, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "subsets")
		if _, converted := subsets[0].(map[string]any)["requiredNodeSelectorTerm"]; !converted {
			w.Fatalf("%s is not converted: %v", list.Items[i].GetName(), subsets)
		}
	}
	for n := range namespaces {
		w.must(anywhere("v1beta1").Namespace(fmt.Sprintf("many-%d", n)).DeleteCollection(w.Context(), metav1.DeleteOptions{}, all))
	}
}

// v1beta1WorksWithoutUs: the service is away, and everything that v1beta1 can say still works. In v1alpha1 errors tell
// why it does not.
func (w *world) v1beta1WorksWithoutUs() {
	w.Helper()
	w.kubectl("delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "--all") // admission is another matter
	for _, r := range conversion.Resources() {
		out, err := w.Kubectl(w.Context(), "get", r.Plural+".v1beta1."+r.Group, "-A")
		if err != nil {
			w.Errorf("listing: %v in %s", err, out)
		}
	}
	w.kubectl("label", "statefulsets.v1beta1.apps.kruise.io", "mc", "--overwrite", "a=b")
	_, err := w.get("statefulsets", "v1alpha1", "mc")
	if err == nil || !strings.Contains(err.Error(), "kruise-conversion") {
		w.Errorf("reading in v1alpha1: %v", err)
	}

	w.aNamespaceCanBeDeleted("shop")
}

func (w *world) aNamespaceCanBeDeleted(name string) {
	w.Helper()
	w.kubectl("create", "namespace", name)
	w.apply(`
apiVersion: apps.kruise.io/v1beta1
kind: DaemonSet
metadata: {name: web, namespace: ` + name + `}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "bank.test/web:v1"}]}}}`)
	w.deleteNamespace(name)
}

// uninstallingLeavesObjectsThatCanBeDeleted, also where some are still stored in the old version. Where none are, a client
// of the old version gets an error, and does not erase what it cannot see.
func (w *world) uninstallingLeavesObjectsThatCanBeDeleted() {
	w.Helper()
	const mixed, settled = "daemonsets.apps.kruise.io", "statefulsets.apps.kruise.io"
	w.helm("upgrade", installation.Release, w.chart, "--namespace", "default") // brings the anchor back
	replica := w.startReplica("three")
	w.everyDefinitionConverts()
	_, err := w.definitions.Patch(w.Context(), mixed, types.MergePatchType, []byte(`{"status":{"storedVersions":["v1alpha1","v1beta1"]}}`), metav1.PatchOptions{}, "status")
	w.must(err)

	w.helm("uninstall", installation.Release, "--namespace", "default")
	w.until("the definition is released", func() string {
		if got := w.definition(mixed).Spec.Conversion.Strategy; got != apiextensionsv1.NoneConverter {
			return "strategy " + string(got)
		}
		return ""
	})
	replica.stop()
	w.noEndpoints()
	if got := w.definition(settled).Spec.Conversion.Strategy; got != apiextensionsv1.WebhookConverter {
		w.Errorf("%s has strategy %s", settled, got)
	}
	w.kubectl("get", "daemonsets.v1beta1.apps.kruise.io,statefulsets.v1beta1.apps.kruise.io", "-A")
	w.aNamespaceCanBeDeleted("shop")
	w.kubectl("get", "daemonsets.v1alpha1.apps.kruise.io", "-A")
	_, err = w.in("statefulsets", "v1alpha1").Patch(w.Context(), "mc", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{}, "scale")
	if err == nil || !strings.Contains(err.Error(), `service "kruise-conversion" not found`) {
		w.Errorf("scaling in v1alpha1: %v", err)
	}
	w.has("after a client of the old version came", w.read("statefulsets", "v1beta1", "mc"), map[string]string{"spec/scaleStrategy/maxUnavailable": `"50%"`})
}

func (w *world) deleteNamespace(name string) {
	w.Helper()
	w.must(w.client.CoreV1().Namespaces().Delete(w.Context(), name, metav1.DeleteOptions{}))
	w.until("namespace "+name+" goes", func() string {
		namespace, err := w.client.CoreV1().Namespaces().Get(context.Background(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		return namespace.Status.String()
	})
}
