package replica

import (
	"io/fs"
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestTheCollectorKeepsTheContainersLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	file := func(name, text string) fs.FS { return fstest.MapFS{name: {Data: []byte(text)}} }
	for name, tt := range map[string]struct {
		cgroup fs.FS
		asked  string
		want   int64
	}{
		"version 2":            {file("memory.max", "536870912\n"), "", 483183820}, // nine tenths of 512 MiB
		"version 1":            {file("memory/memory.limit_in_bytes", "1000\n"), "", 900},
		"version 2, unlimited": {file("memory.max", "max\n"), "", math.MaxInt64},
		"version 1, unlimited": {file("memory/memory.limit_in_bytes", "9223372036854771712\n"), "", math.MaxInt64},
		"no cgroup":            {fstest.MapFS{}, "", math.MaxInt64},
		"asked for otherwise":  {file("memory.max", "1000\n"), "300MiB", math.MaxInt64},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		limitMemory(tt.cgroup, tt.asked)
		if got := debug.SetMemoryLimit(-1); got != tt.want {
			t.Errorf("%s: the limit is %d, want %d", name, got, tt.want)
		}
	}
}
