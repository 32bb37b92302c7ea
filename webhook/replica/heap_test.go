package replica

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0:         2000, // as for 1 MiB
		4 << 20:   500,  // 20 MiB more
		20 << 20:  100,
		64 << 20:  50,
		200 << 20: 50,
	} {
		if got := percent(live); got != want {
			t.Errorf("percent of %d MiB is %d, want %d", live>>20, got, want)
		}
	}
}

// A heap that grows much has its target adjusted right after the collection that notices.
func TestPacerFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	debug.SetGCPercent(before)
	err := paced("", func() error {
		large := make([]byte, 200<<20)
		got := 0
		for deadline := time.Now().Add(10 * time.Second); got != growthPercent && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			runtime.GC()
			got = debug.SetGCPercent(100)
			debug.SetGCPercent(got)
		}
		runtime.KeepAlive(large)
		if got != growthPercent {
			t.Errorf("with 200 MiB live the target is %d, want %d", got, growthPercent)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := debug.SetGCPercent(before); got != before {
		t.Errorf("afterwards the target is %d, want %d as before", got, before)
	}
}

// TestWhoSetsGOGCIsHeeded has a target that the pacer would never choose, with collections for it to act upon.
func TestWhoSetsGOGCIsHeeded(t *testing.T) {
	const chosen = 33
	before := debug.SetGCPercent(chosen)
	defer debug.SetGCPercent(before)
	err := paced("33", func() error {
		for range 3 {
			runtime.GC()
			time.Sleep(20 * time.Millisecond) // a cleanup runs after the collection
		}
		if got := debug.SetGCPercent(chosen); got != chosen {
			t.Errorf("the target is %d, want %d as it was set", got, chosen)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
