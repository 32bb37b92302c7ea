package replica

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the part of the container's memory limit from which the collector works as hard as it must. The rest is
// for what is not its heap: stacks, the program itself, and what the kernel keeps for connections.
const memoryShare = 0.9

// memoryFiles say what a container may take, with cgroup v2 and v1, below /sys/fs/cgroup.
var memoryFiles = []string{"memory.max", "memory/memory.limit_in_bytes"}

// limitMemory has the collector keep us below the container's memory limit, if there is one. By default it lets the heap
// double however little is left, and a replica that the kernel kills for it takes the reviews that it has in hand with it.
// asked is GOMEMLIMIT, which the runtime has heeded already.
func limitMemory(cgroup fs.FS, asked string) {
	if asked != "" {
		return
	}
	if limit := containerLimit(cgroup); limit > 0 {
		debug.SetMemoryLimit(int64(float64(limit) * memoryShare))
	}
}

// containerLimit is in bytes, 0 if there is none.
func containerLimit(cgroup fs.FS) int64 {
	for _, name := range memoryFiles {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		// Version 1 says "none" by a number that no machine has.
		if err == nil && limit < math.MaxInt64/2 {
			return limit
		}
	}
	return 0
}
