package sidecarset

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/resourceexpr"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// apportion gives containers of a sidecar the resources that its policy computes for this Pod, in place of those that
// the SidecarSet gives them. A policy that cannot be followed refuses the Pod with 422.
func (in *injection) apportion(set *Compiled, s *sidecar, from *podview.Container) (*podview.Container, error) {
	limits, requests, err := in.compute(set, s)
	if err != nil {
		return nil, err
	}
	own, err := member(from.JSON(), "resources")
	if err != nil {
		return nil, err
	}
	resources := jsontext.Value{'{'}
	if own != nil && own.Kind() == jsontext.KindBeginObject { // claims stay
		if resources, err = editObject(own, []string{"limits", "requests"}); err != nil {
			return nil, err
		}
		resources = resources[:len(resources)-1]
	}
	if len(limits) > 0 {
		resources = appendMember(resources, "limits", limits.encode())
	}
	if len(requests) > 0 {
		resources = appendMember(resources, "requests", requests.encode())
	}
	raw, err := editObject(from.JSON(), []string{"resources"}, "resources", append(resources, '}'))
	if err != nil {
		return nil, err
	}
	return podview.NewContainer(raw)
}

// compute evaluates a sidecar's policy. A limit that one of the targets lacks is none: it could not hold the sidecar to a
// share of something without bounds.
func (in *injection) compute(set *Compiled, s *sidecar) (limits, requests amounts, err error) {
	if s.resources.broken == nil {
		limits, requests, err = in.evaluate(s.resources)
	} else {
		err = s.resources.broken
	}
	var about *policyError
	if errors.As(err, &about) {
		return nil, nil, admission.Refuse(422, "SidecarSet %s: container %s: resourcesPolicy%v", set.name, s.name, about)
	}
	return limits, requests, err
}

func (in *injection) evaluate(p *resourcesPolicy) (limits, requests amounts, err error) {
	targets, err := in.targetsOf(p)
	if err != nil {
		return nil, nil, err
	}
	limits, requests = amounts{}, amounts{}
	for _, e := range p.limits {
		total, bounded := p.aggregate(targets, limitsOf, e.resource)
		if !bounded {
			continue
		}
		if limits[e.resource], err = e.evaluate(total); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range p.requests {
		total, _ := p.aggregate(targets, requestsOf, e.resource)
		request, err := e.evaluate(total)
		if err != nil {
			return nil, nil, err
		}
		// The API server would refuse the Pod too, without a word of where the container comes from.
		if limit, bounded := limits[e.resource]; bounded && request.Cmp(limit) > 0 {
			return nil, nil, e.wrong("gives %v, more than the limit of %v; make it no larger than resourcesExpr.limits.%s", &request, &limit, e.resource)
		}
		requests[e.resource] = request
	}
	return limits, requests, nil
}

func (e *expression) evaluate(total resource.Quantity) (resource.Quantity, error) {
	q, err := e.parsed.Evaluate(e.resource, total)
	if err != nil {
		return q, e.wrong("with %s = %v: %w; correct the expression", e.resource, &total, err)
	}
	return q, nil
}

// targetsOf are the containers of the Pod that a policy counts, at least one.
func (in *injection) targetsOf(p *resourcesPolicy) (matching []target, err error) {
	all, err := in.allTargets()
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if p.targets.MatchString(t.name) {
			matching = append(matching, t)
		}
	}
	if len(matching) == 0 {
		return nil, wrong(".targetContainersNameRegex %q matches no container of the Pod that is not a sidecar; "+
			"correct it, or remove it to count every container", p.targets)
	}
	return matching, nil
}

// encode writes a resource list.
func (a amounts) encode() jsontext.Value {
	out := jsontext.Value{'{'}
	for _, r := range [...]resourceexpr.Resource{resourceexpr.CPU, resourceexpr.Memory} {
		if q, ok := a[r]; ok {
			out = appendMember(out, string(r), jsontree.Quote(q.String()))
		}
	}
	return append(out, '}')
}
