package order

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

func allBut(unavailable ...string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return !slices.Contains(unavailable, p.Name) }
}

// TestEachRuleOfDeletion has pairs of which the first goes first by one rule, although every later rule says otherwise.
func TestEachRuleOfDeletion(t *testing.T) {
	late := []edit{costs("9"), restarted(0)}
	for name, pair := range map[string][]*corev1.Pod{
		"unscheduled":        {pod("a", on("")), pod("b", inPhase(corev1.PodPending), notReady)},
		"pending":            {pod("a", append(late, inPhase(corev1.PodPending))...), pod("b", inPhase(corev1.PodUnknown), notReady)},
		"unknown":            {pod("a", append(late, inPhase(corev1.PodUnknown))...), pod("b", notReady)},
		"not available":      {pod("unavailable", late...), pod("b", notReady)},
		"not ready":          {pod("a", append(late, notReady)...), pod("b", costs("-5"))},
		"cost":               {pod("a", costs("-5")), pod("b", restarted(9))},
		"invalid cost is 0":  {pod("a", costs("+9")), pod("b", costs("1"))},
		"leading zeros":      {pod("a", costs("09")), pod("b", costs("1"))},
		"overflow":           {pod("a", costs("2147483648")), pod("b", costs("1"))},
		"ready later":        {pod("a", readyAfter(time.Hour)), pod("b", restarted(9), createdAfter(time.Minute))},
		"more restarts":      {pod("a", restarted(1, 5)), pod("b", restarted(3, 4), createdAfter(time.Minute))},
		"younger":            {pod("a", createdAfter(time.Minute)), pod("b")},
		"no creation time":   {pod("a", func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{} }), pod("b", createdAfter(time.Hour))},
		"no transition time": {pod("a", func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Time{} }), pod("b", readyAfter(time.Hour))},
	} {
		d := Deletion{Available: allBut("unavailable")}
		for _, list := range [][]*corev1.Pod{pair, reversed(pair)} {
			expect(t, name, d.First(list, 1), pair[0].Name)
		}
	}
}

func TestDeletionOfAllHasNoOrder(t *testing.T) {
	d := Deletion{Available: func(*corev1.Pod) bool { t.Error("Pods were compared"); return true }}
	expect(t, "all", d.First([]*corev1.Pod{pod("a"), pod("b")}, 2), "a b")
	expect(t, "more than all", d.First([]*corev1.Pod{pod("a")}, 5), "a")
}

func TestPodsOfOneNodeGoFirst(t *testing.T) {
	group := []*corev1.Pod{pod("a"), pod("b1", on("b")), pod("b2", on("b"), createdAfter(time.Second)), pod("c1", on("c")), pod("c2", on("c")), pod("c3", on("c"))}
	d := Deletion{Available: allBut()}
	// Ranks: c's 2 1 0, b's 1 (b2, the younger) 0; ties by age, then as listed.
	expect(t, "by node", d.First(group, 5), "c1 b2 c2 a b1")
}

func TestZonesAreEmptiedEvenly(t *testing.T) {
	zone := map[string]string{"n1": "x", "n2": "x", "n3": "x", "n4": "y"}
	d := Deletion{
		Available:   allBut(),
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}},
		NodeLabels:  func(node string) map[string]string { return map[string]string{"zone": zone[node]} },
	}
	group := []*corev1.Pod{pod("y", on("n4"), createdAfter(time.Hour)), pod("x1", on("n1")), pod("x2", on("n2")), pod("x3", on("n3")), pod("nowhere", on("n9"))}
	expect(t, "two of zone x", d.First(group, 2), "x1 x2")
	expect(t, "then the younger", d.First(group, 4), "x1 x2 y x3")
}

func TestHostnameConstraintIgnoresTheNodesOwnRank(t *testing.T) {
	d := Deletion{
		Available:   allBut(),
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: "kubernetes.io/hostname"}},
		NodeLabels:  func(node string) map[string]string { return map[string]string{"kubernetes.io/hostname": node} },
	}
	group := []*corev1.Pod{pod("a", on("n1")), pod("b1", on("n2")), pod("b2", on("n2"), restarted(3))}
	expect(t, "of the fuller host the restarted", d.First(group, 1), "b2")
}

func TestEachRuleOfUpdate(t *testing.T) {
	for name, pair := range map[string][]*corev1.Pod{
		"unscheduled":   {pod("a", on("")), pod("b", inPhase(corev1.PodPending), notReady)},
		"pending":       {pod("a", inPhase(corev1.PodPending)), pod("b", notReady)},
		"not ready":     {pod("a", notReady), pod("b", readyAfter(time.Hour), costs("-9"))},
		"ready later":   {pod("a", readyAfter(time.Hour), costs("9")), pod("b", restarted(9))},
		"more restarts": {pod("a", restarted(5)), pod("b", createdAfter(time.Minute))},
		"younger":       {pod("a", createdAfter(time.Minute)), pod("b")},
		"has begun":     {pod("a", label(v1beta1.LifecycleStateLabel, "PreparingUpdate")), pod("b", on(""))},
	} {
		for _, list := range [][]*corev1.Pod{pair, reversed(pair)} {
			expect(t, name, Update{}.Sort(list)[:1], "a")
		}
	}
	same := []*corev1.Pod{pod("a", costs("9")), pod("b", costs("1")), pod("c", on("node-b"))}
	expect(t, "cost and place do not matter", Update{}.Sort(same), "a b c")
}

