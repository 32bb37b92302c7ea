package sidecarset

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/launchpriority"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/test/golden"
)

// These cases are what people reported or run. They go through the whole chain of Pod admission.

type fieldCase struct {
	t       *testing.T
	handler http.Handler
	folder  string
}

func newFieldCase(t *testing.T, name string) fieldCase {
	folder := filepath.Join("testdata/field", name)
	b := bedOf(t, golden.Objects(t, filepath.Join(folder, "objects")))
	chain := mutators.PodChain{
		readinessgate.New(false),
		NewMutator(b.index, b.namespaces, b.clock, b.options),
		launchpriority.New(func(length int) string { return strings.Repeat("x", length) }),
	}
	return fieldCase{t: t, handler: serve(t, chain), folder: folder}
}

// reviewed is a review with what came of it.
type reviewed struct {
	golden.Answer
	before, after any
}

func (c fieldCase) post(file string) reviewed {
	c.t.Helper()
	return c.postBody(readFile(c.t, filepath.Join(c.folder, file)))
}

func (c fieldCase) postBody(body []byte) reviewed {
	c.t.Helper()
	answer := golden.Post(c.t, c.handler, "/mutate-pod", body)
	golden.Equal(c.t, "HTTP status", answer.HTTPStatus, 200)
	golden.Equal(c.t, "uid", answer.UID, golden.At(golden.Decode(c.t, body), "request", "uid"))
	r := reviewed{Answer: answer, before: golden.Object(c.t, body)}
	if answer.Allowed {
		r.after = answer.Patched(c.t, body)
	}
	return r
}

func (c fieldCase) allowed(file string) reviewed {
	c.t.Helper()
	r := c.post(file)
	if !r.Allowed {
		c.t.Fatalf("%s is refused: %+v", file, r.Status)
	}
	golden.Equal(c.t, "patch type", r.PatchType, "JSONPatch")
	return r
}

func (r reviewed) onlyAdds(t *testing.T, except ...string) {
	t.Helper()
	for _, op := range r.Ops {
		if op.Op != "add" {
			t.Errorf("operation %s of %s", op.Op, op.Path)
		}
		for _, path := range except {
			if op.Path == path || strings.HasPrefix(op.Path, path+"/") {
				t.Errorf("operation on %s", op.Path)
			}
		}
	}
}

func TestSleepHookAndNewerFieldsSurvive(t *testing.T) {
	r := newFieldCase(t, "001-sleep-hook-and-newer-fields").allowed("review.json")
	r.onlyAdds(t, "/spec/initContainers", "/spec/containers/0", "/spec/tolerations", "/spec/resources",
		"/spec/volumes/0", "/spec/volumes/1", "/spec/volumes/2", "/metadata/namespace", "/metadata/futureMeta")
	pod := r.after
	golden.Equal(t, "containers", names(pod, "containers"), []any{"cart", "agent"})
	golden.Equal(t, "volumes", names(pod, "volumes"), []any{"env", "model", "odd", "agent-tmp"})
	agent := golden.At(pod, "spec", "containers", 1)
	golden.Equal(t, "agent", agent, golden.YAML(t, []byte(`
name: agent
image: bank.test/tool:v1
lifecycle: {preStop: {sleep: {seconds: 7}}, stopSignal: SIGQUIT}
resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
restartPolicy: OnFailure
restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
futureKnob: {level: 9007199254740993, list: [1, 2], note: as-is}
volumeMounts: [{name: agent-tmp, mountPath: /tmp/agent, futureMountKnob: soft}]
env: [{name: IS_INJECTED, value: "true"}]
# What defaulting adds to every container of a SidecarSet:
imagePullPolicy: IfNotPresent
terminationMessagePath: /dev/termination-log
terminationMessagePolicy: File
`)))
	golden.Equal(t, "the volume", golden.At(pod, "spec", "volumes", 3),
		golden.YAML(t, []byte(`{name: agent-tmp, emptyDir: {sizeLimit: 64Mi, futureVolumeKnob: {tier: 2}}}`)))

	// Without what was added, the Pod is the original.
	spec := pod.(map[string]any)["spec"].(map[string]any)
	spec["containers"] = spec["containers"].([]any)[:1]
	spec["volumes"] = spec["volumes"].([]any)[:3]
	annotations := golden.At(pod, "metadata", "annotations").(map[string]any)
	for key := range annotations {
		if strings.HasPrefix(key, "kruise.io/") {
			delete(annotations, key)
		}
	}
	golden.Equal(t, "the rest of the Pod", pod, r.before)
}

