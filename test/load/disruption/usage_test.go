package disruption

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// usage is what a process has taken so far.
type usage struct {
	cpu      time.Duration
	resident int64
}

func usageOf(r *replica) (usage, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		return usage{}, err
	}
	// The second field, the command, may hold spaces; fields 14, 15 and 24 count from the first.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var values [3]int64
	for i, field := range []int{14, 15, 24} {
		if values[i], err = strconv.ParseInt(fields[field-3], 10, 64); err != nil {
			return usage{}, err
		}
	}
	return usage{time.Duration(values[0]+values[1]) * clockTick, values[2] * int64(os.Getpagesize())}, nil
}
