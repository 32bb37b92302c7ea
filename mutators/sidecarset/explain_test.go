package sidecarset

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/test/golden"
)

func (b *bed) explain(t golden.T, pod any) []Explanation {
	t.Helper()
	view, err := podview.Parse(encode(t, pod), "shop")
	must(t, err)
	found, err := NewMutator(b.index, b.namespaces, b.clock, b.options).Explain(context.Background(), view)
	must(t, err)
	return found
}

// braced is a SidecarSet whose spec is written in one line.
func braced(name, spec string) string { return set(name, "{"+spec+"}") }

func brief(found []Explanation) (lines []string) {
	for _, e := range found {
		lines = append(lines, strings.Join([]string{e.SidecarSet, string(e.Outcome), e.Why}, ": "))
	}
	return lines
}

const explainedPod = `{metadata: {name: web-0, labels: {app: web}}, spec: {containers: [{name: web, image: i}], initContainers: [{name: early, image: i}]}}`

// Each reason, in the words that a person reads.
func TestExplainSaysWhyNot(t *testing.T) {
	const selects = "selector: {matchLabels: {app: web}}, "
	for _, tt := range []struct{ name, spec, want string }{
		{"injected", selects + "containers: [{name: a, image: i}]", "s: Injected: "},
		{"only metadata", selects + "patchPodMetadata: [{annotations: {a: b}, patchPolicy: Retain}]", "s: PatchesMetadata: "},
		{"a namespace of another name", selects + "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: bank}}",
			"s: OtherNamespace: namespace shop has the label kubernetes.io/metadata.name=shop, and the selector asks for: kubernetes.io/metadata.name=bank"},
		{"a namespace without the label", selects + "namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [a, b]}]}",
			"s: OtherNamespace: namespace shop has no label team, and the selector asks for: team in (a,b)"},
		{"the namespace before the selector", "selector: {matchLabels: {app: api}}, namespaceSelector: {matchLabels: {team: a}}",
			"s: OtherNamespace: namespace shop has no label team, and the selector asks for: team=a"},
		{"another value", "selector: {matchLabels: {app: api}}", "s: OtherLabels: the Pod has the label app=web, and the selector asks for: app=api"},
		{"the one that fails of several", "selector: {matchLabels: {app: web, tier: back}}", "s: OtherLabels: the Pod has no label tier, and the selector asks for: tier=back"},
		{"a label that must not be", "selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}",
			"s: OtherLabels: the Pod has the label app=web, and the selector asks for: !app"},
		{"no selector", "selector: {}", "s: NoSelector: spec.selector is missing or empty, which selects no Pod"},
		{"paused", selects + "injectionStrategy: {paused: true}", "s: InjectionPaused: spec.injectionStrategy.paused is true"},
		{"another selector before paused", "selector: {matchLabels: {app: api}}, injectionStrategy: {paused: true}",
			"s: OtherLabels: the Pod has the label app=web, and the selector asks for: app=api"},
		{"a name of the Pod's other list", selects + "containers: [{name: early, image: i}]",
			"s: NameTaken: the Pod has a container early of its own in its other list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBed(t, braced("s", tt.spec))
			b.namespaces = namespaceLabels{"shop": {"kubernetes.io/metadata.name": "shop"}}
			if diff := cmp.Diff([]string{tt.want}, brief(b.explain(t, explainedPod))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExplainOfPodsThatAreOver(t *testing.T) {
	b := newBed(t, braced("s", "selector: {matchLabels: {app: web}}, containers: [{name: a, image: i}]"))
	for _, pod := range []string{
		`{metadata: {name: p, labels: {app: web}, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {}}`,
		`{metadata: {name: p, labels: {app: web}}, spec: {}, status: {phase: Failed}}`,
		`{metadata: {name: p, labels: {app: web}}, spec: {}, status: {phase: Succeeded}}`,
	} {
		if diff := cmp.Diff([]string{"s: PodIsOver: the Pod is being deleted or has ended"}, brief(b.explain(t, pod))); diff != "" {
			t.Errorf("%s: %s", pod, diff)
		}
	}
}

func TestExplainOrdersWhatIsInjected(t *testing.T) {
	const selects = "selector: {matchLabels: {app: web}}, "
	b := newBed(t,
		braced("a-everywhere", selects+"containers: [{name: a, image: i}]"),
		braced("b-again", selects+"containers: [{name: a, image: i}]"),
		braced("z-here", selects+"namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}, containers: [{name: z, image: i}]"),
		braced("c-elsewhere", "selector: {matchLabels: {app: api}}"),
	)
	b.namespaces = namespaceLabels{"shop": {"kubernetes.io/metadata.name": "shop"}}
	found := b.explain(t, explainedPod)
	want := []string{
		"z-here: Injected: ", "a-everywhere: Injected: ",
		"b-again: NameTaken: SidecarSet a-everywhere brings a container a too",
		"c-elsewhere: OtherLabels: the Pod has the label app=web, and the selector asks for: app=api",
	}
	if diff := cmp.Diff(want, brief(found)); diff != "" {
		t.Error(diff)
	}
	if found[0].Order != 1 || found[1].Order != 2 || found[2].Order != 0 || !slices.Equal(found[0].Containers, []string{"z"}) {
		t.Errorf("orders %d, %d, %d, containers %v", found[0].Order, found[1].Order, found[2].Order, found[0].Containers)
	}
}

func TestExplainCanaries(t *testing.T) {
	const canary = `{apiVersion: apps.kruise.io/v1beta1, kind: SidecarSet, metadata: {name: s-canary, annotations: {
		apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: s}},
		spec: {selector: {matchLabels: {app: web}}, containers: [{name: a, image: j}]}}`
	b := newBed(t, braced("s", "selector: {matchLabels: {app: web}}, containers: [{name: a, image: i}]"), canary)
	want := []string{"s-canary: Injected: ", "s: CanaryInstead: a canary that stands in for it matches the Pod"}
	if diff := cmp.Diff(want, brief(b.explain(t, explainedPod))); diff != "" {
		t.Error(diff)
	}
}

func TestExplainVersions(t *testing.T) {
	b := newBed(t, asking("{revisionName: s-1}", "{}"))
	b.options.Revisions = newRevisions(t, nil, storedRevision("s-1", "s", "v1", 1, "old"))
	found := b.explain(t, onePod)
	if e := found[0]; e.Outcome != Injected || e.Version.Revision != "s-1" || e.Version.Asked != `revisionName "s-1"` {
		t.Errorf("an older version: %+v", e)
	}
	b.options.Revisions = newRevisions(t, nil)
	found = b.explain(t, onePod)
	if e := found[0]; e.Outcome != NoVersion || !strings.Contains(e.Why, "which is not among the ControllerRevisions") || !e.Selected() {
		t.Errorf("a version that is not there: %+v", e)
	}
}

func TestExplainSetsThatDoNotCompile(t *testing.T) {
	b := newBed(t, braced("kept", "selector: {matchLabels: {app: web}}, containers: [{name: a, image: i}]"))
	for _, name := range []string{"kept", "never"} {
		if err := b.index.Upsert(toJSON(t, braced(name, "selector: {matchLabels: {'-': x}}"))); err == nil {
			t.Fatal("it compiles")
		}
	}
	found := b.explain(t, explainedPod)
	if found[0].Outcome != Injected || !strings.Contains(found[0].Broken, "spec.selector") {
		t.Errorf("one with a good version: %+v", found[0])
	}
	if found[1].Outcome != Unusable || !strings.Contains(found[1].Why, "spec.selector") || found[1].Selected() {
		t.Errorf("one without: %+v", found[1])
	}
}

func TestExplainWhatThePodHas(t *testing.T) {
	b := newBed(t, braced("s", "selector: {matchLabels: {app: web}}, containers: [{name: a, image: i}]"))
	if e := b.explain(t, explainedPod)[0]; e.Recorded != nil || e.UpToDate() {
		t.Errorf("before: %+v", e)
	}
	pod, _ := b.inject(t, explainedPod)
	if e := b.explain(t, pod)[0]; e.Recorded == nil || e.Recorded.Time != testStamp || !e.UpToDate() {
		t.Errorf("after: %+v", e)
	}
	must(t, b.index.Upsert(toJSON(t, braced("s", "selector: {matchLabels: {app: web}}, containers: [{name: a, image: j}]"))))
	if e := b.explain(t, pod)[0]; e.Outcome != Injected || e.Recorded == nil || e.UpToDate() {
		t.Errorf("after a change: %+v", e)
	}
}

func TestExplainFailsWithoutTheNamespace(t *testing.T) {
	b := newBed(t, braced("s", "selector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {a: b}}"))
	b.namespaces = unreachable{}
	view, err := podview.Parse(toJSON(t, explainedPod), "shop")
	must(t, err)
	if _, err = NewMutator(b.index, b.namespaces, b.clock, b.options).Explain(t.Context(), view); err == nil || !strings.Contains(err.Error(), `"shop"`) {
		t.Errorf("error %v", err)
	}
}

// What is explained is what is injected, in that order, and asking changes nothing.
func TestExplainTellsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		counted := &recorder{}
		b.options.Observer = counted
		before := string(golden.Encode(t, pod))
		var explained, listed []string
		for _, e := range b.explain(t, pod) {
			if e.Outcome == "" {
				t.Fatalf("nothing is said of %s", e.SidecarSet)
			}
			if e.Outcome == Injected {
				explained = append(explained, e.SidecarSet)
			}
		}
		if counted.sets+len(counted.skipped) > 0 || string(golden.Encode(t, pod)) != before {
			t.Fatal("explaining left a trace")
		}
		injected, _ := b.inject(t, pod)
		if text, _ := annotation(injected, "kruise.io/sidecarset-injected-list").(string); text != "" {
			listed = strings.Split(text, ",")
		}
		slices.Sort(explained)
		if had, _ := annotation(pod, "kruise.io/sidecarset-injected-list").(string); had == "" && !slices.Equal(explained, listed) {
			t.Fatalf("explained %v, injected %v", explained, listed)
		}
	})
}