func TestNameClashesAcrossLists(t *testing.T) {
	c := newFieldCase(t, "003-name-clash-across-lists")
	unique := func(pod any) {
		t.Helper()
		seen := map[any]bool{}
		for _, name := range append(names(pod, "initContainers"), names(pod, "containers")...) {
			if seen[name] {
				t.Errorf("container %v occurs twice", name)
			}
			seen[name] = true
		}
	}
	for range 10 {
		a := c.allowed("review-a.json")
		unique(a.after)
		golden.Equal(t, "a: init containers", names(a.after, "initContainers"), []any{"sidecar1"})
		golden.Equal(t, "a: image", golden.At(a.after, "spec", "initContainers", 0, "image"), "bank.test/job:v1")
		golden.Equal(t, "a: command", golden.At(a.after, "spec", "initContainers", 0, "command", 2), "certs")
		golden.Equal(t, "a: warnings", a.Warnings,
			[]string{"SidecarSet tuning-by-tier is not injected: SidecarSet certs-by-app brings a container sidecar1 too"})
	}
	b := c.post("review-b.json")
	golden.Equal(t, "b: allowed", b.Allowed, true)
	golden.Equal(t, "b: the Pod", b.after, b.before)
	golden.Equal(t, "b: warnings", b.Warnings,
		[]string{"SidecarSet certs-by-app is not injected: the Pod has a container sidecar1 of its own in its other list"})

	r := c.allowed("review-c.json")
	unique(r.after)
	golden.Equal(t, "c: init containers", names(r.after, "initContainers"), []any{"first", "sidecar1"})
	golden.Equal(t, "c: image", golden.At(r.after, "spec", "initContainers", 1, "image"), "bank.test/job:v1")
	golden.Equal(t, "c: first", golden.At(r.after, "spec", "initContainers", 0), golden.At(r.before, "spec", "initContainers", 0))
}

func TestClaimVolumesAndVolumesOfInitContainers(t *testing.T) {
	r := newFieldCase(t, "005-claim-volume-and-init-mounts").allowed("review.json")
	pod := r.after
	r.onlyAdds(t, "/spec/containers/0", "/spec/hostname")
	golden.Equal(t, "volumes", golden.At(pod, "spec", "volumes"), golden.YAML(t, []byte(`
- {name: data, persistentVolumeClaim: {claimName: data-pg-0}}
- {name: podlogs, emptyDir: {}}
- {name: seed, configMap: {name: pg-seed, defaultMode: 420}}
- {name: sock, emptyDir: {medium: Memory}}
`)))
	golden.Equal(t, "exporter's mounts", golden.At(pod, "spec", "containers", 1, "volumeMounts"), golden.YAML(t, []byte(`
- {name: data, mountPath: /var/lib/pg, readOnly: true}
- {name: sock, mountPath: /run/pg}
- {name: podlogs, mountPath: /logs}
`)))
	golden.Equal(t, "init containers", names(pod, "initContainers"), []any{"chown"})
	golden.Equal(t, "chown's mounts", golden.Each(golden.At(pod, "spec", "initContainers", 0, "volumeMounts"), "name"), []any{"data", "seed"})
	golden.Equal(t, "gates", golden.Each(golden.At(pod, "spec", "readinessGates"), "conditionType"),
		[]any{"InPlaceUpdateReady", "KruisePodReady"})
	golden.Equal(t, "pg", golden.At(pod, "spec", "containers", 0), golden.At(r.before, "spec", "containers", 0))
	golden.Equal(t, "hostname", golden.At(pod, "spec", "hostname"), "pg-0")
}

