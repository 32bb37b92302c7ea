package overlap

import (
	"encoding/binary"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// packed is a set in one piece of memory without a pointer: tens of thousands are kept, most of which no search ever looks
// at, and each pointer to follow costs every collection of garbage its time. The parts come in the order in which a search
// wants them: name, base, claims, selectors. What is unpacked are parts of it.
type packed string

func pack(s *set) packed {
	out := make([]byte, 0, 256) // a SidecarSet of one container and one volume
	out = appendString(out, s.name)
	out = appendString(out, s.base)
	out = binary.AppendUvarint(out, uint64(len(s.claims)))
	for _, c := range s.claims {
		out = appendString(out, string(c.kind))
		out = appendString(out, c.name)
		out = appendString(out, c.content)
		out = appendString(out, string(c.policy))
	}
	return packed(appendSelector(appendSelector(out, s.selector), s.namespace))
}

func appendString(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

func appendStrings(out []byte, list []string) []byte {
	out = binary.AppendUvarint(out, uint64(len(list)))
	for _, s := range list {
		out = appendString(out, s)
	}
	return out
}

// The bits of a demand.
const (
	existsBit = 1 << iota
	absentBit
	listedBit
)

// appendSelector writes one more than the number of demands, as 0 is the nil Selector.
func appendSelector(out []byte, s *Selector) []byte {
	if s == nil {
		return binary.AppendUvarint(out, 0)
	}
	out = binary.AppendUvarint(out, uint64(len(s.demands))+1)
	for _, d := range s.demands {
		out = appendString(append(out, d.bits()), d.key)
		out = appendStrings(appendStrings(out, d.allowed), d.denied)
	}
	return out
}

func (d demand) bits() (bits byte) {
	if d.exists {
		bits |= existsBit
	}
	if d.absent {
		bits |= absentBit
	}
	if d.listed {
		bits |= listedBit
	}
	return bits
}

// name is the SidecarSet's name.
func (p packed) name() string {
	r := reader(p)
	return r.text()
}

// claim is what the SidecarSet brings under a name. Its path in the SidecarSet is not kept.
func (p packed) claim(about slot) (c claim, found bool) {
	r := reader(p)
	r.text()
	r.text()
	for range r.number() {
		if c = r.claim(); c.slot == about {
			return c, true
		}
	}
	return claim{}, false
}

// unpack is the set, but for the paths of its claims.
func (p packed) unpack() *set {
	r := reader(p)
	s := &set{name: r.text(), base: r.text(), claims: make([]claim, r.number())}
	for i := range s.claims {
		s.claims[i] = r.claim()
	}
	s.selector, s.namespace = r.selector(), r.selector()
	return s
}

// reader is the rest of a packed set. It panics at what pack did not write.
type reader string

func (r *reader) number() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := (*r)[0]
		*r = (*r)[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *reader) text() string {
	n := r.number()
	s := string((*r)[:n])
	*r = (*r)[n:]
	return s
}

func (r *reader) texts() []string {
	n := r.number()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) claim() claim {
	return claim{
		slot: slot{Kind(r.text()), r.text()}, content: r.text(), policy: v1beta1.SidecarSetPatchPolicyType(r.text()),
	}
}

func (r *reader) selector() *Selector {
	n := r.number()
	if n == 0 {
		return nil
	}
	s := &Selector{demands: make([]demand, n-1)}
	for i := range s.demands {
		bits := (*r)[0]
		*r = (*r)[1:]
		s.demands[i] = demand{
			exists: bits&existsBit != 0, absent: bits&absentBit != 0, listed: bits&listedBit != 0,
			key: r.text(), allowed: r.texts(), denied: r.texts(),
		}
	}
	return s
}
