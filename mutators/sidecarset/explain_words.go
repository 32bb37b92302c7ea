package sidecarset

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// all are the SidecarSets in force, in no order, and why the newest version of some is not among them.
func (x *Index) all() (sets []*Compiled, failures map[string]error) {
	failures = x.Failures()
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, f := range x.sets {
		sets = append(sets, x.compiled.of(f))
	}
	return sets, failures
}

// Pinned are the only namespaces whose Pods a SidecarSet in force can select, nil if any. found is false if there is no
// such SidecarSet.
func (x *Index) Pinned(name string) (namespaces []string, found bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f, found := x.sets[name]
	if !found {
		return nil, false
	}
	return x.compiled.of(f).pinned, true
}

func over(pod *podview.Pod) bool {
	return pod.Terminating || pod.Phase == "Succeeded" || pod.Phase == "Failed"
}

func namespaceOf(pod *podview.Pod) string {
	if pod.Namespace == "" {
		return "default"
	}
	return pod.Namespace
}

func (c *Compiled) version() Version { return Version{Hash: c.hash, Revision: c.latestRevision} }

// brings are the names of the containers that it brings into a Pod.
func (c *Compiled) brings() (names []string) {
	for _, s := range c.all {
		for i := range s.instances {
			names = append(names, s.instances[i].template.Name)
		}
	}
	return names
}

// refusalOf is why an error refuses the Pod, "" if it is none or a fault of ours.
func refusalOf(err error) string {
	var refusal *admission.Refusal
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Error()
}

// unmet says what the first requirement that labels do not meet asks for, and what they have instead.
func unmet(requirements labels.Requirements, have map[string]string) string {
	for _, r := range requirements {
		if r.Matches(labels.Set(have)) {
			continue
		}
		if value, ok := have[r.Key()]; ok {
			return fmt.Sprintf("has the label %s=%s, and the selector asks for: %s", r.Key(), value, r.String())
		}
		return fmt.Sprintf("has no label %s, and the selector asks for: %s", r.Key(), r.String())
	}
	return "has other labels"
}
