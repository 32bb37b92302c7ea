package cloneset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/perturb"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// check is asked after each write of the controller: I1 to I3, and that deletions name what they delete.
func check(w *perturb.Write) error {
	if w.Verb == "delete" && (w.Options.Preconditions == nil || w.Options.Preconditions.UID == nil) {
		return errors.New("a deletion without the UID of what it deletes")
	}
	if w.Key.Kind != setKind && ended(w.Parents) {
		return errors.New("it acts for a CloneSet that is being deleted")
	}
	if w.Key.Kind != apiserver.PodKind {
		return nil
	}
	var wrong error
	for _, obj := range slices.Backward(w.Parents) {
		// The controller may have acted on any version that it could not know to be old.
		if wrong = checkFor(w, obj.(*v1beta1.CloneSet)); wrong == nil {
			return nil
		}
	}
	return wrong
}

// ended tells whether the controller knew that the CloneSet was being deleted.
func ended(versions []client.Object) bool {
	return len(versions) > 0 && !slices.ContainsFunc(versions, func(obj client.Object) bool { return obj.GetDeletionTimestamp() == nil })
}

func checkFor(w *perturb.Write, set *v1beta1.CloneSet) error {
	n, r := int(*set.Spec.Replicas), set.Spec.UpdateStrategy.RollingUpdate
	surge := percent(r.MaxSurge, n, math.Ceil)
	if r.Paused {
		surge = 0
	}
	round := math.Ceil
	if surge > 0 {
		round = math.Floor
	}
	before, after := available(of(set, w.Before)), available(of(set, w.After))
	if least := n - percent(r.MaxUnavailable, n, round); after < before && after < least && after+w.Disrupted(servesUs) < least {
		return fmt.Errorf("I1: %d Pods are available after it, at least %d must be", after, least)
	}
	active := of(set, w.After)
	if counted := counted(set, active); w.Verb == "create" && len(counted) > n+surge {
		return fmt.Errorf("I2: there are %d Pods after it, at most %d may be", len(counted), n+surge)
	}
	return checkPartition(w, set, active)
}

// counted leaves out Pods that are to be replaced before they are gone.
func counted(set *v1beta1.CloneSet, pods perturb.Pods) perturb.Pods {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return set.Spec.ScaleStrategy.ExcludePreparingDelete && pod.Labels[v1beta1.LifecycleStateLabel] == string(v1beta1.LifecycleStatePreparingDelete)
	})
}

// checkPartition is I3. Before the first rollout, and after one, there is no old revision to keep Pods at.
func checkPartition(w *perturb.Write, set *v1beta1.CloneSet, active perturb.Pods) error {
	at := templates(w.Server)
	target := fingerprint(&set.Spec.Template)
	if at[set.Status.CurrentRevision] == target || at[set.Status.CurrentRevision] == "" {
		return nil
	}
	updated := func(pods perturb.Pods) (n int) {
		for _, pod := range pods {
			if !asked(set, pod) && at[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] == target {
				n++
			}
		}
		return n
	}
	most := int(*set.Spec.Replicas) - partition(set)
	if n := updated(active); n > updated(of(set, w.Before)) && n > most {
		return fmt.Errorf("I3: %d Pods are at the new revision after it, at most %d may be", n, most)
	}
	return nil
}

// asked tells whether a Pod is to be deleted, by either of the ways to ask for that.
func asked(set *v1beta1.CloneSet, pod *corev1.Pod) bool {
	_, labelled := pod.Labels[v1beta1.SpecifiedDeleteLabel]
	return labelled || slices.Contains(set.Spec.ScaleStrategy.PodsToDelete, pod.Name)
}

func partition(set *v1beta1.CloneSet) int {
	n, p := int(*set.Spec.Replicas), set.Spec.UpdateStrategy.RollingUpdate.Partition
	kept := min(percent(p, n, math.Ceil), n)
	if kept == n && n > 1 && p.Type == intstr.String && p.StrVal != "100%" {
		return n - 1 // less than all is not all
	}
	return kept
}

// percent is an amount of n.
func percent(a *intstr.IntOrString, n int, round func(float64) float64) int {
	if a.Type == intstr.Int {
		return int(a.IntVal)
	}
	return int(round(float64(number(strings.TrimSuffix(a.StrVal, "%"))) * float64(n) / 100))
}

// of are the Pods that count of a CloneSet.
func of(set *v1beta1.CloneSet, pods perturb.Pods) perturb.Pods {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		ended := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		owner := metav1.GetControllerOfNoCopy(pod)
		return ended || owner == nil || owner.UID != set.UID || pod.Labels["app"] != "web"
	})
}

func available(pods perturb.Pods) (n int) {
	for _, pod := range pods {
		if serves(pod) {
			n++
		}
	}
	return n
}

// serves tells whether a Pod is available: it runs, is ready, is not being updated in place, and in no state of the
// lifecycle but Normal.
func serves(pod *corev1.Pod) bool {
	state := pod.Labels[v1beta1.LifecycleStateLabel]
	status := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range pod.Status.Conditions {
		status[c.Type] = c.Status
	}
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && (state == "" || state == "Normal") &&
		status[corev1.PodReady] == corev1.ConditionTrue && status["InPlaceUpdateReady"] != corev1.ConditionFalse
}

// servesUs is that, of a Pod that nobody has taken out of the selector.
func servesUs(pod *corev1.Pod) bool { return serves(pod) && pod.Labels["app"] == "web" }

// fingerprint tells templates apart by what the edits change of them.
func fingerprint(t *corev1.PodTemplateSpec) string {
	var text []string
	for _, c := range t.Spec.Containers {
		text = append(text, c.Image)
		for _, e := range c.Env {
			text = append(text, e.Name+"="+e.Value)
		}
	}
	if t.Labels[hold] != "" {
		text = append(text, "held")
	}
	text = append(text, t.Finalizers...)
	return strings.Join(text, " ")
}

// templates are the fingerprints of the CloneSet's revisions by name.
func templates(s *apiserver.Server) map[string]string {
	all := map[string]string{}
	for _, obj := range s.All(revisionKind) {
		var data struct {
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if json.Unmarshal(obj.(*appsv1.ControllerRevision).Data.Raw, &data) == nil && len(obj.GetOwnerReferences()) > 0 {
			all[obj.GetName()] = fingerprint(&data.Spec.Template)
		}
	}
	return all
}

func theSet(s *apiserver.Server) *v1beta1.CloneSet {
	obj, err := s.Get(parent)
	if err != nil {
		return nil
	}
	return obj.(*v1beta1.CloneSet)
}

func activePods(s *apiserver.Server) perturb.Pods {
	set := theSet(s)
	if set == nil {
		return nil
	}
	return of(set, s.Pods())
}
