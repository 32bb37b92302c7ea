package conversion

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// An object has an annotation for each field that is kept, and not one for all. The API server decides by fields what a
// server-side apply takes away: it converts the object with and without what its manager no longer applies to the version
// of each other manager, and takes back whatever both have, an annotation like any field. In one annotation for all, what
// the manager gave up would come back with the rest of it.

// leafKey is the annotation for a record, whose name is the same whenever the same field is kept.
func leafKey(version string, r record) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(r.path + " " + r.in)) // a hash takes everything
	return KeptAnnotation(version) + "." + strconv.FormatUint(sum.Sum64(), 36)
}

// isKept says whether an annotation has fields of a version.
func isKept(key, version string) bool {
	name := KeptAnnotation(version)
	return key == name || strings.HasPrefix(key, name+".")
}

// leaves takes a record of an object apart into those of what is in it.
func (r record) leaves() []record {
	if r.value == nil {
		return []record{r}
	}
	top, err := jsontree.Parse(r.value)
	if err != nil {
		panic("conversion: a value was valid JSON when it was read: " + err.Error())
	}
	return r.below(top)
}

func (r record) below(n *jsontree.Node) (found []record) {
	names := []string(nil)
	if n.IsObject() {
		names = n.Names()
	}
	if len(names) == 0 {
		leaf := r
		leaf.value = n.Bytes()
		return []record{leaf}
	}
	for _, name := range names {
		member := r
		member.in += "/" + jsontree.Escape(name)
		found = append(found, member.below(n.Lookup(name))...)
	}
	return found
}

// whole puts what leaves took apart together again, in the order of paths. Of records that contradict each other, which
// only a client can make, one counts.
func whole(records []record) (out []record) {
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.in, b.in)) })
	for len(records) > 0 {
		first := records[0]
		end := slices.IndexFunc(records, func(r record) bool { return r.path != first.path })
		if end < 0 {
			end = len(records)
		}
		if first.in != "" {
			first.in, first.value = "", assembled(records[:end])
		}
		out, records = append(out, first), records[end:]
	}
	return out
}

func assembled(leaves []record) jsontext.Value {
	top, err := jsontree.Parse(jsontext.Value("{}"))
	if err != nil {
		panic("conversion: " + err.Error())
	}
	for _, leaf := range leaves {
		n, names := top, strings.Split(leaf.in[1:], "/")
		for _, name := range names[:len(names)-1] {
			name = jsontree.Unescape(name)
			if next := n.Get(name); next.IsObject() {
				n = next
			} else {
				n = n.Set(name, jsontext.Value("{}"))
			}
		}
		n.Set(jsontree.Unescape(names[len(names)-1]), leaf.value)
	}
	return top.Bytes()
}
