package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
)

// gates says of each readiness gate of a Pod who put it there, and how its condition is. every says that admission gives the
// gate to every Pod.
func gates(ctx context.Context, pod *corev1.Pod, view *podview.Pod, every bool) []Gate {
	found := make([]Gate, 0, len(pod.Spec.ReadinessGates))
	for _, gate := range pod.Spec.ReadinessGates {
		g := Gate{Type: string(gate.ConditionType), AddedBy: addedBy(ctx, view, gate.ConditionType, every), SetBy: setBy(pod, gate.ConditionType)}
		if i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType }); i >= 0 {
			c := pod.Status.Conditions[i]
			g.Status, g.Reason, g.Message = string(c.Status), c.Reason, c.Message
		}
		g.Meaning = meaning(pod, g)
		found = append(found, g)
	}
	return found
}

// addedBy asks the mutator whether it would give the gate to such a Pod.
func addedBy(ctx context.Context, view *podview.Pod, condition corev1.PodConditionType, every bool) string {
	bare := &podview.Pod{OwnerReferences: view.OwnerReferences}
	// It changes nothing but the view, and fails never.
	_, _ = readinessgate.New(every).MutatePod(ctx, nil, bare)
	owner, owned := view.Controller()
	switch {
	case !slices.Contains(bare.ReadinessGates, string(condition)):
		return "whoever made the Pod, or its template"
	case every:
		return "admission, as to every Pod (feature gate KruisePodReadinessGate)"
	case owned:
		return fmt.Sprintf("admission, as the Pod belongs to %s %s of %s", owner.Kind, owner.Name, owner.APIVersion)
	default:
		return "admission"
	}
}

// setBy is the field manager that owns the condition, "" if that is not known.
func setBy(pod *corev1.Pod, condition corev1.PodConditionType) string {
	key := fmt.Sprintf(`k:{"type":%q}`, string(condition))
	for _, entry := range pod.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Status struct {
				Conditions map[string]json.RawMessage `json:"f:conditions"`
			} `json:"f:status"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		if _, owns := fields.Status.Conditions[key]; owns {
			return entry.Manager
		}
	}
	return ""
}

func meaning(pod *corev1.Pod, g Gate) string {
	ours := g.Type == string(v1beta1.KruisePodReady)
	switch {
	case pod.UID == "":
		return "the Pod will not be Ready before somebody sets the condition to True"
	case g.Status == string(corev1.ConditionTrue):
		return "it does not hold the Pod back"
	case g.Status == "" && ours:
		return "the Pod is not Ready: kruise-controller-manager has not set the condition yet; does it run?"
	case g.Status == "":
		return "the Pod is not Ready: nobody has set the condition"
	case ours:
		return "the Pod is held unready by " + holders(g.Message)
	default:
		return "the Pod is not Ready until the condition is True"
	}
}

// holders reads who holds KruisePodReady at False: a list of user agents and keys (cloneset.md §6.4).
func holders(message string) string {
	var held []struct{ UserAgent, Key string }
	if err := json.Unmarshal([]byte(message), &held); err != nil || len(held) == 0 {
		return "whoever set the condition"
	}
	var names []string
	for _, h := range held {
		names = append(names, fmt.Sprintf("%s (%s)", h.UserAgent, h.Key))
	}
	return strings.Join(names, ", ")
}
