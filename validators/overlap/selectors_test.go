package overlap

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

// alike asks both ways.
func alike(a, b *metav1.LabelSelector) (bool, bool) {
	return Alike(Read(a), Read(b)), Alike(Read(b), Read(a))
}

// The examples of protection.md §5, and every pair of operators.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"app=a", "app=a", true}, {"app=a", "app=b", false}, {"app=a", "tier=x", false}, {"app=a,tier=x", "app=a", false},
		{"app in (a,b)", "app in (b,c)", true}, {"app in (a,b)", "app in (c)", false},
		{"app in (a,b)", "app notin (a)", true}, {"app in (a)", "app notin (a)", false}, {"app notin (a)", "app notin (b)", true},
		{"app", "app=a", true}, {"app", "!app", false}, {"!app", "!app", true}, {"!app", "app notin (a)", true}, {"!app", "app=a", false},
		{"app", "app notin (a)", true}, {"app=a,tier=x", "tier=x,app=a", true}, {"app=a,tier=x", "tier=y,app=a", false}, {"", "", false},
	} {
		a, b := selector(t, c.a), selector(t, c.b)
		if got, turned := alike(a, b); got != c.want || turned != c.want {
			t.Errorf("%q and %q: %t, %t", c.a, c.b, got, turned)
		}
	}
}

// Of two selectors with the same keys that select one Pod, nobody says that they are not alike.
func TestSelectorsOfOnePodAreAlike(t *testing.T) {
	values := []string{"a", "b", "c"}
	draw := func(rt *rapid.T, name string) (s metav1.LabelSelector) {
		for _, key := range []string{"x", "y"} {
			operator := rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(rt, name+key)
			e := metav1.LabelSelectorRequirement{Key: key, Operator: operator}
			if operator == "In" || operator == "NotIn" {
				e.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 3, rapid.ID).Draw(rt, name+key+"values")
			}
			s.MatchExpressions = append(s.MatchExpressions, e)
		}
		return s
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(rt, "a"), draw(rt, "b")
		pod := labels.Set{}
		for _, key := range []string{"x", "y"} {
			if value := rapid.SampledFrom(append([]string{"", "d"}, values...)).Draw(rt, key); value != "" {
				pod[key] = value
			}
		}
		left, e1 := metav1.LabelSelectorAsSelector(&a)
		right, e2 := metav1.LabelSelectorAsSelector(&b)
		if e1 != nil || e2 != nil {
			rt.Fatal(e1, e2)
		}
		if got, _ := alike(&a, &b); left.Matches(pod) && right.Matches(pod) && !got {
			rt.Fatalf("%v and %v both select %v", left, right, pod)
		}
	})
}

// TestLikeFindsWhatComparingEachFinds has selectors come, change and go.
func TestLikeFindsWhatComparingEachFinds(t *testing.T) {
	values := []string{"a", "b", "c", "d", "e", "f"}
	draw := func(rt *rapid.T, name string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{}
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), rapid.ID).Draw(rt, name+"keys") {
			operator := rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "In", "In", "NotIn", "Exists", "DoesNotExist"}).Draw(rt, name+key)
			e := metav1.LabelSelectorRequirement{Key: key, Operator: operator}
			if operator == "In" || operator == "NotIn" {
				e.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 3, rapid.ID).Draw(rt, name+key+"values")
			}
			s.MatchExpressions = append(s.MatchExpressions, e)
		}
		return s
	}
	rapid.Check(t, func(rt *rapid.T) {
		index, all := NewSelectors(), map[string]*metav1.LabelSelector{}
		for i := range rapid.IntRange(0, 60).Draw(rt, "steps") {
			name := fmt.Sprint("s", rapid.IntRange(0, 40).Draw(rt, "name"))
			if rapid.IntRange(0, 4).Draw(rt, "delete") == 0 {
				index.Delete(name)
				delete(all, name)
				continue
			}
			all[name] = draw(rt, strconv.Itoa(i))
			index.Put(name, all[name])
		}
		wanted := draw(rt, "wanted")
		var want []string
		for name, s := range all {
			if Alike(Read(wanted), Read(s)) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, index.Like(wanted)); diff != "" {
			rt.Errorf("%v: %s", wanted, diff)
		}
		for name := range all {
			index.Delete(name)
		}
		if index.Len() != 0 || len(index.alike) != 0 || len(index.free) != len(index.sets) {
			rt.Errorf("what is left: %+v", index)
		}
	})
}
