package podview

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// edit is a new value for an entry of a list as sent.
type edit struct {
	index int
	value jsontext.Value
}

// Mentions tells whether a list, as it is now, may hold the word, without decoding it. It may be wrong only in saying
// yes: strings can spell a character with an escape.
func (c *Container) Mentions(f Field, word string) bool {
	escapable := strings.ContainsAny(word, `"\/`)
	may := func(raw jsontext.Value) bool {
		return bytes.Contains(raw, []byte(word)) || bytes.Contains(raw, []byte(`\u`)) || escapable && bytes.IndexByte(raw, '\\') >= 0
	}
	return may(c.lists[f]) || slices.ContainsFunc(c.added(f), may) ||
		slices.ContainsFunc(c.edited(f), func(e edit) bool { return may(e.value) })
}

// SetEntry replaces the entry at index i of a list, counted as Entries does. An index outside the list panics.
func (c *Container) SetEntry(f Field, i int, entry jsontext.Value) {
	sent := c.countSent(f)
	own := c.change()
	if i >= sent {
		own.added[f] = slices.Clone(own.added[f]) // a clone of this container may share them
		own.added[f][i-sent] = entry
		return
	}
	own.edited[f] = slices.DeleteFunc(slices.Clone(own.edited[f]), func(e edit) bool { return e.index == i })
	own.edited[f] = append(own.edited[f], edit{index: i, value: entry})
}

func (c *Container) countSent(f Field) (n int) {
	if c.lists[f] == nil {
		return 0
	}
	err := jsonwalk.Walk(c.lists[f], func(w *jsonwalk.Walker) error {
		return w.Array(func() error { n++; return nil })
	})
	if err != nil {
		panic("podview: list was valid JSON when it was read: " + err.Error())
	}
	return n
}

// entry is the current value of the entry at index i of a list as sent.
func (c *Container) entry(f Field, i int, sent jsontext.Value) jsontext.Value {
	for _, e := range c.edited(f) {
		if e.index == i {
			return e.value
		}
	}
	return sent
}

// changed tells whether a list is not as sent.
func (c *Container) changed(f Field) bool { return len(c.added(f)) > 0 || len(c.edited(f)) > 0 }

// list is the current list as JSON.
func (c *Container) list(f Field) jsontext.Value {
	if len(c.edited(f)) == 0 {
		return joinArrays(c.lists[f], array(c.added(f)))
	}
	var all []jsontext.Value
	err := c.Entries(f, func(entry jsontext.Value) error {
		all = append(all, entry)
		return nil
	})
	if err != nil {
		panic("podview: list was valid JSON when it was read: " + err.Error())
	}
	return array(all)
}