func TestSharedVolumesSubPathsAndDevices(t *testing.T) {
	r := newFieldCase(t, "007-shared-volumes-subpath-and-devices").allowed("review.json")
	pod := r.after
	own := golden.At(r.before, "spec", "containers", 0, "volumeMounts")
	second := golden.At(r.before, "spec", "containers", 1, "volumeMounts")
	logs, token, conf, data, cache := golden.At(own, 0), golden.At(own, 1), golden.At(own, 2), golden.At(own, 3), golden.At(second, 1)
	golden.Equal(t, "expression", golden.At(logs, "subPathExpr"), "$(POD_NAME)/$(ZONE)/$(MISSING)")
	golden.Equal(t, "propagation", golden.At(data, "mountPropagation"), "HostToContainer")

	collector := golden.At(pod, "spec", "containers", 3)
	cfg := golden.YAML(t, []byte("{name: cfg, mountPath: /etc/app, readOnly: true}"))
	golden.Equal(t, "collector's mounts", golden.At(collector, "volumeMounts"), []any{cfg, logs, token, data, cache})
	golden.Equal(t, "collector's devices", golden.At(collector, "volumeDevices"), golden.YAML(t, []byte("[{name: raw, devicePath: /dev/xvda}]")))
	golden.Equal(t, "collector's env", golden.At(collector, "env"), golden.YAML(t, []byte(`
- {name: ZONE, value: none}
- {name: IS_INJECTED, value: "true"}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
`)))
	golden.Equal(t, "init containers", names(pod, "initContainers"), []any{"own-init", "index"})
	index := golden.At(pod, "spec", "initContainers", 1)
	golden.Equal(t, "index's mounts", golden.At(index, "volumeMounts"), []any{logs, token, conf, data, cache})
	golden.Equal(t, "index's devices", golden.At(index, "volumeDevices"), nil)
	golden.Equal(t, "index's env", golden.Each(golden.At(index, "env"), "name"), []any{"IS_INJECTED", "POD_NAME", "ZONE"})
	golden.Equal(t, "index's zone", golden.At(index, "env", 2, "value"), "z1")
	golden.Equal(t, "volumes", names(pod, "volumes"), []any{"logs", "conf", "data", "cache", "raw", "kube-api-access-x7", "cfg"})
	golden.Equal(t, "own volumes", golden.At(pod, "spec", "volumes").([]any)[:6], golden.At(r.before, "spec", "volumes"))
	golden.Equal(t, "own containers", golden.At(pod, "spec", "containers").([]any)[:3], golden.At(r.before, "spec", "containers"))
}

func TestNamespacesDecide(t *testing.T) {
	c := newFieldCase(t, "009-which-namespaces")
	for file, want := range map[string][]any{
		"review-a.json": {"app", "c-namespace", "c-exists", "c-notin", "c-everywhere"},
		"review-b.json": {"app", "c-everywhere"},
		"review-c.json": {"app", "c-everywhere"},
		"review-d.json": {"app", "c-namespace", "c-exists", "c-notin", "c-everywhere"},
	} {
		r := c.allowed(file)
		golden.Equal(t, file+": containers", names(r.after, "containers"), want)
		list := "everywhere"
		if len(want) == 5 {
			list = "by-exists,by-namespace,by-notin,everywhere"
		}
		golden.Equal(t, file+": list", annotation(r.after, "kruise.io/sidecarset-injected-list"), list)
		r.onlyAdds(t, "/metadata/namespace")
	}
}

func TestOrderedAnnotationBeatsPriorities(t *testing.T) {
	c := newFieldCase(t, "011-ordered-annotation-beats-env")
	barriers := func(pod any) (keys []any) {
		for i, name := range names(pod, "containers") {
			env := golden.At(pod, "spec", "containers", i, "env")
			ref := golden.At(env, -1, "valueFrom", "configMapKeyRef")
			keys = append(keys, name.(string)+" "+golden.At(ref, "name").(string)+"/"+golden.At(ref, "key").(string))
			count := 0
			for _, name := range golden.Each(env, "name") {
				if name == "KRUISE_CONTAINER_BARRIER" {
					count++
				}
			}
			golden.Equal(t, "barriers of "+name.(string), count, 1)
		}
		return keys
	}
	golden.Equal(t, "a: barriers", barriers(c.allowed("review-a.json").after), []any{
		"agent multi-barrier/p_0", "boot multi-barrier/p_-1", "main multi-barrier/p_-2", "tail multi-barrier/p_-3"})

	b := c.post("review-b.json")
	if b.Allowed || b.Status.Code < 400 || !strings.Contains(b.Status.Message, "KRUISE_CONTAINER_PRIORITY") || !strings.Contains(b.Status.Message, "high") {
		t.Errorf("b: allowed %v, status %+v", b.Allowed, b.Status)
	}
	golden.Equal(t, "b: patch", b.PatchBytes, []byte(nil))

	r := c.allowed("review-c.json")
	golden.Equal(t, "c: barriers", barriers(r.after), []any{
		"boot multi-barrier/p_10", "main multi-barrier/p_5", "tail multi-barrier/p_1"})
	for key := range golden.At(r.after, "metadata", "annotations").(map[string]any) {
		if strings.HasPrefix(key, "kruise.io/sidecarset-") {
			t.Errorf("c: there is an annotation %s", key)
		}
	}
}
