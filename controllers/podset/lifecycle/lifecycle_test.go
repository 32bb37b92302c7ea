package lifecycle

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
	"github.com/fairlead-io/fairlead/controllers/podset/readiness"
)

func hook() *v1beta1.LifecycleHook {
	return &v1beta1.LifecycleHook{LabelsHandler: map[string]string{"hook": "on"}, FinalizersHandler: []string{"example.io/hook"}}
}

func pod(state string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"lifecycle.apps.kruise.io/state": state}}, Spec: corev1.PodSpec{NodeName: "n"}}
	for _, e := range edits {
		e(p)
	}
	return p
}

func labelled(p *corev1.Pod)    { p.Labels["hook"] = "on" }
func otherLabel(p *corev1.Pod)  { p.Labels["hook"] = "off" }
func finalized(p *corev1.Pod)   { p.Finalizers = []string{"example.io/hook", "other"} }
func unscheduled(p *corev1.Pod) { p.Spec.NodeName = "" }

func TestAnyAndAll(t *testing.T) {
	for name, tt := range map[string]struct {
		hook     *v1beta1.LifecycleHook
		pod      *corev1.Pod
		any, all bool
	}{
		"nil":           {nil, pod("", labelled, finalized), false, false},
		"empty":         {&v1beta1.LifecycleHook{}, pod("", labelled, finalized), false, true},
		"neither":       {hook(), pod(""), false, false},
		"label":         {hook(), pod("", labelled), true, false},
		"label's value": {hook(), pod("", otherLabel), false, false},
		"finalizer":     {hook(), pod("", finalized), true, false},
		"both":          {hook(), pod("", labelled, finalized), true, true},
		"empty value":   {&v1beta1.LifecycleHook{LabelsHandler: map[string]string{"x": ""}}, pod(""), false, false},
		"one of two":    {&v1beta1.LifecycleHook{FinalizersHandler: []string{"other", "third"}}, pod("", finalized), true, false},
	} {
		if gotAny, gotAll := Any(tt.hook, tt.pod), All(tt.hook, tt.pod); gotAny != tt.any || gotAll != tt.all {
			t.Errorf("%s: any %v, all %v", name, gotAny, gotAll)
		}
	}
}

// TestRestsIsWhereNothingMovesAPod asks by all hooks and facts.
func TestRestsIsWhereNothingMovesAPod(t *testing.T) {
	for _, state := range []string{"", "PreparingNormal", "Normal", "PreparingUpdate", "Updating", "Updated", "PreparingDelete", "of tomorrow"} {
		moves := false
		for _, hooks := range []Hooks{{}, {Declared: true}, {Declared: true, InPlaceUpdate: hook(), PreNormal: hook(), PreDelete: hook()}} {
			for _, facts := range []Facts{{}, {AtTarget: true}, {Updated: true}, {true, true}} {
				for _, p := range []*corev1.Pod{pod(state), pod(state, labelled, finalized)} {
					_, does := Next(p, hooks, facts)
					moves = moves || does
				}
			}
		}
		if Rests(pod(state)) == moves {
			t.Errorf("%q rests: %v, but moves: %v", state, !moves, moves)
		}
	}
}

func TestNext(t *testing.T) {
	inPlace := Hooks{Declared: true, InPlaceUpdate: hook()}
	preNormal := Hooks{Declared: true, PreNormal: hook()}
	done, target := Facts{Updated: true}, Facts{AtTarget: true}
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		hooks Hooks
		facts Facts
		want  string
	}{
		"new, scheduled":                   {pod("PreparingNormal"), Hooks{}, Facts{}, "Normal"},
		"new, not scheduled":               {pod("PreparingNormal", unscheduled), Hooks{}, Facts{}, ""},
		"new, hook absent":                 {pod("PreparingNormal"), preNormal, Facts{}, ""},
		"new, half the hook":               {pod("PreparingNormal", labelled), preNormal, Facts{}, ""},
		"new, hooked, not scheduled":       {pod("PreparingNormal", labelled, finalized, unscheduled), preNormal, Facts{}, "Normal"},
		"new, empty hook":                  {pod("PreparingNormal", unscheduled), Hooks{PreNormal: &v1beta1.LifecycleHook{}}, Facts{}, "Normal"},
		"in service":                       {pod("Normal", labelled), inPlace, done, ""},
		"of old":                           {pod(""), inPlace, Facts{true, true}, ""},
		"prepared, to be updated":          {pod("PreparingUpdate"), inPlace, done, ""},
		"prepared, rolled back, unhooked":  {pod("PreparingUpdate", labelled), inPlace, target, "Updated"},
		"prepared, rolled back, hooked":    {pod("PreparingUpdate", labelled, finalized), inPlace, target, "Normal"},
		"prepared, rolled back, no hooks":  {pod("PreparingUpdate"), Hooks{}, target, "Normal"},
		"prepared, rolled back, no such":   {pod("PreparingUpdate"), preNormal, target, "Updated"},
		"updating":                         {pod("Updating", labelled, finalized), inPlace, target, ""},
		"updating, done, without any":      {pod("Updating"), Hooks{}, done, "Normal"},
		"updating, done, hook released":    {pod("Updating"), inPlace, done, "Updated"},
		"updating, done, half released":    {pod("Updating", finalized), inPlace, done, "Updated"},
		"updating, done, hooked all along": {pod("Updating", labelled, finalized), inPlace, done, "Normal"},
		"updating, done, other hooks only": {pod("Updating"), preNormal, done, "Updated"},
		"updated, hook released":           {pod("Updated", labelled), inPlace, Facts{}, ""},
		"updated, hooked again":            {pod("Updated", labelled, finalized), inPlace, Facts{}, "Normal"},
		"updated, hook gone from the spec": {pod("Updated"), preNormal, Facts{}, "Normal"},
		"to be deleted":                    {pod("PreparingDelete", labelled, finalized), inPlace, Facts{true, true}, ""},
		"unknown":                          {pod("Sleeping"), inPlace, Facts{true, true}, ""},
	} {
		got, moves := Next(tt.pod, tt.hooks, tt.facts)
		if string(got) != tt.want || moves != (tt.want != "") {
			t.Errorf("%s: goes to %q (%v), want %q", name, got, moves, tt.want)
		}
	}
}

