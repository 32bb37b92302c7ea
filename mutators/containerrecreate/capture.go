package containerrecreate

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// captured are the members of a container that only the capture may write: users who chose them could have any
// instance stopped, or none.
var captured = []string{"preStop", "ports", "statusContext"}

// captureContainers judges and completes the containers in their order.
func (r *request) captureContainers(p *pod) error {
	containers := r.spec.Get("containers")
	if containers == nil {
		return nil // there is nothing to capture; that there must be one is a rule of the field
	}
	seen := make(map[string]bool)
	for _, c := range containers.Elements() {
		if !c.IsObject() {
			return undecodable(mismatch(c, "an object"))
		}
		name := c.TextOf("name")
		if seen[name] {
			return admission.Refuse(400, "%s.name: Duplicate value: %q: a container is restarted once in a request", c.Path(), name)
		}
		seen[name] = true
		for _, member := range captured {
			if c.Get(member) != nil {
				return admission.Refuse(400, "%s.%s: Forbidden: it is filled in from the Pod; leave it out", c.Path(), member)
			}
		}
		if err := captureContainer(c, name, p); err != nil {
			return err
		}
	}
	return nil
}

func captureContainer(c *jsontree.Node, name string, p *pod) error {
	spec, status := p.container(name), p.status(name)
	switch {
	case name == "":
		return admission.Refuse(400, "%s.name: Required value: name a container of Pod %q", c.Path(), p.name)
	case slices.Contains(p.initContainers, name):
		return admission.Refuse(400, "%s.name: Invalid value: %q: it is an init container of Pod %q, and has no status among the containers that can be restarted", c.Path(), name, p.name)
	case spec == nil:
		return admission.Refuse(400, "%s.name: Not found: Pod %q has no container %q", c.Path(), p.name, name)
	case status == nil:
		return admission.Refuse(400, "%s.name: Invalid value: %q: Pod %q has no status of that container yet; wait until it has started", c.Path(), name, p.name)
	case status.id == "":
		return admission.Refuse(400, "%s.name: Invalid value: %q: that container of Pod %q has never started: its status has no containerID; wait until it has", c.Path(), name, p.name)
	}
	if spec.preStop != nil {
		c.Set("preStop", spec.preStop)
		// A port's name means nothing without the container's ports; no other hook needs them.
		if spec.ports != nil && spec.asksHTTP {
			c.Set("ports", spec.ports)
		}
	}
	c.Set("statusContext", status.context())
	return nil
}

// captureStrategy fills in what the daemon would otherwise have to read from a Pod that may have changed.
func (r *request) captureStrategy(p *pod) {
	strategy, err := object(r.spec, "strategy")
	if err != nil {
		return // parse has seen it
	}
	if policy := strategy.Get("failurePolicy"); policy == nil || string(policy.Bytes()) == `""` {
		strategy.Set("failurePolicy", jsontree.Quote(string(v1beta1.ContainerRecreateRequestFailurePolicyFail)))
	}
	if strategy.Get("terminationGracePeriodSeconds") == nil && p.gracePeriod != nil {
		strategy.Set("terminationGracePeriodSeconds", p.gracePeriod)
	}
}

// virtualKubelet is the label by which a provider of virtual nodes finds its requests.
const virtualKubeletKey, virtualKubelet = "type", "virtual-kubelet"

// label writes the labels that the daemons and the controller select by, whatever the user put there.
func (r *request) label(p *pod, nodeLabels map[string]string) {
	labels, err := object(r.metadata, "labels")
	if err != nil {
		return // parse has seen it
	}
	put := func(key, value string) {
		if old := labels.Get(key); old == nil || old.Text() != value {
			labels.Set(key, jsontree.Quote(value))
		}
	}
	put(v1beta1.ContainerRecreateRequestActiveLabel, "true")
	put(v1beta1.ContainerRecreateRequestNodeNameLabel, NodeLabelValue(p.node))
	put(v1beta1.ContainerRecreateRequestPodUIDLabel, p.uid)
	if nodeLabels[virtualKubeletKey] == virtualKubelet {
		put(virtualKubeletKey, virtualKubelet)
	}
}

// context is the status as the request keeps it.
func (s *status) context() jsontext.Value {
	out := append(jsontext.Value(`{"containerID":`), jsontree.Quote(s.id)...)
	out = append(out, `,"restartCount":`...)
	return append(strconv.AppendInt(out, s.restarts, 10), '}')
}
