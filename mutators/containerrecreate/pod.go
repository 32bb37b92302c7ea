package containerrecreate

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/decoding"
	"github.com/fairlead-io/fairlead/internal/jsontree"
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
	containers     map[string]*container
	initContainers map[string]bool
	statuses       map[string]*status
}

// container is a container of the Pod's spec.
type container struct{ *jsontree.Node }

// status is an entry of status.containerStatuses.
type status struct {
	id       string
	restarts int64
}

func parsePod(raw jsontext.Value) (*pod, error) {
	top, err := jsontree.Parse(raw)
	if err != nil {
		return nil, err
	}
	if !top.IsObject() {
		return nil, errors.New("expected an object")
	}
	metadata, spec := top.Object("metadata"), top.Object("spec")
	if metadata == nil || spec == nil {
		return nil, errors.New("it has no metadata or no spec")
	}
	p := &pod{
		name: metadata.TextOf("name"), uid: metadata.TextOf("uid"), node: spec.TextOf("nodeName"),
		deleting:   metadata.Get("deletionTimestamp") != nil,
		containers: make(map[string]*container), initContainers: make(map[string]bool), statuses: make(map[string]*status),
	}
	if period := spec.Get("terminationGracePeriodSeconds"); period != nil {
		p.gracePeriod = period.Bytes()
	}
	for _, c := range objects(spec, "containers") {
		p.containers[c.TextOf("name")] = &container{c}
	}
	for _, c := range objects(spec, "initContainers") {
		p.initContainers[c.TextOf("name")] = true
	}
	return p, p.readStatus(top.Object("status"))
}

func (p *pod) readStatus(from *jsontree.Node) error {
	if from == nil {
		return nil
	}
	p.phase = from.TextOf("phase")
	for _, condition := range objects(from, "conditions") {
		p.sidecarTerminated = p.sidecarTerminated || condition.TextOf("type") == sidecarTerminated
	}
	for _, s := range objects(from, "containerStatuses") {
		restarts := int64(0)
		if count := s.Get("restartCount"); count != nil {
			var err error
			if restarts, err = strconv.ParseInt(string(count.Bytes()), 10, 32); err != nil {
				return fmt.Errorf("reading %s: %w", count.Path(), err)
			}
		}
		p.statuses[s.TextOf("name")] = &status{id: s.TextOf("containerID"), restarts: restarts}
	}
	return nil
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

// preStop is the container's hook, nil if it has none. All of it is kept, hooks of a kind that is newer than this code
// included.
func (c *container) preStop() *jsontree.Node {
	lifecycle := c.Object("lifecycle")
	if lifecycle == nil {
		return nil
	}
	hook := lifecycle.Object("preStop")
	if hook == nil || len(hook.Members()) == 0 {
		return nil
	}
	return hook
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
