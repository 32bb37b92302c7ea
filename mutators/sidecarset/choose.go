package sidecarset

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// olderVersion says that Pods get an older version of a SidecarSet, and which Pods (sidecarset.md §4.3).
type olderVersion struct {
	wanted
	// all Pods get it; else those that selector, if there is one, does not match, and share of the others.
	all      bool
	selector labels.Selector
	share    float64
}

type olderVersionDocument struct {
	CustomVersion string `json:"customVersion"`
	RevisionName  string `json:"revisionName"`
	Policy        string `json:"policy"`
}

type updateStrategyDocument struct {
	Paused    bool                  `json:"paused"`
	Selector  *metav1.LabelSelector `json:"selector"`
	Partition *intstr.IntOrString   `json:"partition"`
}

// compileOlderVersion is nil if Pods get the current version.
func compileOlderVersion(sidecarSet string, spec *documentSpec) (*olderVersion, error) {
	doc, update := spec.InjectionStrategy.Revision, &spec.UpdateStrategy
	if doc.RevisionName == "" && doc.CustomVersion == "" {
		return nil, nil
	}
	v := &olderVersion{wanted: wanted{sidecarSet: sidecarSet, name: doc.RevisionName, version: doc.CustomVersion}}
	if v.name != "" { // wins, so that the version is no part of the question
		v.version = ""
	}
	if v.all = update.Paused || doc.Policy != "Partial"; v.all {
		return v, nil
	}
	var err error
	if update.Selector != nil {
		if v.selector, err = metav1.LabelSelectorAsSelector(update.Selector); err != nil {
			return nil, fmt.Errorf("spec.updateStrategy.selector: %w", err)
		}
	}
	if p := update.Partition; p != nil && p.Type == intstr.String {
		percent, err := intstr.GetScaledValueFromIntOrPercent(p, 100, true)
		if err != nil {
			return nil, fmt.Errorf("spec.updateStrategy.partition: %w", err)
		}
		v.share = float64(percent) / 100
	}
	return v, nil
}

// choose is the version of a SidecarSet that the Pod gets.
func (in *injection) choose(ctx context.Context, set *Compiled) (*Compiled, error) {
	v := set.older
	if v == nil {
		return set, nil
	}
	older, err := in.m.revisions.restore(ctx, v.wanted)
	if err != nil {
		return nil, err
	}
	if v.all || v.selector != nil && !v.selector.Matches(labels.Set(in.pod.Labels)) {
		return older, nil
	}
	if v.share == 0 {
		return set, nil
	}
	had, err := in.had(older, set)
	if err != nil {
		return nil, decodeError(err)
	}
	if had != nil {
		return had, nil
	}
	if in.m.revisions.random() < v.share {
		return older, nil
	}
	return set, nil
}

// had is the version that the Pod came with, nil if it is none of these. The API server asks again after other webhooks,
// and the lots must not be cast anew then.
func (in *injection) had(versions ...*Compiled) (*Compiled, error) {
	hashes, err := readRecords(in.pod, v1beta1.SidecarSetHashAnnotation)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		fields, _ := hashes.of(v.name)
		if fields.Hash != v.hash || fields.ControllerRevision != v.latestRevision {
			continue
		}
		if there, err := in.hasAny(v); err != nil || there {
			return v, err
		}
	}
	return nil, nil
}

// hasAny tells whether the Pod came with a sidecar of the SidecarSet.
func (in *injection) hasAny(set *Compiled) (bool, error) {
	for _, s := range set.all {
		for i := range s.instances {
			if there, err := in.injectedBefore(s.list, s.instances[i].template.Name); err != nil || there {
				return there, err
			}
		}
	}
	return false, nil
}
