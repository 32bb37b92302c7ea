package podunavailablebudget

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/podstate"
)

// Related is the name of the budget that a Pod with these annotations is under, "" if it is under none.
func Related(annotations map[string]string) string {
	return cmp.Or(annotations[policyv1beta1.PubRelatedAnnotation], annotations[policyv1beta1.PubRelatedLegacyAnnotation])
}

// Exempt tells whether the annotations take the Pod out of every budget, for a forced deletion.
func Exempt(annotations map[string]string) bool {
	exempt, err := strconv.ParseBool(annotations[policyv1beta1.PubNoProtectAnnotation])
	return err == nil && exempt
}

// MarkedUnavailable tells whether a label says that the Pod is unavailable although it is Ready.
func MarkedUnavailable(labels map[string]string) bool {
	for key := range labels {
		if strings.HasPrefix(key, policyv1beta1.PubUnavailableLabelPrefix) {
			return true
		}
	}
	return false
}

// Ready tells whether the Pod runs and serves, as far as its status says.
func Ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && podstate.ConditionReady(pod) &&
		!MarkedUnavailable(pod.Labels)
}

// Available tells whether the Pod counts as available: it is ready, and runs what its spec says. A Pod that does not may be
// lost for nothing.
func Available(pod *corev1.Pod) bool { return Ready(pod) && Consistent(pod) }

// budgetOf is the budget that losing the Pod may cost, "" if losing it is free whatever budgets there are.
func budgetOf(pod *corev1.Pod) string {
	name := Related(pod.Annotations)
	if name == "" || Exempt(pod.Annotations) || !Available(pod) {
		return ""
	}
	return name
}
