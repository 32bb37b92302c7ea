package sidecarset

import "strings"

// chunk is how much memory texts share. Allocated one by one among the garbage of their compilation, those of 10,000
// SidecarSets were spread over twice their size. A chunk goes when the last of its texts has: in the worst case, with a
// part of the SidecarSets changing all the time, chunks hold as much again as is in use.
const chunk = 64 << 10

// texts makes texts that last. It is not safe for concurrent use.
type texts struct{ current strings.Builder }

// keep copies a text.
func (t *texts) keep(text string) string {
	if len(text) > chunk/4 { // would leave too much of a chunk empty
		return strings.Clone(text)
	}
	if t.current.Cap()-t.current.Len() < len(text) {
		t.current = strings.Builder{}
		t.current.Grow(chunk)
	}
	start := t.current.Len()
	t.current.WriteString(text) // within the capacity, so that what was cut from it stays where it is
	return t.current.String()[start:]
}
