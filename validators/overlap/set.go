package overlap

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// set is what comparing SidecarSets takes.
type set struct {
	name, base          string
	selector, namespace *Selector
	claims              []claim
}

// claim is something that a SidecarSet brings under a name.
type claim struct {
	slot
	field string
	// content of a volume, in one spelling.
	content string
	// policy of an annotation.
	policy v1beta1.SidecarSetPatchPolicyType
}

// clashes says whether two SidecarSets that select the same Pods can not both have their way.
func (c claim) clashes(other claim) bool {
	switch c.kind {
	case Volumes:
		return c.content != other.content
	case Annotations:
		retained := func(p v1beta1.SidecarSetPatchPolicyType) bool {
			return p == "" || p == v1beta1.SidecarSetRetainPatchPolicy
		}
		if retained(c.policy) || retained(other.policy) {
			return false
		}
		return c.policy == v1beta1.SidecarSetOverwritePatchPolicy || other.policy == v1beta1.SidecarSetOverwritePatchPolicy
	default:
		return true
	}
}

// meets says whether the two may be injected into one Pod. A SidecarSet never meets itself, nor a canary its base: the
// canary stands in for it. An empty selector selects nothing.
func (s *set) meets(other *set) bool {
	if len(s.selector.demands) == 0 || len(other.selector.demands) == 0 {
		return false
	}
	if s.name == other.name || s.base == other.name || other.base == s.name {
		return false
	}
	return Overlap(s.selector, other.selector) && Overlap(s.namespace, other.namespace)
}

// disagrees says whether the two clash about one name.
func (s *set) disagrees(about slot, theirs claim, other *set) bool {
	return slices.ContainsFunc(s.claims, func(c claim) bool { return c.slot == about && c.clashes(theirs) }) && s.meets(other)
}

// document is the part of a SidecarSet of either version that matters here.
type document struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Selector          *metav1.LabelSelector `json:"selector"`
		Namespace         string                `json:"namespace"`
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
		Containers        []named               `json:"containers"`
		InitContainers    []named               `json:"initContainers"`
		Volumes           []jsontext.Value      `json:"volumes"`
		PatchPodMetadata  []struct {
			Annotations map[string]string                 `json:"annotations"`
			PatchPolicy v1beta1.SidecarSetPatchPolicyType `json:"patchPolicy"`
		} `json:"patchPodMetadata"`
	} `json:"spec"`
}

type named struct {
	Name string `json:"name"`
}

func read(raw jsontext.Value) (*set, error) {
	var d document
	if err := json.Unmarshal(raw, &d, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	s := &set{name: d.Metadata.Name, selector: Read(d.Spec.Selector), namespace: Read(d.Spec.NamespaceSelector)}
	if d.Metadata.Annotations[v1beta1.SidecarSetCanaryAnnotation] == "true" {
		s.base = d.Metadata.Annotations[v1beta1.SidecarSetBaseAnnotation]
	}
	if d.Spec.Namespace != "" { // version v1alpha1, where it wins over a selector
		s.namespace = Read(&metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: d.Spec.Namespace}})
	}
	if s.selector == nil {
		s.selector = &Selector{}
	}
	s.claimContainers(Containers, d.Spec.Containers)
	s.claimContainers(InitContainers, d.Spec.InitContainers)
	if err := s.claimVolumes(d.Spec.Volumes); err != nil {
		return nil, err
	}
	for i, patch := range d.Spec.PatchPodMetadata {
		for key := range patch.Annotations {
			s.claims = append(s.claims, claim{
				slot: slot{Annotations, key}, policy: patch.PatchPolicy,
				field: fmt.Sprintf("spec.patchPodMetadata[%d].annotations[%s]", i, key),
			})
		}
	}
	s.dropRepeats()
	return s, nil
}

// Readable says whether a SidecarSet, as JSON of either version, can be compared with others at all.
func Readable(raw jsontext.Value) bool {
	_, err := read(raw)
	return err == nil
}

// dropRepeats leaves one claim a name: that names repeat is refused elsewhere, and the index counts on it.
func (s *set) dropRepeats() {
	seen := make(map[slot]bool, len(s.claims))
	s.claims = slices.DeleteFunc(s.claims, func(c claim) bool {
		repeated := seen[c.slot]
		seen[c.slot] = true
		return repeated
	})
}

func (s *set) claimContainers(kind Kind, containers []named) {
	for i, c := range containers {
		s.claims = append(s.claims, claim{slot: slot{kind, c.Name}, field: fmt.Sprintf("spec.%s[%d].name", kind, i)})
	}
}

func (s *set) claimVolumes(volumes []jsontext.Value) error {
	for i, raw := range volumes {
		var volume named
		if err := json.Unmarshal(raw, &volume, jsontext.AllowDuplicateNames(true)); err != nil {
			return fmt.Errorf("spec.volumes[%d]: %w", i, err)
		}
		content := raw.Clone()
		if err := content.Canonicalize(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return fmt.Errorf("spec.volumes[%d]: %w", i, err)
		}
		s.claims = append(s.claims, claim{
			slot: slot{Volumes, volume.Name}, content: string(content), field: fmt.Sprintf("spec.volumes[%d].name", i),
		})
	}
	return nil
}
