package launchpriority

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	ordered = "apps.kruise.io/container-launch-priority"
	done    = "apps.kruise.io/container-launch-priority-completed"
)

// barriers is what the containers of an admitted Pod wait for, as "configmap/key"; "" for a container without barrier.
func barriers(pod *corev1.Pod) []string {
	waits := make([]string, len(pod.Spec.Containers))
	for i, c := range pod.Spec.Containers {
		for _, env := range c.Env {
			if env.Name == "KRUISE_CONTAINER_BARRIER" {
				ref := env.ValueFrom.ConfigMapKeyRef
				waits[i] += ref.Name + "/" + ref.Key
			}
		}
	}
	return waits
}

func TestBarriers(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		containers  []corev1.Container
		want        []string
	}{
		{"ordered", map[string]string{ordered: "Ordered"}, plain(3), []string{"multi-barrier/p_0", "multi-barrier/p_-1", "multi-barrier/p_-2"}},
		{"ordered beats env, even unusable env", map[string]string{ordered: "Ordered"}, prioritized("high", "7"), []string{"multi-barrier/p_0", "multi-barrier/p_-1"}},
		{"ordered, one container", map[string]string{ordered: "Ordered"}, plain(1), []string{""}},
		{"another value means nothing", map[string]string{ordered: "ordered"}, plain(2), []string{"", ""}},
		{"another value leaves env in force", map[string]string{ordered: "Reverse"}, prioritized("1", ""), []string{"multi-barrier/p_1", "multi-barrier/p_0"}},
		{"custom", nil, prioritized("10", "5", "1"), []string{"multi-barrier/p_10", "multi-barrier/p_5", "multi-barrier/p_1"}},
		{"negative, and absent is 0", nil, prioritized("-2", ""), []string{"multi-barrier/p_-2", "multi-barrier/p_0"}},
		{"two share a priority", nil, prioritized("1", "1", "0"), []string{"multi-barrier/p_1", "multi-barrier/p_1", "multi-barrier/p_0"}},
		{"the ends of the range", nil, prioritized("2147483647", "-2147483647"), []string{"multi-barrier/p_2147483647", "multi-barrier/p_-2147483647"}},
		{"all equal", nil, prioritized("5", "5"), []string{"", ""}},
		{"equal in different spelling", nil, prioritized("05", "+5"), []string{"", ""}},
		{"zero written out equals none", nil, prioritized("0", "", "-0"), []string{"", "", ""}},
		{"no priorities", nil, plain(2), []string{"", ""}},
		{"one container, whatever it says", nil, prioritized("high"), []string{""}},
		{"the last of two variables counts", nil, []corev1.Container{
			{Name: "a", Env: []corev1.EnvVar{priority("1"), {Name: "X", Value: "y"}, priority("3")}}, {Name: "b"},
		}, []string{"multi-barrier/p_3", "multi-barrier/p_0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := newPod("multi", tt.containers...)
			pod.Annotations = tt.annotations
			got := admit(t, pod)
			if diff := cmp.Diff(tt.want, barriers(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheBarrierIsTheLastVariableAndAllThatChanges(t *testing.T) {
	raw := `{"metadata":{"name":"p"},"spec":{"initContainers":[{"name":"i","env":[{"name":"KRUISE_CONTAINER_PRIORITY","value":"high"}]}],` +
		`"containers":[{"name":"a","env":[{"name":"KRUISE_CONTAINER_PRIORITY","value":"1"},{"name":"Z"}]},{"name":"b"}]}}`
	response := handle(t, raw)
	want := `[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"KRUISE_CONTAINER_BARRIER","valueFrom":{"configMapKeyRef":{"name":"p-barrier","key":"p_1"}}}},` +
		`{"op":"add","path":"/spec/containers/1/env","value":[{"name":"KRUISE_CONTAINER_BARRIER","valueFrom":{"configMapKeyRef":{"name":"p-barrier","key":"p_0"}}}]}]`
	if got := string(response.Patch); got != want {
		t.Errorf("patch is %s\nwant     %s", got, want)
	}
}

func TestUnusablePrioritiesAreRefused(t *testing.T) {
	indirect := corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['p']"},
	}}
	const integer = "must be an integer from -2147483647 to 2147483647"
	tests := []struct {
		name string
		env  corev1.EnvVar
		want string
	}{
		{"a word", priority("high"), `Invalid value: "high": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"empty", priority(""), `Invalid value: "": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"a fraction", priority("1.5"), `"1.5": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"white space", priority(" 1"), `" 1": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"hexadecimal", priority("0x1"), `"0x1": KRUISE_CONTAINER_PRIORITY`},
		{"above the range", priority("2147483648"), `"2147483648": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"below the range", priority("-2147483648"), `"-2147483648": KRUISE_CONTAINER_PRIORITY of container "agent" ` + integer},
		{"beyond 64 bits", priority("99999999999999999999"), `"99999999999999999999": KRUISE_CONTAINER_PRIORITY`},
		{"from a field", indirect, "must be a literal value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := newPod("multi", corev1.Container{Name: "main"}, corev1.Container{Name: "agent", Env: []corev1.EnvVar{{Name: "A"}, tt.env}})
			response := handle(t, encode(t, pod))
			if response.Allowed || response.Fault != 0 || response.Patch != nil || response.Status.Code != 422 {
				t.Fatalf("not a refusal with 422: %+v", response)
			}
			for _, want := range []string{tt.want, "spec.containers[1].env[1].value"} {
				if !strings.Contains(response.Status.Message, want) {
					t.Errorf("message %q lacks %q", response.Status.Message, want)
				}
			}
		})
	}
}

func TestEveryUnusablePriorityIsNamedAtOnce(t *testing.T) {
	pod := newPod("", prioritized("x", "1", "y")...)
	pod.GenerateName = "web-"
	message := handle(t, encode(t, pod)).Status.Message
	for _, want := range []string{`Pod "web-" is invalid`, `spec.containers[0].env[0].value`, `"x"`, `spec.containers[2].env[0].value`, `"y"`} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q lacks %q", message, want)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("abcdefghij", 7) // 70 characters
	tests := []struct {
		name, podName, generateName string
		containers                  []corev1.Container
		want                        string
	}{
		{"generated", "", "web-", prioritized("1", "0"), "web-xk2zq"},
		{"a prefix of 58 characters fits", "", long[:58], prioritized("1", "0"), long[:58] + "xk2zq"},
		{"a longer prefix is cut to 58", "", long, prioritized("1", "0"), long[:58] + "xk2zq"},
		{"a name stays", "mine", "web-", prioritized("1", "0"), "mine"},
		{"nothing to order: the API server names it", "", "web-", plain(2), ""},
		{"neither: the API server refuses it", "", "", prioritized("1", "0"), ""},
		{"the longest name for a barrier", strings.Repeat("a", 245), "", prioritized("1", "0"), strings.Repeat("a", 245)},
		{"a longer name without priorities", strings.Repeat("a", 253), "", plain(2), strings.Repeat("a", 253)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := newPod(tt.podName, tt.containers...)
			pod.GenerateName = tt.generateName
			got := admit(t, pod)
			if got.Name != tt.want {
				t.Errorf("the Pod is called %q, want %q", got.Name, tt.want)
			}
			if got.GenerateName != tt.generateName {
				t.Errorf("generateName is %q now", got.GenerateName)
			}
			wait := barriers(got)[0]
			if wait != "" && wait != got.Name+"-barrier/p_1" {
				t.Errorf("the barrier is %q", wait)
			}
		})
	}
}

func TestANameTooLongForItsConfigMapIsRefused(t *testing.T) {
	response := handle(t, encode(t, newPod(strings.Repeat("a", 246), prioritized("1", "0")...)))
	if response.Allowed || response.Status == nil || response.Status.Code != 422 ||
		!strings.Contains(response.Status.Message, "metadata.name") || !strings.Contains(response.Status.Message, "at most 245 characters") {
		t.Errorf("not a refusal that says what to change: %+v", response)
	}
}

func TestRestoredAndReinvoked(t *testing.T) {
	barrier := func(configMap, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key,
		}}}
	}
	optional := barrier("new-barrier", "p_1")
	optional.ValueFrom.ConfigMapKeyRef.Optional = new(bool)
	*optional.ValueFrom.ConfigMapKeyRef.Optional = true
	tests := []struct {
		name string
		env  []corev1.EnvVar // of the first container, before its priority 1
		want string          // the patch of the first container
	}{
		{"as we would have it", []corev1.EnvVar{barrier("new-barrier", "p_1")}, ``},
		{"another Pod's", []corev1.EnvVar{barrier("old-barrier", "p_1")}, replaced(0)},
		{"another priority's", []corev1.EnvVar{{Name: "A"}, barrier("new-barrier", "p_7")}, replaced(1)},
		{"one that does not hold", []corev1.EnvVar{optional}, replaced(0)},
		{"a literal of that name", []corev1.EnvVar{{Name: "KRUISE_CONTAINER_BARRIER", Value: "x"}}, replaced(0)},
		{"two, one of them wrong", []corev1.EnvVar{barrier("new-barrier", "p_1"), barrier("old-barrier", "p_1")}, replaced(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := newPod("new", corev1.Container{Name: "a", Env: append(tt.env, priority("1"))},
				corev1.Container{Name: "b", Env: []corev1.EnvVar{barrier("new-barrier", "p_0")}})
			if got := string(handle(t, encode(t, pod)).Patch); got != tt.want {
				t.Errorf("patch is %s\nwant     %s", got, tt.want)
			}
		})
	}
}

// replaced is the patch that corrects the barrier at index i of the first container's env.
func replaced(i int) string {
	return fmt.Sprintf(`[{"op":"replace","path":"/spec/containers/0/env/%d","value":`+
		`{"name":"KRUISE_CONTAINER_BARRIER","valueFrom":{"configMapKeyRef":{"name":"new-barrier","key":"p_1"}}}}]`, i)
}

func TestAContainerPutInFrontLaterMovesTheOrder(t *testing.T) {
	pod := newPod("multi", plain(2)...)
	pod.Annotations = map[string]string{ordered: "Ordered"}
	pod = admit(t, pod)
	pod.Spec.Containers = append([]corev1.Container{{Name: "first"}}, pod.Spec.Containers...)
	want := []string{"multi-barrier/p_0", "multi-barrier/p_-1", "multi-barrier/p_-2"}
	if diff := cmp.Diff(want, barriers(admit(t, pod))); diff != "" {
		t.Error(diff)
	}
}

func TestARestoredPodIsNotCompleted(t *testing.T) {
	restored := newPod("multi", prioritized("1", "0")...)
	restored.Annotations = map[string]string{done: "true", "keep": "me"}
	want := map[string]string{done: "false", "keep": "me"}
	if diff := cmp.Diff(want, admit(t, restored).Annotations); diff != "" {
		t.Error(diff)
	}
	unordered := newPod("multi", plain(2)...)
	unordered.Annotations = map[string]string{done: "true"}
	if response := handle(t, encode(t, unordered)); response.Patch != nil {
		t.Errorf("a Pod without priorities is changed: %s", response.Patch)
	}
}

func TestDryRunsAreAnsweredAlike(t *testing.T) {
	raw := encode(t, newPod("multi", prioritized("1", "0")...))
	request := create(raw)
	request.DryRun = true
	got := chain().Handle(t.Context(), request)
	if want := handle(t, raw); string(got.Patch) != string(want.Patch) || got.Patch == nil {
		t.Errorf("patch is %s, want %s", got.Patch, want.Patch)
	}
}

func chain() mutators.PodChain {
	return mutators.PodChain{New(func(length int) string { return "xk2zqbbbbb"[:length] })}
}

func create(raw string) *admission.Request {
	return &admission.Request{
		Operation: admission.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: "start", Object: jsontext.Value(raw),
	}
}

func handle(t *testing.T, raw string) admission.Response {
	t.Helper()
	return chain().Handle(t.Context(), create(raw))
}

// admit is the Pod after its admission.
func admit(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	raw := encode(t, pod)
	response := handle(t, raw)
	if !response.Allowed {
		t.Fatalf("the Pod is not admitted: %+v", response.Status)
	}
	admitted := &corev1.Pod{}
	if err := json.Unmarshal(apply(t, raw, response.Patch), admitted); err != nil {
		t.Fatal(err)
	}
	return admitted
}

func apply(t interface {
	Helper()
	Fatal(args ...any)
}, raw string, patch jsontext.Value) []byte {
	t.Helper()
	if patch == nil {
		return []byte(raw)
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := decoded.Apply([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func newPod(name string, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: containers}}
}

func priority(value string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: value}
}

// prioritized makes a container for each value; "" makes one without the variable.
func prioritized(values ...string) []corev1.Container {
	containers := plain(len(values))
	for i, value := range values {
		if value != "" {
			containers[i].Env = []corev1.EnvVar{priority(value)}
		}
	}
	return containers
}

func plain(n int) []corev1.Container {
	containers := make([]corev1.Container, n)
	for i := range containers {
		containers[i].Name = fmt.Sprintf("c%d", i)
	}
	return containers
}
