package cloneset

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podtemplate"
	"github.com/fairlead-io/fairlead/controllers/podset/revision"
	"github.com/fairlead-io/fairlead/controllers/podset/volumeclaim"
	"github.com/fairlead-io/fairlead/internal/features"
)

// NewPod is a Pod to create, after the claims that it mounts.
type NewPod struct {
	Pod    *corev1.Pod
	Claims []*corev1.PersistentVolumeClaim
	// Err is why it must not be created.
	Err error
}

// templateHashLabel of a Pod has the hash of its revision, in whichever form the revision label is.
const templateHashLabel = "pod-template-hash"

func podName(set *v1beta1.CloneSet, id string) string { return set.Name + "-" + id }

func recordedTemplate(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	template, err := revision.Template(r.Data.Raw)
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", r.Name, err)
	}
	return template, nil
}

// notOurs is an error about a Pod that the selector does not match. Admission lets no such CloneSet pass, but it may have been away:
// the Pod would be released as soon as it is there, and created again, without end.
func notOurs(pod *corev1.Pod, selector labels.Selector) error {
	if selector.Matches(labels.Set(pod.Labels)) {
		return nil
	}
	return fmt.Errorf("creating Pod %s: spec.selector (%s) does not match the labels of the template: change either", pod.Name, selector)
}

// tooLong is an error about a revision whose name Pods cannot have as a label. It is a CloneSet's name with a hash.
func (p *planner) tooLong(at *appsv1.ControllerRevision) error {
	if p.settings.ShortHash || revision.FitsLabel(at.Name) {
		return nil
	}
	return fmt.Errorf("the revision's name, %s, is too long for the label %s of a Pod, which holds %d characters: turn on the feature gate %s, or give the CloneSet a shorter name",
		at.Name, appsv1.ControllerRevisionHashLabelKey, validation.LabelValueMaxLength, features.CloneSetShortHash)
}

// newPod makes a Pod at a revision (cloneset.md §3.4). All but the template is as the CloneSet says now.
func (p *planner) newPod(at *appsv1.ControllerRevision, id string) (NewPod, error) {
	template, err := p.templateOf(at)
	if err != nil {
		return NewPod{}, err
	}
	owner := *metav1.NewControllerRef(p.set, kind)
	pod := podtemplate.New(template, p.set.Namespace, owner)
	pod.Name, pod.GenerateName = podName(p.set, id), p.set.Name+"-"
	maps.Copy(pod.Labels, p.revisionLabels(at))
	pod.Labels[v1beta1.CloneSetInstanceIDLabel] = id
	pod.Labels[v1beta1.LifecycleStateLabel] = string(v1beta1.LifecycleStatePreparingNormal)
	pod.Annotations[v1beta1.LifecycleTimestampAnnotation] = timestamp(p.now)
	podtemplate.AddGate(pod, v1beta1.InPlaceUpdateReady)
	templates := p.set.Spec.VolumeClaimTemplates
	pod.Spec.Volumes = volumeclaim.Volumes(template.Spec.Volumes, templates, pod.Name)
	made := NewPod{Pod: pod}
	for i := range templates {
		if c := p.newClaim(&templates[i], id); !p.hasClaim(c.Name) {
			made.Claims = append(made.Claims, c)
		}
	}
	return made, nil
}

// newClaim is the claim of the Pod with an id, by a template.
func (p *planner) newClaim(template *corev1.PersistentVolumeClaim, id string) *corev1.PersistentVolumeClaim {
	labels := map[string]string{}
	maps.Copy(labels, p.set.Spec.Selector.MatchLabels)
	labels[v1beta1.CloneSetInstanceIDLabel] = id
	return volumeclaim.New(template, p.set.Namespace, podName(p.set, id), labels, *metav1.NewControllerRef(p.set, kind))
}

func (p *planner) hasClaim(name string) bool {
	return slices.ContainsFunc(p.seen.claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == name })
}

// revisionLabels say which revision a Pod is at.
func (p *planner) revisionLabels(at *appsv1.ControllerRevision) map[string]string {
	hash := revision.ShortHash(at.Name)
	labels := map[string]string{appsv1.ControllerRevisionHashLabelKey: at.Name, templateHashLabel: hash}
	if p.settings.ShortHash {
		labels[appsv1.ControllerRevisionHashLabelKey] = hash
	}
	return labels
}

func idsOf(pods []*corev1.Pod) map[string]bool {
	ids := make(map[string]bool, len(pods))
	for _, pod := range pods {
		ids[pod.Labels[v1beta1.CloneSetInstanceIDLabel]] = true
	}
	return ids
}

// ids gives each call another id for a new Pod: first the free ones, then new ones.
func (p *planner) ids(free []string, used map[string]bool) func() string {
	return func() string {
		if len(free) > 0 {
			id := free[0]
			free = free[1:]
			return id
		}
		for {
			if id := p.newID(); !used[id] {
				used[id] = true
				return id
			}
		}
	}
}

// planUnmade has Pods whose creation failed made under their ids, as far as Pods are missing. Their claims may be there
// already, and would be left over. And if a creation was carried out although its answer was an error, or is yet to be,
// the second one is refused.
func (p *planner) planUnmade() {
	p.plan.Unmade = p.seen.unmade[:min(len(p.seen.unmade), p.calculateScale().Need)]
}

// knownIDs are all that are in use, and those among them that are free for new Pods: of Pods that were not made, and of
// claims that have no Pod any more and are to be reused.
func (p *planner) knownIDs() (free []string, used map[string]bool) {
	used = idsOf(p.seen.pods.Active)
	maps.Copy(used, idsOf(p.seen.pods.Inactive))
	maps.Copy(used, idsOf(p.seen.pods.Release))
	for _, id := range p.plan.Unmade {
		used[id] = true
		free = append(free, id)
	}
	for _, c := range p.seen.claims {
		id := c.Labels[v1beta1.CloneSetInstanceIDLabel]
		if id == "" || used[id] {
			continue
		}
		used[id] = true
		if p.set.Spec.ScaleStrategy.EnablePVCReuse && !slices.Contains(p.seen.ended, id) && !p.seen.takenNames[podName(p.set, id)] {
			free = append(free, id)
		}
	}
	return free, used
}
