package cloneset

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/perturb"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// atRest is asked when nothing is left to do: there is what the CloneSet asks for, and its status says so (I13, I14).
func atRest(s *apiserver.Server) error {
	set := theSet(s)
	if set == nil {
		return orphans(s, nil)
	}
	pods, at := activePods(s), templates(s)
	if err := countAtRest(set, pods); err != nil {
		return err
	}
	updated := 0
	for _, pod := range pods {
		if err := podAtRest(set, pod); err != nil {
			return err
		}
		if asked(set, pod) && !isHeldUp(set, pods) {
			return fmt.Errorf("the Pod %s is still to be deleted", pod.Name)
		}
		if at[pod.Labels[appsv1.ControllerRevisionHashLabelKey]] == fingerprint(&set.Spec.Template) {
			updated++
		}
	}
	rolls := set.Spec.UpdateStrategy.Type == v1beta1.RollingUpdateCloneSetUpdateStrategyType
	if most := len(pods) - partition(set); rolls && updated < most && !isHeldUp(set, pods) {
		return fmt.Errorf("%d Pods are updated, %d should be", updated, most)
	}
	if len(set.Spec.ScaleStrategy.PodsToDelete) > 0 && !isHeldUp(set, pods) {
		return fmt.Errorf("podsToDelete still names %v", set.Spec.ScaleStrategy.PodsToDelete)
	}
	if err := statusAtRest(set, pods, updated); err != nil {
		return err
	}
	return orphans(s, set)
}

// isHeldUp tells whether what is to be done may have to wait: while it is paused there is no surge, without which no Pod
// may go if none may be unavailable, and none may go for new ones that do not work.
func isHeldUp(set *v1beta1.CloneSet, pods perturb.Pods) bool {
	return set.Spec.UpdateStrategy.RollingUpdate.Paused || slices.ContainsFunc(pods, isBroken)
}

func isBroken(pod *corev1.Pod) bool {
	return strings.Contains(pod.Spec.Containers[0].Image, perturb.Broken)
}

// countAtRest is that there are as many Pods as replicas, and more only while an update waits for ever.
func countAtRest(set *v1beta1.CloneSet, pods perturb.Pods) error {
	n := int(*set.Spec.Replicas)
	if len(pods) < n || len(pods) > n && !isHeldUp(set, pods) {
		return fmt.Errorf("%d Pods instead of %d", len(pods), n)
	}
	return nil
}

// podAtRest is that a Pod serves, unless its image is broken, or its update is prepared and paused then.
func podAtRest(set *v1beta1.CloneSet, pod *corev1.Pod) error {
	waits := set.Spec.UpdateStrategy.RollingUpdate.Paused && pod.Labels[v1beta1.LifecycleStateLabel] == string(v1beta1.LifecycleStatePreparingUpdate)
	if !isBroken(pod) && !waits && !serves(pod) {
		return fmt.Errorf("the Pod %s does not serve: labels %v, conditions %v", pod.Name, pod.Labels, pod.Status.Conditions)
	}
	return nil
}

func statusAtRest(set *v1beta1.CloneSet, pods perturb.Pods, updated int) error {
	s := set.Status
	serving, ready := int32(available(pods)), int32(0)
	for _, pod := range pods {
		normal := pod.DeepCopy()
		delete(normal.Labels, v1beta1.LifecycleStateLabel)
		if serves(normal) {
			ready++ // whatever the state of its lifecycle
		}
	}
	got := []int32{s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedReplicas}
	want := []int32{int32(len(pods)), ready, serving, int32(updated)}
	if !slices.Equal(got, want) {
		return fmt.Errorf("I13: the status counts %v instead of %v (replicas, ready, available, updated)", got, want)
	}
	if s.ObservedGeneration != set.Generation {
		return fmt.Errorf("I13: the status is of generation %d, the spec of %d", s.ObservedGeneration, set.Generation)
	}
	for _, c := range s.Conditions {
		if strings.HasPrefix(string(c.Type), "Failed") && c.Status == corev1.ConditionTrue || strings.Contains(c.Message, "modified") {
			return fmt.Errorf("I13: condition %s is %s: %s", c.Type, c.Status, c.Message)
		}
	}
	return nil
}

// orphans are objects that their owner has left behind (I14).
func orphans(s *apiserver.Server, set *v1beta1.CloneSet) error {
	if key, has := s.Orphan(); has {
		return fmt.Errorf("I14: %s is left behind", key)
	}
	ids := map[string]bool{}
	for _, pod := range s.Pods() {
		ids[pod.Labels[v1beta1.CloneSetInstanceIDLabel]] = true
	}
	for _, c := range s.All(claimKind) {
		if len(c.GetOwnerReferences()) == 0 || c.GetDeletionTimestamp() != nil {
			continue // somebody else's, of a name that one of ours would have had; or about to go
		}
		if set != nil && set.Spec.ScaleStrategy.EnablePVCReuse {
			continue // it waits for the next Pod
		}
		if metav1.GetControllerOfNoCopy(c) == nil {
			continue // it goes with its Pod
		}
		if set == nil || !ids[c.GetLabels()[v1beta1.CloneSetInstanceIDLabel]] {
			return fmt.Errorf("I14: claim %s has no Pod", c.GetName())
		}
	}
	return nil
}

// digest is what two runs have to agree on: Pods by what they run and whether they serve, revisions in their order, what
// the status says but for names.
func digest(s *apiserver.Server) string {
	set := theSet(s)
	if set == nil {
		return "no CloneSet"
	}
	at := templates(s)
	var lines []string
	for _, pod := range activePods(s) {
		runs := fingerprint(&corev1.PodTemplateSpec{Spec: pod.Spec})
		lines = append(lines, fmt.Sprintf("Pod runs %s, is at %s, serves: %v", runs, at[pod.Labels[appsv1.ControllerRevisionHashLabelKey]], serves(pod)))
	}
	slices.Sort(lines)
	lines = append(lines, fmt.Sprintf("%d claims", claimsOf(s, activePods(s))), "template "+fingerprint(&set.Spec.Template))
	st := set.Status
	return strings.Join(append(lines, fmt.Sprintf("status: current %s, update %s, %d of %d updated, %d expected",
		at[st.CurrentRevision], at[st.UpdateRevision], st.UpdatedReplicas, st.Replicas, st.ExpectedUpdatedReplicas)), "\n")
}

// claimsOf are the claims of these Pods: one that ended and is still there keeps its own.
func claimsOf(s *apiserver.Server, pods perturb.Pods) (n int) {
	for _, c := range s.All(claimKind) {
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return pod.Labels[v1beta1.CloneSetInstanceIDLabel] == c.GetLabels()[v1beta1.CloneSetInstanceIDLabel]
		}) {
			n++
		}
	}
	return n
}
