package containerrecreate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/decoding"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// pod is what a capture looks at of a Pod.
type pod struct {
	name, uid, node string
	phase           string
	deleting        bool
	// sidecarTerminated says that there is such a condition: the job's own containers are done, and its sidecars are to
	// be stopped through requests although the Pod's phase may be final.
	sidecarTerminated bool
	// gracePeriod is spec.terminationGracePeriodSeconds as JSON, nil if unset.
	gracePeriod    jsontext.Value
	containers     []container
	initContainers []string
	statuses       []status
}

// container is a container of the Pod's spec. preStop and ports are JSON as the Pod has it, nil if there is none; of a hook
// all is kept, kinds that are newer than this code included.
type container struct {
	name           string
	preStop, ports jsontext.Value
	// asksHTTP says that the hook is an HTTP request.
	asksHTTP bool
}

// status is an entry of status.containerStatuses.
type status struct {
	name, id string
	restarts int64
}

// container is the one of a name, nil if there is none.
func (p *pod) container(name string) *container {
	if i := slices.IndexFunc(p.containers, func(c container) bool { return c.name == name }); i >= 0 {
		return &p.containers[i]
	}
	return nil
}

// status is that of the container of a name, nil if there is none.
func (p *pod) status(name string) *status {
	if i := slices.IndexFunc(p.statuses, func(s status) bool { return s.name == name }); i >= 0 {
		return &p.statuses[i]
	}
	return nil
}

// parsePod reads a Pod in one pass: they have some KiB, of which a capture needs a little.
func parsePod(raw jsontext.Value) (*pod, error) {
	if raw.Kind() != jsontext.KindBeginObject {
		return nil, errors.New("expected an object")
	}
	p := &pod{}
	var metadata, spec bool
	err := jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) error {
			switch name {
			case "metadata":
				metadata = w.Kind() != jsontext.KindNull
				return w.Object(func(name string) error { return p.readMetadata(w, name) })
			case "spec":
				spec = w.Kind() != jsontext.KindNull
				return w.Object(func(name string) error { return p.readSpec(w, name) })
			case "status":
				return w.Object(func(name string) error { return p.readStatus(w, name) })
			}
			return nil
		})
	})
	if err == nil && (!metadata || !spec) {
		err = errors.New("it has no metadata or no spec")
	}
	return p, err
}

func (p *pod) readMetadata(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "name":
		p.name, err = w.String()
	case "uid":
		p.uid, err = w.String()
	case "deletionTimestamp":
		p.deleting = w.Kind() != jsontext.KindNull
	}
	return err
}

func (p *pod) readSpec(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "nodeName":
		p.node, err = w.String()
	case "terminationGracePeriodSeconds":
		p.gracePeriod, err = w.Value()
	case "containers":
		err = w.Array(func() error {
			var c container
			err := w.Object(func(name string) error { return c.read(w, name) })
			p.containers = append(p.containers, c)
			return err
		})
	case "initContainers":
		err = w.Array(func() error {
			name, err := text(w, "name")
			p.initContainers = append(p.initContainers, name)
			return err
		})
	}
	return err
}

func (c *container) read(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "name":
		c.name, err = w.String()
	case "ports":
		c.ports, err = w.Value()
	case "lifecycle":
		err = w.Object(func(name string) error {
			if name != "preStop" {
				return nil
			}
			start, members := w.Offset(), 0
			err := w.Object(func(name string) error {
				members++
				c.asksHTTP = c.asksHTTP || name == "httpGet" && w.Kind() != jsontext.KindNull
				return nil
			})
			if members > 0 {
				c.preStop = w.Since(start)
			}
			return err
		})
	}
	return err
}

func (p *pod) readStatus(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "phase":
		p.phase, err = w.String()
	case "conditions":
		err = w.Array(func() error {
			kind, err := text(w, "type")
			p.sidecarTerminated = p.sidecarTerminated || kind == sidecarTerminated
			return err
		})
	case "containerStatuses":
		err = w.Array(func() error {
			var s status
			err := w.Object(func(name string) error { return s.read(w, name) })
			p.statuses = append(p.statuses, s)
			return err
		})
	}
	return err
}

func (s *status) read(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "name":
		s.name, err = w.String()
	case "containerID":
		s.id, err = w.String()
	case "restartCount":
		at := w.Pointer()
		var count jsontext.Value
		if count, err = w.Value(); err != nil || count == nil {
			return err
		}
		if s.restarts, err = strconv.ParseInt(string(count), 10, 32); err != nil {
			err = fmt.Errorf("reading %s: %w", at, err)
		}
	}
	return err
}

// text is a string member of an object, "" if it is missing.
func text(w *jsonwalk.Walker, member string) (value string, err error) {
	err = w.Object(func(name string) (err error) {
		if name == member {
			value, err = w.String()
		}
		return err
	})
	return value, err
}

// sidecarTerminated is the type of the condition that the sidecar terminator gives a Pod before it makes a request.
const sidecarTerminated = "SidecarTerminated"

// inactive says why no container of the Pod can be restarted, or "".
func (p *pod) inactive() string {
	switch {
	case p.sidecarTerminated:
		return ""
	case p.deleting:
		return "is being deleted"
	case p.phase == "Succeeded" || p.phase == "Failed":
		return "is in phase " + p.phase
	default:
		return ""
	}
}

// objects are the elements of a list that are objects.
func objects(of *jsontree.Node, list string) (found []*jsontree.Node) {
	l := of.Get(list)
	if !l.IsArray() {
		return nil
	}
	for _, element := range l.Elements() {
		if element.IsObject() {
			found = append(found, element)
		}
	}
	return found
}

func mismatch(n *jsontree.Node, want string) error {
	return fmt.Errorf("%s: must be %s, not %s", n.Path(), want, decoding.Found(n.Kind()))
}
