package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var apply = []string{"apply", "-f", "-"}

func TestRulesOnAnAPIServer(t *testing.T) {
	w := newWorld(t)
	t.Run("volumes of every kind", func(t *testing.T) { volumes(t, w) })
	t.Run("mistakes are refused at once", func(t *testing.T) { mistakes(t, w) })
	t.Run("other objects count", func(t *testing.T) { otherObjects(t, w) })
	t.Run("neighbours that compete", func(t *testing.T) { neighboursCount(t, w) })
	t.Run("restart requests pass both of their webhooks", func(t *testing.T) { restarts(t, w) })
	t.Run("good objects of every kind", func(t *testing.T) { everyKind(t, w) })
	t.Run("bad objects of every kind", func(t *testing.T) { badKinds(t, w) })
	t.Run("mistakes in templates", func(t *testing.T) { templateMistakes(t, w) })
	t.Run("mistakes in jobs", func(t *testing.T) { jobMistakes(t, w) })
	left, err := w.client.CoreV1().PodTemplates("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("PodTemplates left behind: %v, %v", left.Items, err)
	}
}

func at(t *testing.T, object any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object = object.(map[string]any)[step]
		case int:
			object = object.([]any)[step]
		}
	}
	return object
}

// volumes: all kinds of volumes are accepted, defaulted and kept, and what is wrong about mounts is named.
func volumes(t *testing.T, w *world) {
	const file = "testdata/01-sidecarset.yaml"
	w.Must("", "apply", "-f", file)
	w.Must("", "apply", "-f", file)
	w.Must("", "patch", "sidecarsets.v1beta1.apps.kruise.io", "vols", "--type=merge", "-p", `{"metadata":{"annotations":{"mine":"x"}}}`)
	alpha, beta := w.read("v1alpha1", "vols"), w.read("v1beta1", "vols")
	list := at(t, beta, "spec", "volumes").([]any)
	var names []any
	for i := range list {
		names = append(names, at(t, list, i, "name"))
	}
	if diff := cmp.Diff([]any{"log-volume", "podinfo", "mesh-token", "cfg", "host", "work", "inline", "model"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(at(t, alpha, "spec", "volumes"), any(list)); diff != "" {
		t.Errorf("v1alpha1 and v1beta1 differ:\n%s", diff)
	}
	hash := []any{"metadata", "annotations", "kruise.io/sidecarset-hash"}
	if a, b := at(t, alpha, hash...), at(t, beta, hash...); a != b || a == nil {
		t.Errorf("hashes %v and %v", a, b)
	}
	if generation := at(t, beta, "metadata", "generation"); generation != 1.0 {
		t.Errorf("generation %v", generation)
	}
	for _, want := range []struct {
		value any
		path  []any
	}{
		{map[string]any{}, []any{0, "emptyDir"}},
		{"v1", []any{1, "downwardAPI", "items", 0, "fieldRef", "apiVersion"}},
		{420.0, []any{1, "downwardAPI", "defaultMode"}},
		{420.0, []any{2, "projected", "defaultMode"}},
		{3600.0, []any{2, "projected", "sources", 0, "serviceAccountToken", "expirationSeconds"}},
		{420.0, []any{3, "configMap", "defaultMode"}},
		{true, []any{3, "configMap", "futureOption", "keep"}},
		{"", []any{4, "hostPath", "type"}},
		{"1Gi", []any{5, "ephemeral", "volumeClaimTemplate", "spec", "resources", "requests", "storage"}},
		{"b", []any{6, "csi", "volumeAttributes", "a"}},
		{"bank.test/model:v1", []any{7, "image", "reference"}},
	} {
		if diff := cmp.Diff(want.value, at(t, list, want.path...)); diff != "" {
			t.Errorf("%v: %s", want.path, diff)
		}
	}
	w.On(t).Refused("", []string{"apply", "--validate=false", "-f", "testdata/02-bad-indent.yaml"},
		"spec.containers[0].volumeMounts[0].mountPath: Required value")
	w.On(t).Refused("", []string{"apply", "-f", "testdata/03-undeclared.yaml"},
		"spec.initContainers[0].volumeMounts[0].name", `"nowhere"`)
}

// mistakes: what could never become a Pod is refused when it is written, all of it in one answer, on updates and dry runs
// too, and changes nothing.
func mistakes(t *testing.T, w *world) {
	w.On(t).Refused(sidecarSet("many", "{}", `
  updateStrategy: {type: Sometimes}
  containers:
  - {name: side, image: "bank.test/tool:v1", volumeMounts: [{name: cache, mountPath: /cache}], envFrom: [{}]}
  - {name: side, podInjectPolicy: Middle}
`), []string{"apply", "--validate=false", "-f", "-"},
		`The SidecarSet "many" is invalid:`,
		`* spec.updateStrategy.type: Unsupported value: "Sometimes": supported values: "NotUpdate", "RollingUpdate"`,
		`* spec.containers[0].volumeMounts[0].name: Not found: "cache"`,
		`* spec.containers[0].envFrom: Invalid value`,
		`* spec.containers[1].name: Duplicate value: "side"`,
		`* spec.containers[1].image: Required value`,
		`* spec.containers[1].podInjectPolicy: Unsupported value: "Middle"`)
	w.Must(sidecarSet("whoami", "{}", `
  containers: [{name: side, image: "bank.test/web:v1"}]
`), apply...)
	patch := `{"spec":{"containers":[{"name":"side","image":"bank.test/web:v2","volumeMounts":[{"name":"cache","mountPath":"/cache"}]}]}}`
	for _, args := range [][]string{
		{"patch", "sidecarset", "whoami", "--type=merge", "-p", patch},
		{"patch", "sidecarset", "whoami", "--type=merge", "-p", patch, "--dry-run=server"},
	} {
		w.On(t).Refused("", args, "spec.containers[0].volumeMounts[0].name", "cache")
	}
	now := w.read("v1beta1", "whoami")
	if at(t, now, "metadata", "generation") != 1.0 || at(t, now, "spec", "containers", 0, "image") != "bank.test/web:v1" {
		t.Errorf("a refused update left %v", now)
	}
	w.Must(sidecarSet("init-only", "{}", `
  initContainers: [{name: setup, image: "bank.test/job:v1"}]
`), apply...)
	w.On(t).Refused(strings.Replace(sidecarSet("old-fields", "{}", `
  namespace: shop
  namespaceSelector: {matchLabels: {team: a}}
  containers: [{name: side, image: "bank.test/tool:v1"}]
`), "v1beta1", "v1alpha1", 1), apply, "spec.namespace: Forbidden: namespace and namespaceSelector are mutually exclusive")
}

// otherObjects: other SidecarSets, revisions and the allow-list are looked up in the cluster.
func otherObjects(t *testing.T, w *world) {
	w.Must(sidecarSet("first", "{}", `
  containers: [{name: shared, image: "bank.test/tool:v1"}]
`), apply...)
	clash := strings.Replace(sidecarSet("second", "{}", `
  containers: [{name: shared, image: "bank.test/tool:v1"}]
`), "app: second", "app: first", 1)
	w.Until("the watch tells of a SidecarSet", func() bool {
		_, err := w.Try(clash, "apply", "--dry-run=server", "-f", "-")
		return err != nil
	})
	w.On(t).Refused(clash, apply, `spec.containers[0].name: Duplicate value: "shared": SidecarSet "first", which may select the same Pods`)
	w.Must(sidecarSet("base-of", "{}", `
  containers: [{name: agent, image: "bank.test/tool:v1"}]
`), apply...)
	w.Must(strings.Replace(sidecarSet("canary", `{apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: base-of}`, `
  updateStrategy: {type: NotUpdate}
  containers: [{name: agent, image: "bank.test/tool:v2"}]
`), "app: canary", "app: base-of", 1), apply...)

	pin := []string{"patch", "sidecarset", "first", "--type=merge", "-p", `{"spec":{"injectionStrategy":{"revision":{"revisionName":"first-1"}}}}`}
	w.On(t).Refused("", pin, `spec.injectionStrategy.revision.revisionName: Not found: "first-1"`)
	w.Must(`
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: first-1, namespace: kruise-system, labels: {kruise.io/sidecarset-name: first, apps.kruise.io/sidecarset-custom-version: v1}}
revision: 1
data: {}
`, apply...)
	w.Must("", pin...)
	byVersion := func(version string) []string {
		return []string{"patch", "sidecarset", "first", "--type=merge", "-p", `{"spec":{"injectionStrategy":{"revision":{"revisionName":null,"customVersion":"` + version + `"}}}}`}
	}
	w.Must("", byVersion("v1")...)
	w.On(t).Refused("", byVersion("v2"), `spec.injectionStrategy.revision.customVersion: Not found: "v2"`)

	annotated := func(key string) string {
		return sidecarSet("annotated", "{}", `
  containers: [{name: side, image: "bank.test/tool:v1"}]
  patchPodMetadata: [{annotations: {`+key+`: x}}]
`)
	}
	w.Must(annotated("ok/one"), apply...)
	w.On(t).Refused(annotated("other/one"), apply, "spec.patchPodMetadata[0].annotations[other/one]: Forbidden", "SidecarSet_PatchPodMetadata_WhiteList")
}

// restarts: the rules accept what the capture of a request makes of it, and neither lets it be changed afterwards.
func restarts(t *testing.T, w *world) {
	const file = "../../charts/kruise/files/crds/apps.kruise.io_containerrecreaterequests.yaml"
	w.Must("", "apply", "--server-side", "-f", file)
	w.Must("", "wait", "--for=condition=Established", "--timeout=60s", "-f", file)
	w.Must(`
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: default}
spec: {nodeName: n1, containers: [{name: app, image: "bank.test/web:v1"}]}
`, apply...)
	w.Must("", "patch", "pod", "web-0", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Running","containerStatuses":[{"name":"app","image":"i","imageID":"i","ready":true,"restartCount":2,"containerID":"containerd://1"}]}}`)
	request := func(spec string) string {
		return `
apiVersion: apps.kruise.io/v1beta1
kind: ContainerRecreateRequest
metadata: {name: again, namespace: default}
spec: {podName: web-0, containers: [{name: app}]` + spec + "}\n"
	}
	w.On(t).Refused(request(", activeDeadlineSeconds: 1"), apply, "activeDeadlineSeconds")
	w.Must(request(", activeDeadlineSeconds: 30"), apply...)
	w.On(t).Refused("", []string{"patch", "crr", "again", "--type=merge", "-p", `{"spec":{"ttlSecondsAfterFinished":5}}`}, "spec: Forbidden")
	w.On(t).Refused("", []string{"label", "crr", "again", "crr.apps.kruise.io/pod-uid-"}, "metadata.labels[crr.apps.kruise.io/pod-uid]: Forbidden")
	w.Must("", "label", "crr", "again", "mine=x")
}
