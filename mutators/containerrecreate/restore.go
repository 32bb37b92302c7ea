package containerrecreate

import (
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// restore gives the request what it lacks of what capture filled into the old one. What a user chose and then leaves out
// stays out: that is a change.
func (r *request) restore(old *request) {
	if defaulted := old.spec.Object("strategy"); defaulted != nil && (defaulted.Get("failurePolicy") != nil || defaulted.Get("terminationGracePeriodSeconds") != nil) {
		strategy, err := object(r.spec, "strategy")
		if err != nil {
			return // parse has seen it
		}
		fill(strategy, defaulted, "failurePolicy")
		fill(strategy, defaulted, "terminationGracePeriodSeconds")
	}
	was := make(map[string]*jsontree.Node)
	for _, c := range objects(old.spec, "containers") {
		was[c.TextOf("name")] = c
	}
	for _, c := range objects(r.spec, "containers") {
		if before := was[c.TextOf("name")]; before != nil {
			for _, member := range captured {
				fill(c, before, member)
			}
		}
	}
}

// fill gives an object a member that it lacks and that another has, or what the member lacks: a client whose types are
// older writes back a hook without its handler. An empty text is none.
func fill(to, from *jsontree.Node, name string) {
	theirs, ours := from.Get(name), to.Get(name)
	switch {
	case theirs == nil:
	case ours == nil, string(ours.Bytes()) == `""`:
		to.Set(name, theirs.Bytes())
	default:
		fillBelow(ours, theirs)
	}
}

func fillBelow(to, from *jsontree.Node) {
	switch {
	case to.IsObject() && from.IsObject():
		for _, m := range from.Members() {
			fill(to, from, m.Name)
		}
	case to.IsArray() && from.IsArray() && len(to.Elements()) == len(from.Elements()):
		for i, element := range to.Elements() {
			fillBelow(element, from.Elements()[i])
		}
	}
}