func TestForUpdate(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		hook *v1beta1.LifecycleHook
		want Update
	}{
		"held":                  {pod("Normal", labelled), hook(), Prepare},
		"held, new":             {pod("PreparingNormal", finalized), hook(), Prepare},
		"held, of old":          {pod("", finalized), hook(), Prepare},
		"free":                  {pod("Normal"), hook(), Start},
		"no hook":               {pod("Normal", labelled), nil, Start},
		"prepared, held":        {pod("PreparingUpdate", labelled), hook(), Wait},
		"prepared, free":        {pod("PreparingUpdate"), hook(), Start},
		"updating":              {pod("Updating", labelled), hook(), Start},
		"updated":               {pod("Updated"), hook(), PrepareAgain},
		"updated, without hook": {pod("Updated"), nil, Start},
		"to be deleted":         {pod("PreparingDelete"), hook(), Wait},
	} {
		if got, err := ForUpdate(tt.pod, tt.hook); err != nil || got != tt.want {
			t.Errorf("%s: %v (%v), want %v", name, got, err, tt.want)
		}
	}
	_, err := ForUpdate(pod("Sleeping"), nil)
	if want := `state "Sleeping" is unknown: remove the label, or make it Normal`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("an unknown state: %v, want %q", err, want)
	}
}

func TestForDeletion(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		hook *v1beta1.LifecycleHook
		want Deletion
	}{
		"no hook": {pod("Normal", labelled), nil, Delete}, "free": {pod("Normal"), hook(), Delete}, "held": {pod("Normal", labelled), hook(), PrepareDelete},
		"held in an update": {pod("Updating", finalized), hook(), PrepareDelete}, "prepared, held": {pod("PreparingDelete", labelled), hook(), AwaitConsent},
		"prepared, free": {pod("PreparingDelete", otherLabel), hook(), Delete},
	} {
		if got := ForDeletion(tt.pod, tt.hook); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestStaleKeys(t *testing.T) {
	held := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: "KruisePodReady", Message: `[{"userAgent":"Lifecycle","key":"preDeleteHook"},{"userAgent":"Lifecycle","key":"preUpdateHook"},{"userAgent":"X","key":"y"}]`}}
	}
	both := []readiness.Key{readiness.PreUpdate, readiness.PreDelete}
	for state, want := range map[string][]readiness.Key{
		"": both, "Normal": both, "Updated": both, "PreparingNormal": both,
		"PreparingUpdate": {readiness.PreDelete}, "Updating": {readiness.PreDelete}, "PreparingDelete": {readiness.PreUpdate},
	} {
		if diff := cmp.Diff(want, Stale(pod(state, held))); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
	}
	if got := Stale(pod("Normal")); got != nil {
		t.Errorf("a Pod that is not held has %v", got)
	}
}

func TestEnterAndRestore(t *testing.T) {
	p := pod("Updated")
	p.UID, p.Finalizers = "u", []string{"example.io/hook"}
	two := hook()
	two.FinalizersHandler = append(two.FinalizersHandler, "second")
	patch := Restore(Enter(podpatch.New(p), v1beta1.LifecycleStatePreparingUpdate, time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))), two, p)
	got, err := json.Marshal(patch)
	want := `{"metadata":{"annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-02T02:04:05Z"},"finalizers":["second"],` +
		`"labels":{"hook":"on","lifecycle.apps.kruise.io/state":"PreparingUpdate"},"uid":"u"}}`
	if err != nil || string(got) != want {
		t.Errorf("the patch is %s (%v), want %s", got, err, want)
	}
}

// TestEveryStateLeadsOn plays users' operators that release and restore hooks at random: a Pod that is updated and
// whose hook is restored ends in Normal, from whatever state.
func TestEveryStateLeadsOn(t *testing.T) {
	states := []string{"", "PreparingNormal", "Normal", "PreparingUpdate", "Updating", "Updated"}
	rapid.Check(t, func(r *rapid.T) {
		hooks := Hooks{Declared: rapid.Bool().Draw(r, "declared")}
		if hooks.Declared && rapid.Bool().Draw(r, "hooked") {
			hooks.InPlaceUpdate = hook()
		}
		p := pod(rapid.SampledFrom(states).Draw(r, "state"))
		for range 6 {
			if rapid.Bool().Draw(r, "operator acts") || slices.Contains([]string{"Updated"}, p.Labels["lifecycle.apps.kruise.io/state"]) {
				labelled(p)
				finalized(p)
			}
			if next, moves := Next(p, hooks, Facts{AtTarget: true, Updated: true}); moves {
				p.Labels["lifecycle.apps.kruise.io/state"] = string(next)
			}
		}
		if got := p.Labels["lifecycle.apps.kruise.io/state"]; got != "" && got != "Normal" {
			r.Errorf("it stays in %s", got)
		}
	})
}
