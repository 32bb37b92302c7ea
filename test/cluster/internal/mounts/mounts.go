// Package mounts finds and undoes mounts below a folder.
package mounts

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// Below lists the mount points at or below dir, the deepest first.
func Below(dir string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("reading the mount table: %w", err)
	}
	return parse(string(table), dir), nil
}

// parse picks the mount points at or below dir from the text of /proc/mounts, the latest first: a later mount
// can lie only on or in an earlier one.
func parse(table, dir string) []string {
	var points []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		point := unescape(fields[1])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	sort.SliceStable(points, func(i, j int) bool { return len(points[i]) > len(points[j]) })
	return points
}

// unescape undoes the octal escapes of /proc/mounts: \040 is a space.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Undo unmounts everything at or below dir. A mount that is busy is detached: it disappears from here at once
// and from the kernel with its last user.
func Undo(dir string) error {
	points, err := Below(dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range points {
		if err := syscall.Unmount(p, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			failed = append(failed, fmt.Errorf("unmounting %s: %w", p, err))
		}
	}
	return errors.Join(failed...)
}
