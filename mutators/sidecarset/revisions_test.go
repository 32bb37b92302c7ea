package sidecarset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/test/golden"
)

// storedRevision is a ControllerRevision of one container as YAML; labels are those of SidecarSet and version.
func storedRevision(name, sidecarSet, version string, number int, image string) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: ControllerRevision, revision: %d,
  metadata: {name: %s, namespace: kruise-system, labels: {kruise.io/sidecarset-name: %s, apps.kruise.io/sidecarset-custom-version: %s},
    annotations: {kruise.io/sidecarset-hash: h-%[2]s, kruise.io/sidecarset-hash-without-image: w}},
  data: {spec: {$patch: replace, containers: [{name: a, image: %[5]q}], initContainers: null, volumes: null}}}`,
		number, name, sidecarSet, version, image)
}

// asking is the current version, image a:9, of a SidecarSet s that asks for a revision.
func asking(revision, update string) string {
	return `{metadata: {name: s, annotations: {kruise.io/sidecarset-hash: h-now, kruise.io/sidecarset-hash-without-image: w}},
  status: {latestRevision: s-9}, spec: {selector: {matchLabels: {app: x}}, containers: [{name: a, image: "a:9"}],
  injectionStrategy: {revision: ` + revision + `}, updateStrategy: ` + update + `}}`
}

const onePod = `{metadata: {name: p, labels: {app: x}}, spec: {containers: [{name: main, image: m}]}}`

func newRevisions(t golden.T, live LiveRevisions, stored ...string) *Revisions {
	t.Helper()
	r := NewRevisions("kruise-system", live, constant(0), clocktesting.NewFakePassiveClock(testTime))
	for _, s := range stored {
		must(t, r.Upsert(toJSON(t, s)))
	}
	return r
}

// usual are the revisions of SidecarSet s, of which v1 is there twice, and one of another SidecarSet.
func usual(t golden.T) *Revisions {
	return newRevisions(t, nil,
		storedRevision("s-3", "s", "v1", 3, "a:3"), storedRevision("s-1", "s", "v1", 1, "a:1"),
		storedRevision("s-2", "s", "v2", 2, "a:2"), storedRevision("other-7", "other", "v7", 7, "o:7"))
}

func imageOf(t golden.T, b *bed, pod any) any {
	t.Helper()
	patched, _ := b.inject(t, pod)
	return golden.At(patched, "spec", "containers", 0, "image")
}

func TestRevisionsAreFound(t *testing.T) {
	for _, test := range []struct{ revision, image, recorded string }{
		{`{revisionName: s-1}`, "a:1", "s-1"},
		{`{customVersion: v2}`, "a:2", "s-2"},
		{`{customVersion: v1}`, "a:3", "s-3"},                    // the newer of two
		{`{revisionName: s-1, customVersion: v2}`, "a:1", "s-1"}, // the name wins
		{`{revisionName: s-2, policy: Always}`, "a:2", "s-2"},
	} {
		b := newBed(t, asking(test.revision, "{}"))
		b.options.Revisions = usual(t)
		pod, _ := b.inject(t, onePod)
		golden.Equal(t, test.revision, golden.At(pod, "spec", "containers", 0, "image"), any(test.image))
		want := fmt.Sprintf(`{"s":{"updateTimestamp":"%s","hash":"h-%s","sidecarSetName":"s","sidecarList":["a"],"controllerRevision":"%[2]s"}}`, testStamp, test.recorded)
		golden.Equal(t, test.revision+": record", annotation(pod, "kruise.io/sidecarset-hash"), any(want))
	}
}

func TestRevisionsThatCannotBeRestored(t *testing.T) {
	whole := storedRevision("s-8", "s", "v8", 8, "a:8")
	for name, test := range map[string]struct {
		revision string
		want     []string
	}{
		"unknown name":    {`{revisionName: s-5}`, []string{`revisionName "s-5"`, "not among", "kruise-system", "kruise.io/sidecarset-name=s"}},
		"unknown version": {`{customVersion: v5}`, []string{`customVersion "v5"`, "not among"}},
		"other's name":    {`{revisionName: other-7}`, []string{"is a revision of SidecarSet other"}},
		"other's version": {`{customVersion: v7}`, []string{"not among"}},
		"no whole spec":   {`{revisionName: s-8}`, []string{"kruise-system/s-8 cannot be used", "$patch"}},
	} {
		b := newBed(t, asking(test.revision, "{}"))
		b.options.Revisions = usual(t)
		must(t, b.options.Revisions.Upsert(toJSON(t, strings.Replace(whole, "$patch: replace, ", "", 1))))
		response := b.admit(t, onePod)
		if response.Allowed || response.Status.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: the answer is %+v", name, response)
			continue
		}
		for _, want := range append(test.want, "SidecarSet s: injectionStrategy.revision", "remove injectionStrategy.revision") {
			if !strings.Contains(response.Status.Message, want) {
				t.Errorf("%s: message %q lacks %q", name, response.Status.Message, want)
			}
		}
	}
}

func TestRevisionsFollowTheirObjects(t *testing.T) {
	r := usual(t)
	b := newBed(t, asking(`{customVersion: v1}`, "{}"))
	b.options.Revisions = r
	golden.Equal(t, "at first", imageOf(t, b, onePod), any("a:3"))
	must(t, r.Upsert(toJSON(t, storedRevision("s-3", "s", "v3", 3, "a:3")))) // its version is another one now
	golden.Equal(t, "relabelled", imageOf(t, b, onePod), any("a:1"))
	must(t, r.Upsert(toJSON(t, storedRevision("s-1", "s", "v1", 1, "a:one"))))
	golden.Equal(t, "changed", imageOf(t, b, onePod), any("a:one"))
	r.Delete("elsewhere", "s-1")
	must(t, r.Upsert(toJSON(t, strings.Replace(storedRevision("s-4", "s", "v1", 9, "a:4"), "kruise-system", "elsewhere", 1))))
	golden.Equal(t, "of another namespace", imageOf(t, b, onePod), any("a:one"))
	r.Delete("kruise-system", "s-1")
	if response := b.admit(t, onePod); response.Allowed {
		t.Error("a revision that was deleted is injected")
	}
	golden.Equal(t, "SidecarSets", slices.Sorted(maps.Keys(r.ofSet)), []string{"other", "s"})
	r.Delete("kruise-system", "other-7")
	golden.Equal(t, "SidecarSets without revisions", slices.Sorted(maps.Keys(r.ofSet)), []string{"s"})
}

// The table of which version Pods get; random numbers are 0, the most eager one for the older version.
func TestWhichVersion(t *testing.T) {
	const named, current = "a:1", "a:9"
	for _, test := range []struct{ policy, update, want string }{
		{"Always", `{partition: 0, selector: {matchLabels: {app: x}}}`, named},
		{"Partial", `{paused: true, partition: 0}`, named},
		{"Partial", `{selector: {matchLabels: {app: z}}, partition: 0}`, named},
		{"Partial", `{selector: {matchLabels: {app: x}}, partition: 1}`, current},
		{"Partial", `{}`, current},
		{"Partial", `{partition: 5}`, current},
		{"Partial", `{partition: 0%}`, current},
		{"Partial", `{partition: 1%}`, named},
		{"Partial", `{selector: {matchLabels: {app: x}}, partition: 1%}`, named},
	} {
		b := newBed(t, asking(`{revisionName: s-1, policy: `+test.policy+`}`, test.update))
		b.options.Revisions = usual(t)
		golden.Equal(t, test.policy+" "+test.update, imageOf(t, b, onePod), any(test.want))
	}
	// Also one that would get the current version is refused if the named one cannot be restored.
	b := newBed(t, asking(`{revisionName: s-5, policy: Partial}`, "{partition: 0}"))
	b.options.Revisions = usual(t)
	if response := b.admit(t, onePod); response.Allowed {
		t.Error("a Pod is admitted although the revision is not there")
	}
}

func TestPartialIsCompiledStrictly(t *testing.T) {
	for update, want := range map[string]string{
		`{partition: many}`: "spec.updateStrategy.partition",
		`{selector: {matchExpressions: [{key: a, operator: Near}]}}`: "spec.updateStrategy.selector",
	} {
		_, err := Compile(toJSON(t, asking(`{revisionName: s-1, policy: Partial}`, update)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", update, err)
		}
		if _, err := Compile(toJSON(t, asking(`{}`, update))); err != nil {
			t.Errorf("%s, which nothing depends on: %v", update, err)
		}
	}
}

// With a partition of 30% the older version goes into three Pods of ten: of 10,000 into 3,000 with a deviation of
// sqrt(10000*0.3*0.7) = 46, here allowed five times.
func TestPartitionIsAProbability(t *testing.T) {
	b := newBed(t, asking(`{revisionName: s-1, policy: Partial}`, "{partition: 30%}"))
	r := usual(t)
	r.random = rand.New(rand.NewPCG(1, 2)).Float64
	b.options.Revisions = r
	const pods = 10_000
	old := 0
	raw := toJSON(t, onePod)
	for range pods {
		if strings.Contains(string(b.admitRaw(raw).Patch), `"a:1"`) {
			old++
		}
	}
	if old < 3000-5*46 || old > 3000+5*46 {
		t.Errorf("%d of %d Pods have the older version, not about 3000", old, pods)
	}
}

// The lots are cast once for a Pod, however often the API server asks.
func TestPartitionAtReinvocation(t *testing.T) {
	for first, image := range map[float64]string{0: "a:1", 0.99: "a:9"} {
		b := newBed(t, asking(`{revisionName: s-1, policy: Partial}`, "{partition: 50%}"))
		b.options.Revisions = usual(t)
		b.options.Revisions.random = constant(first)
		once, _ := b.inject(t, onePod)
		golden.Equal(t, "image", golden.At(once, "spec", "containers", 0, "image"), any(image))
		b.options.Revisions.random = constant(0.99 - first)
		if _, ops := b.inject(t, once); len(ops) > 0 {
			t.Errorf("after %v the second injection does %v", first, ops)
		}
		// A copy of the annotations alone is no Pod that was injected: it draws.
		spec := golden.At(once, "spec").(object)
		spec["containers"] = spec["containers"].([]any)[1:]
		if got := imageOf(t, b, once); got == image {
			t.Errorf("after %v a Pod without the sidecar does not draw", first)
		}
	}
}

// Versions that differ in volumes only have one hash; then the revision's name tells which one the Pod has.
func TestPartitionBetweenVersionsOfOneHash(t *testing.T) {
	b := newBed(t, asking(`{revisionName: s-1, policy: Partial}`, "{partition: 50%}"))
	b.options.Revisions = newRevisions(t, nil, strings.Replace(storedRevision("s-1", "s", "v1", 1, "a:9"), "h-s-1", "h-now", 1))
	for first, record := range map[float64]string{0: `"s-1"`, 0.99: `"s-9"`} {
		b.options.Revisions.random = constant(first)
		once, _ := b.inject(t, onePod)
		if hash := fmt.Sprint(annotation(once, "kruise.io/sidecarset-hash")); !strings.Contains(hash, `"hash":"h-now"`) || !strings.Contains(hash, record) {
			t.Errorf("after %v the Pod records %s", first, hash)
		}
		b.options.Revisions.random = constant(0.99 - first)
		if _, ops := b.inject(t, once); len(ops) > 0 {
			t.Errorf("after %v the second injection does %v", first, ops)
		}
	}
}

// liveRevisions is an API server with these revisions, or an error, that counts.
type liveRevisions struct {
	asked   []string
	objects map[string]string
	failure error
	t       *testing.T
}

func (l *liveRevisions) Revision(_ context.Context, name string) (jsontext.Value, bool, error) {
	l.asked = append(l.asked, name)
	text, ok := l.objects[name]
	if !ok {
		return nil, false, l.failure
	}
	return toJSON(l.t, text), true, nil
}

func (l *liveRevisions) Revisions(_ context.Context, labels map[string]string) (found []jsontext.Value, err error) {
	l.asked = append(l.asked, labels["kruise.io/sidecarset-name"]+" "+labels["apps.kruise.io/sidecarset-custom-version"])
	for _, text := range l.objects {
		found = append(found, toJSON(l.t, text))
	}
	return found, l.failure
}

func TestRevisionsAreReadLiveOnAMiss(t *testing.T) {
	live := &liveRevisions{t: t, objects: map[string]string{
		"s-4": storedRevision("s-4", "s", "v4", 4, "a:4"), "s-5": storedRevision("s-5", "s", "v4", 5, "a:5"),
		"stray": `{metadata: {name: stray, namespace: kruise-system}, data: {spec: {$patch: replace}}}`,
	}}
	clock := clocktesting.NewFakePassiveClock(testTime)
	r := NewRevisions("kruise-system", live, constant(0), clock)
	must(t, r.Upsert(toJSON(t, storedRevision("s-1", "s", "v1", 1, "a:1"))))
	ask := func(revision string) (image any, message string) {
		b := newBed(t, asking(revision, "{}"))
		b.options.Revisions = r
		if response := b.admit(t, onePod); !response.Allowed {
			return nil, response.Status.Message
		}
		return imageOf(t, b, onePod), ""
	}
	for revision, want := range map[string]string{
		`{revisionName: s-1}`: "a:1", `{revisionName: s-4}`: "a:4", `{customVersion: v1}`: "a:1", `{customVersion: v4}`: "a:5",
	} {
		if image, message := ask(revision); image != want {
			t.Errorf("%s: image is %v (%s)", revision, image, message)
		}
	}
	slices.Sort(live.asked)
	golden.Equal(t, "questions, once a second", live.asked, []string{"s v4", "s-4"})
	if _, message := ask(`{revisionName: stray}`); !strings.Contains(message, "is no revision of a SidecarSet") {
		t.Errorf("stray: message is %q", message)
	}
	live.asked = nil
	clock.SetTime(testTime.Add(liveFor + time.Millisecond))
	ask(`{revisionName: s-4}`)
	ask(`{revisionName: "../secrets/x"}`)
	ask(`{customVersion: "a,b"}`)
	golden.Equal(t, "questions, later, and none that cannot be", live.asked, []string{"s-4"})
	// What the watch delivers counts at once.
	must(t, r.Upsert(toJSON(t, storedRevision("s-4", "s", "v4", 4, "a:four"))))
	if image, _ := ask(`{revisionName: s-4}`); image != "a:four" {
		t.Errorf("image is %v", image)
	}
}

// That nobody can tell now says nothing about the Pod.
func TestFailedRevisionLookupIsAFault(t *testing.T) {
	for _, revision := range []string{`{revisionName: s-1}`, `{customVersion: v1}`} {
		b := newBed(t, asking(revision, "{}"))
		b.options.Revisions = newRevisions(t, &liveRevisions{t: t, failure: errors.New("the API server is away")})
		response := b.admit(t, onePod)
		if response.Allowed || response.Fault != http.StatusInternalServerError || !strings.Contains(response.Status.Message, "the API server is away") {
			t.Errorf("%s: the answer is %+v, status %+v", revision, response, response.Status)
		}
	}
}

// A version is compiled for the first Pod that gets it, and not for every one.
func TestRevisionsAreCompiledOnce(t *testing.T) {
	r := usual(t)
	var compiled [2]*Compiled
	for i := range compiled {
		var err error
		compiled[i], err = r.restore(t.Context(), wanted{sidecarSet: "s", name: "s-1"})
		must(t, err)
	}
	if compiled[0] != compiled[1] {
		t.Error("a revision is compiled twice")
	}
}
