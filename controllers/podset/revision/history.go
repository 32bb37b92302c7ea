package revision

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// HashLabel is the label of a ControllerRevision with its hash.
const HashLabel = "controller.kubernetes.io/hash"

// maxOwnerName is how much of the workload's name its revisions' names have: the rest of the 253 bytes of a name is
// for the hash.
const maxOwnerName = 223

// Owner is the workload whose history it is.
type Owner struct {
	Object metav1.Object
	Kind   schema.GroupVersionKind
	// Template is the one in the workload now.
	Template *corev1.PodTemplateSpec
	// Annotations are put on new revisions, beside a copy of the workload's own.
	Annotations map[string]string
	// HashLabel is where a revision says its hash; "" is HashLabel.
	HashLabel string
}

// Sort puts the oldest first: by number, then age, then name.
func Sort(revisions []*appsv1.ControllerRevision) {
	slices.SortStableFunc(revisions, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// Step says what has to be written before the update revision is right.
type Step int

// The steps.
const (
	// Keep writes nothing: the newest revision is it.
	Keep Step = iota
	// Renumber makes an older revision the newest: the template was put back.
	Renumber
	// Create makes a new one.
	Create
)

// Update is the revision of the present template: the existing one, or the one to create. The revision is never one of
// those given but a copy.
type Update struct {
	Revision *appsv1.ControllerRevision
	Step     Step
}

// Find looks for the owner's template in its sorted history. Revisions are the same if they mean the same template,
// whatever release of whose controller wrote them: a difference in spelling must not be a rollout.
func Find(owner Owner, sorted []*appsv1.ControllerRevision, collisions int32) (Update, error) {
	data, err := Data(owner.Template)
	if err != nil {
		return Update{}, err
	}
	next := int64(1)
	if len(sorted) > 0 {
		newest := sorted[len(sorted)-1]
		next = newest.Revision + 1
		if bytes.Equal(newest.Data.Raw, data) {
			return Update{Revision: newest.DeepCopy()}, nil
		}
	}
	candidate := owner.revision(data, next, collisions)
	for i, r := range slices.Backward(sorted) {
		if !equal(r.Data.Raw, data) {
			continue
		}
		found := Update{Revision: r.DeepCopy()}
		if i < len(sorted)-1 {
			found.Step = Renumber
			found.Revision.Revision = next
			found.Revision.Annotations = merged(r.Annotations, owner.Annotations)
		}
		return found, nil
	}
	return Update{Revision: candidate, Step: Create}, nil
}

func equal(recorded, data []byte) bool {
	if bytes.Equal(recorded, data) {
		return true
	}
	canonical, err := meaning(recorded)
	return err == nil && canonical == string(data) // one that cannot be read is not this template
}

func (o Owner) revision(data []byte, number int64, collisions int32) *appsv1.ControllerRevision {
	hash := Hash(data, collisions)
	label := cmp.Or(o.HashLabel, HashLabel)
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       o.Object.GetNamespace(),
			Name:            Name(o.Object.GetName(), hash),
			Labels:          merged(o.Template.Labels, map[string]string{label: hash}),
			Annotations:     merged(o.Object.GetAnnotations(), o.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o.Object, o.Kind)},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}

// Same tells whether two revisions record one template.
func Same(a, b *appsv1.ControllerRevision) bool {
	if bytes.Equal(a.Data.Raw, b.Data.Raw) {
		return true
	}
	canonical, err := meaning(b.Data.Raw)
	return err == nil && equal(a.Data.Raw, []byte(canonical))
}

// Name is that of an owner's revision.
func Name(owner, hash string) string { return owner[:min(len(owner), maxOwnerName)] + "-" + hash }

// ShortHash is what follows the last dash of a revision's name: the hash, which has none.
func ShortHash(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// FitsLabel tells whether a revision's name, and not only its hash, may be the value of a label.
func FitsLabel(name string) bool { return len(name) <= validation.LabelValueMaxLength }

// Matches tells whether a Pod's revision label names the revision, by its name or its hash: both forms are in use, and
// switching between them must not be a rollout.
func Matches(label, name string) bool {
	return label != "" && (label == name || ShortHash(label) == ShortHash(name))
}

// Of is the revision that a Pod is at, nil if the history does not have it.
func Of(pod *corev1.Pod, revisions []*appsv1.ControllerRevision) *appsv1.ControllerRevision {
	return Named(pod.Labels[appsv1.ControllerRevisionHashLabelKey], revisions)
}

// Named is the revision that a Pod's revision label names, nil if the history does not have it.
func Named(label string, revisions []*appsv1.ControllerRevision) *appsv1.ControllerRevision {
	i := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return Matches(label, r.Name) })
	if i < 0 {
		return nil
	}
	return revisions[i]
}

// Surplus are the revisions to delete from a sorted history, oldest first: of those that are not live, all beyond
// limit.
func Surplus(sorted []*appsv1.ControllerRevision, live func(*appsv1.ControllerRevision) bool, limit int) []*appsv1.ControllerRevision {
	dead := slices.DeleteFunc(slices.Clone(sorted), live)
	return dead[:max(len(dead)-max(limit, 0), 0)]
}

// merged copies: maps of cached objects are shared.
func merged(a, b map[string]string) map[string]string {
	all := make(map[string]string, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
