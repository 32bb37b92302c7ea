package arithmetic

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		value    string
		total    int
		down, up int
	}{
		{"3", 10, 3, 3}, {"0", 10, 0, 0}, {"30%", 5, 1, 2}, {"20%", 3, 0, 1}, {"25%", 10, 2, 3},
		{"70%", 10, 7, 7}, {"12.5%", 8, 1, 1}, {"12.5%", 9, 1, 2}, {"33.3%", 10, 3, 4}, {"0.05%", 1000, 0, 1},
		{"100%", 7, 7, 7}, {"200%", 7, 14, 14}, {"0%", 7, 0, 0}, {"5%", 0, 0, 0}, {"99999999999999999999%", 9, maxPods, maxPods},
	} {
		value := intstr.Parse(tt.value)
		for rounding, want := range map[Rounding]int{Down: tt.down, Up: tt.up} {
			if got, err := Resolve(value, tt.total, rounding); err != nil || got != want {
				t.Errorf("%s of %d rounded up=%v is %d (%v), want %d", tt.value, tt.total, rounding, got, err, want)
			}
		}
	}
}

func TestResolveOddValues(t *testing.T) {
	if got, err := Resolve(intstr.FromString("5"), 100, Up); err != nil || got != 5 {
		t.Errorf(`the string "5" is %d (%v), want 5`, got, err)
	}
	if got, err := Resolve(intstr.FromInt32(-3), 100, Up); err != nil || got != 0 {
		t.Errorf("-3 is %d (%v), want 0", got, err)
	}
	for _, value := range []string{"", "%", "a", "5 %", "-5%", "1e2%", "1/3%", ".5%", "5.%"} {
		if got, err := Resolve(intstr.FromString(value), 100, Up); err == nil {
			t.Errorf("%q is %d, want an error", value, got)
		}
	}
	garbage := intstr.FromString("many")
	if got := ResolveOr(&garbage, intstr.FromString("20%"), 10, Up); got != 2 {
		t.Errorf("what cannot be read is %d, want the default's 2", got)
	}
	if got := ResolveOr(nil, intstr.FromInt32(4), 10, Up); got != 4 {
		t.Errorf("nothing is %d, want the default's 4", got)
	}
}

func TestPartition(t *testing.T) {
	for _, tt := range []struct {
		replicas int
		value    string
		want     int
	}{
		{5, "2", 2}, {5, "10%", 1}, {5, "50%", 3}, {5, "99%", 4}, {5, "100%", 5}, {5, "9", 5}, {5, "5", 5},
		{1, "50%", 1}, {1, "100%", 1}, {2, "99%", 1}, {4, "75%", 3}, {10, "33.3%", 4}, {1000, "0.05%", 1},
		{6, "50%", 3}, {3, "34%", 2}, {0, "3", 0}, {0, "50%", 0}, {5, "200%", 5},
	} {
		value := intstr.Parse(tt.value)
		if got := Partition(&value, tt.replicas); got != tt.want {
			t.Errorf("partition %s of %d keeps %d, want %d", tt.value, tt.replicas, got, tt.want)
		}
	}
	if got := Partition(ptr.To(intstr.FromString("half")), 5); got != 0 {
		t.Errorf("what cannot be read keeps %d, want 0", got)
	}
	if got := Partition(nil, 5); got != 0 {
		t.Errorf("no partition keeps %d, want 0", got)
	}
}

func TestPartitionStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.IntRange(0, 50).Draw(t, "replicas")
		value := rapid.OneOf(
			rapid.Map(rapid.Int32Range(-5, 60), intstr.FromInt32),
			rapid.Map(rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,2})?%`), intstr.FromString),
		).Draw(t, "value")
		if got := Partition(&value, replicas); got < 0 || got > replicas {
			t.Errorf("partition %s of %d keeps %d", value.String(), replicas, got)
		}
	})
}