func TestPriority(t *testing.T) {
	weights := Update{Priority: &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{
		{Weight: 50, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"canary": "yes"}}},
		{Weight: 30, MatchSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: metav1.LabelSelectorOpExists}}}},
		{Weight: 99, MatchSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Wrong"}}}},
	}}}
	group := []*corev1.Pod{pod("none"), pod("zone", label("zone", "a")), pod("both", label("zone", "b"), label("canary", "yes")), pod("canary", label("canary", "yes")), pod("also-none")}
	expect(t, "weights", weights.Sort(group), "both canary zone none also-none")

	keys := Update{Priority: &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: "first"}, {OrderedKey: "second"}}}}
	group = []*corev1.Pod{pod("none"), pod("second-1", label("second", "sts-1")), pod("second-10", label("second", "sts-10")), pod("first-x", label("first", "x")), pod("first-2", label("first", "2"), label("second", "99"))}
	expect(t, "keys", keys.Sort(group), "first-2 first-x second-10 second-1 none")
	keys.KeylessFirst = true
	expect(t, "keys, keyless first", keys.Sort(group), "none first-2 first-x second-10 second-1")

	strict := []*corev1.Pod{pod("ready", label("canary", "yes")), pod("broken", notReady)}
	expect(t, "priority above readiness", weights.Sort(strict), "ready broken")
}

func TestTrailingNumber(t *testing.T) {
	for value, want := range map[string]uint64{"": 0, "a": 0, "sts-10": 10, "10a": 0, "007": 7, "x99999999999999999999999": 1<<64 - 1} {
		if got := trailingNumber(value); got != want {
			t.Errorf("%q has %d at its end, want %d", value, got, want)
		}
	}
}

// pattern makes Pods of M and dots.
func pattern(s string) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(s))
	for i, c := range s {
		pods[i] = pod(strconv.Itoa(i))
		if c == 'M' {
			pods[i].Labels["app"] = "m"
		}
	}
	return pods
}

func show(pods []*corev1.Pod) string {
	var b strings.Builder
	for _, p := range pods {
		if p.Labels["app"] == "m" {
			b.WriteByte('M')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

var term = []v1beta1.UpdateScatterTerm{{Key: "app", Value: "m"}}

func TestScatter(t *testing.T) {
	for _, tt := range []struct{ candidates, rest, want string }{
		{"MMM......", "", "M...M...M"}, {"MMMM........", "", "M...M...M..M"}, {"MMMMMMMM....", "", "MM.MM.MM.M.M"}, {"....MM", "", "M....M"},
		{"M.....", "", "M....."}, {"MMM.", "", "MMM."}, {"......", "", "......"},
		// In the middle of a rollout, where the candidates have more others than the whole: 2 of 4 matching are left with
		// 8 of 8 others. The whole has runs of 1 and round(8/3)=3; one run fits, so 5 others lead.
		{"MM........", "MM", ".....M...M"},
		// They have fewer others than the whole: they are spread among themselves.
		{"MMM..", "....", "M.M.M"},
	} {
		candidates := pattern(tt.candidates)
		all := append(pattern(tt.rest), candidates...)
		if got := show(Update{Scatter: term, All: all}.Rearrange(candidates)); got != tt.want {
			t.Errorf("%s of %s becomes %s, want %s", tt.candidates, tt.rest, got, tt.want)
		}
	}
}

func TestSeveralTermsGoByTheirMatches(t *testing.T) {
	terms := []v1beta1.UpdateScatterTerm{{Key: "app", Value: "none"}, {Key: "app", Value: "x"}, {Key: "app", Value: "m"}, {Key: "zone", Value: ""}}
	pods := []*corev1.Pod{pod("1", label("app", "m")), pod("2", label("app", "m")), pod("3", label("app", "x"))}
	want := []v1beta1.UpdateScatterTerm{terms[3], terms[2], terms[1]}
	if got := busiestFirst(pods, terms); !slices.Equal(got, want) {
		t.Errorf("terms go %v, want %v", got, want)
	}
}

func TestEveryOrderKeepsEveryPodOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := pattern(rapid.StringMatching(`[M.]{0,30}`).Draw(t, "pods"))
		for _, p := range all {
			p.Spec.NodeName = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "node")
			p.Labels["zone"] = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "zone")
		}
		candidates := all[rapid.IntRange(0, len(all)).Draw(t, "updated"):]
		terms := append(slices.Clone(term), v1beta1.UpdateScatterTerm{Key: "zone", Value: "x"}, v1beta1.UpdateScatterTerm{Key: "zone", Value: ""})
		got := Update{Scatter: terms[:rapid.IntRange(0, 3).Draw(t, "terms")], All: all}.Sort(candidates)
		if len(got) != len(candidates) || !maps.Equal(count(got), count(candidates)) {
			t.Errorf("of %s it makes %s", names(candidates), names(got))
		}
		d := Deletion{Available: allBut("1", "2"), Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}}, NodeLabels: func(n string) map[string]string { return map[string]string{"zone": n} }}
		n := rapid.IntRange(0, len(all)).Draw(t, "n")
		first := d.First(all, n)
		if len(count(first)) != n {
			t.Errorf("%d of %d to delete are %s", n, len(all), names(first))
		}
	})
}

func count(pods []*corev1.Pod) map[string]int {
	n := map[string]int{}
	for _, p := range pods {
		n[p.Name]++
	}
	return n
}
