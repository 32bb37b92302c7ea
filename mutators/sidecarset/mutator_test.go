package sidecarset

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/golden"
)

const plainPod = `
metadata: {name: p, labels: {app: x}}
spec: {containers: [{name: main, image: m}]}
`

// counting counts lookups.
type counting struct {
	Namespaces
	lookups int
}

func (c *counting) Labels(ctx context.Context, name string) (map[string]string, bool, error) {
	c.lookups++
	return c.Namespaces.Labels(ctx, name)
}

func TestNamespaceIsLookedUpOnlyWhenNeeded(t *testing.T) {
	b := newBed(t, set("plain", "{selector: {matchLabels: {app: x}}, containers: [{name: a, image: a}]}"),
		set("other", "{selector: {matchLabels: {app: other}}, namespaceSelector: {matchLabels: {a: b}}, containers: [{name: b, image: b}]}"))
	lookups := &counting{Namespaces: namespaceLabels{"shop": {}}}
	b.namespaces = lookups
	b.inject(t, plainPod)
	golden.Equal(t, "lookups for a SidecarSet of all namespaces", lookups.lookups, 0)
	for _, name := range []string{"one", "two"} {
		if err := b.index.Upsert(toJSON(t, set(name, "{selector: {matchLabels: {app: x}}, namespaceSelector: {matchLabels: {a: b}}}"))); err != nil {
			t.Fatal(err)
		}
	}
	b.inject(t, plainPod)
	golden.Equal(t, "lookups for two with a namespaceSelector", lookups.lookups, 1)
}

// A lookup that fails says nothing about the Pod, so it is a fault and not a refusal.
func TestFailedLookupIsAFault(t *testing.T) {
	b := newBed(t, set("s", "{selector: {matchLabels: {app: x}}, namespaceSelector: {matchLabels: {a: b}}}"))
	b.namespaces = unreachable{}
	response := b.admit(t, plainPod)
	if response.Allowed || response.Fault != http.StatusInternalServerError ||
		!strings.Contains(response.Status.Message, `looking up namespace "shop": the API server is away`) {
		t.Errorf("the answer is %+v, status %+v", response, response.Status)
	}
}

// What cannot be read of the Pod is the sender's fault.
func TestUnreadablePodIsRefused(t *testing.T) {
	sharing := set("s", `{selector: {matchLabels: {app: x}}, containers: [{name: a, image: a, shareVolumePolicy: {type: enabled},
		transferEnv: [{sourceContainerName: main, envName: IS_INJECTED}]}]}`)
	for name, container := range map[string]string{
		"mounts": `{name: main, volumeMounts: {a: b}}`,
		"mount":  `{name: main, volumeMounts: [7]}`,
		"env":    `{name: main, env: [{name: 7}, {name: IS_INJECTED}]}`,
		"marked": `{name: a, env: {IS_INJECTED: true}}`,
	} {
		response := newBed(t, sharing).admit(t, "metadata: {name: p, labels: {app: x}}\nspec: {containers: ["+container+"]}")
		if response.Allowed || response.Fault != 0 || response.Status.Code != http.StatusBadRequest {
			t.Errorf("%s: the answer is %+v, status %+v", name, response, response.Status)
		}
	}
}

func TestObserverIsTold(t *testing.T) {
	b := newBed(t, set("a", "{selector: {matchLabels: {app: x}}, containers: [{name: one, image: i}, {name: two, image: i}]}"),
		set("b", "{selector: {matchLabels: {app: x}}, initContainers: [{name: three, image: i}]}"),
		set("c", "{selector: {matchLabels: {app: x}}, initContainers: [{name: two, image: i}]}"),
		set("d", "{selector: {matchLabels: {app: x}}, initContainers: [{name: main, image: i}]}"))
	observer := &recorder{}
	b.options.Observer = observer
	b.inject(t, plainPod)
	golden.Equal(t, "SidecarSets and containers", []int{observer.sets, observer.containers}, []int{2, 3})
	golden.Equal(t, "skipped", observer.skipped, map[Reason]int{TakenBySidecarSet: 1, TakenByPod: 1})
}

// A SidecarSet that loses a name does not keep others from it.
func TestALoserClaimsNothing(t *testing.T) {
	b := newBed(t, set("a", "{selector: {matchLabels: {app: x}}, initContainers: [{name: free, image: i}, {name: main, image: i}]}"),
		set("b", "{selector: {matchLabels: {app: x}}, containers: [{name: free, image: i}]}"))
	pod, _ := b.inject(t, plainPod)
	golden.Equal(t, "containers", names(pod, "containers"), []any{"free", "main"})
	golden.Equal(t, "list", annotation(pod, "kruise.io/sidecarset-injected-list"), "b")
}

// Another webhook removed or renamed our sidecar before we are asked again.
func TestSidecarsThatOthersTookAwayComeBack(t *testing.T) {
	b := newBed(t, set("s", `{selector: {matchLabels: {app: x}}, containers: [{name: a, image: a},
		{name: h, image: h, upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: e}}]}`))
	first, _ := b.inject(t, plainPod)
	want := annotation(first, "kruise.io/sidecarset-hash")
	containers := golden.At(first, "spec", "containers").([]any)
	containers[0].(map[string]any)["name"] = "renamed"
	first.(map[string]any)["spec"].(map[string]any)["containers"] = append(containers[:1:1], containers[2:]...) // without h-1
	second, _ := b.inject(t, first)
	golden.Equal(t, "containers", names(second, "containers"), []any{"a", "h-1", "renamed", "h-2", "main"})
	golden.Equal(t, "images", golden.Each(golden.At(second, "spec", "containers"), "image"), []any{"a", "h", "a", "e", "m"})
	golden.Equal(t, "hashes", annotation(second, "kruise.io/sidecarset-hash"), want)
	golden.Equal(t, "worker", annotation(second, "kruise.io/sidecarset-working-hotupgrade-container"), `{"h":"h-1"}`)
}
