package validators

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// revision tells sets of rules apart: the first 48 bits of a digest of their files, which a metric holds exactly.
type revision uint64

func revisionOf(sources map[string]string) revision {
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintf(digest, "%d %s %d %s", len(name), name, len(sources[name]), sources[name])
	}
	return revision(binary.BigEndian.Uint64(digest.Sum(nil)) >> 16)
}

func (r revision) String() string { return fmt.Sprintf("%012x", uint64(r)) }

// Revision names the rules in force. Replicas whose rules are the same have the same one.
func (e *Engine) Revision() string { return e.current.Load().revision.String() }
