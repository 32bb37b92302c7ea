package sidecarset

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// compileSelectors reads the selectors. A selector that is missing or empty matches nothing, a namespaceSelector that is
// missing everything (sidecarset.md §4.1).
func (c *Compiled) compileSelectors(spec *documentSpec) (err error) {
	c.selector = labels.Nothing()
	if s := spec.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		if c.selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
	}
	if spec.Namespace != "" { // wins over a namespaceSelector, as in the conversion to v1beta1
		spec.NamespaceSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: spec.Namespace},
		}
	}
	if spec.NamespaceSelector == nil {
		return nil
	}
	if c.namespaceSelector, err = metav1.LabelSelectorAsSelector(spec.NamespaceSelector); err != nil {
		return fmt.Errorf("spec.namespaceSelector: %w", err)
	}
	c.pinned = pins(c.namespaceSelector)
	return nil
}

// pins are the only namespaces that a namespaceSelector can match, nil if it does not ask for names.
func pins(selector labels.Selector) []string {
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if r.Key() == corev1.LabelMetadataName {
			if values := allowed(r); values != nil {
				return values
			}
		}
	}
	return nil
}

// allowed is the sorted set of the values that a requirement lists, nil if it does not list what it wants.
func allowed(r labels.Requirement) []string {
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		values := slices.Clone(r.ValuesUnsorted())
		slices.Sort(values)
		return slices.Compact(values)
	default:
		return nil
	}
}
