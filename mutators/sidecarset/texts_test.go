package sidecarset

import (
	"strings"
	"testing"
)

// What was kept stays as it was, whatever is kept after it.
func TestTextsLast(t *testing.T) {
	var all texts
	var kept, want []string
	for i := range 300 {
		text := strings.Repeat(string(rune('a'+i%26)), 1+i*97%(chunk/3)) // some too long for a chunk
		kept, want = append(kept, all.keep(text)), append(want, text)
	}
	for i := range kept {
		if kept[i] != want[i] {
			t.Fatalf("text %d is %.20q... of %d bytes, want %.20q... of %d", i, kept[i], len(kept[i]), want[i], len(want[i]))
		}
	}
}
