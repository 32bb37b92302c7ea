package sidecarset

import (
	"encoding/binary"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// conditions is a selector in one piece of memory without a pointer. There is one for each SidecarSet, whether its Pods come
// or not, and each pointer to follow costs every collection of garbage its time.
type conditions string

// What a label must be.
const (
	listed byte = iota
	unlisted
	present
	absent
)

// pack is what labels must meet. Of a selector that matches nothing at all it is worth nothing; that one is filed nowhere.
func pack(selector labels.Selector) conditions {
	var out []byte
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.NotIn, selection.NotEquals:
			out = append(out, unlisted)
		case selection.Exists:
			out = append(out, present)
		case selection.DoesNotExist:
			out = append(out, absent)
		default: // a LabelSelector has no other operators than these and In
			out = append(out, listed)
		}
		values := slices.Sorted(slices.Values(r.ValuesUnsorted()))
		out = binary.AppendUvarint(appendPacked(out, r.Key()), uint64(len(values)))
		for _, value := range values {
			out = appendPacked(out, value)
		}
	}
	return conditions(out)
}

func appendPacked(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// match says whether labels meet them all.
func (c conditions) match(labels map[string]string) bool {
	for c != "" {
		operator := c[0]
		c = c[1:]
		value, has := labels[c.text()]
		in := false
		for range c.number() {
			if c.text() == value {
				in = has
			}
		}
		met := in // listed
		switch operator {
		case unlisted:
			met = !in
		case present:
			met = has
		case absent:
			met = !has
		}
		if !met {
			return false
		}
	}
	return true
}

// text and number read off the front. They panic at what pack did not write.
func (c *conditions) text() string {
	n := c.number()
	text := string((*c)[:n])
	*c = (*c)[n:]
	return text
}

func (c *conditions) number() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := (*c)[0]
		*c = (*c)[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}
