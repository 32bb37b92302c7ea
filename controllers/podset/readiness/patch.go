package readiness

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/controllers/podset/podpatch"
)

// Patch writes conditions through the status subresource and no others: they merge by their type. guarded makes it
// apply to this version of the Pod only; otherwise to any version of the Pod with this UID.
func Patch(pod *corev1.Pod, conditions []corev1.PodCondition, guarded bool) client.Patch {
	patch := podpatch.New(pod)
	if guarded {
		patch.Guard(pod)
	}
	return With(patch, conditions)
}

// With adds conditions to a patch of metadata, for one write through the status subresource of both: it takes a Pod's
// labels and annotations too, and leaves its spec and its owners as they are.
func With(patch *podpatch.Patch, conditions []corev1.PodCondition) client.Patch {
	return withConditions{patch, conditions}
}

type withConditions struct {
	metadata   *podpatch.Patch
	conditions []corev1.PodCondition
}

// Type implements client.Patch.
func (withConditions) Type() types.PatchType { return types.StrategicMergePatchType }

// Data implements client.Patch.
func (p withConditions) Data(client.Object) ([]byte, error) {
	list := make([]any, len(p.conditions))
	for i, c := range p.conditions {
		list[i] = map[string]any{
			"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime,
			// An absent field would leave the old text where there is to be none.
			"reason": textOrNull(c.Reason), "message": textOrNull(c.Message),
		}
	}
	data, err := json.Marshal(map[string]any{"metadata": p.metadata.Meta(), "status": map[string]any{"conditions": list}})
	if err != nil {
		return nil, fmt.Errorf("encoding conditions: %w", err)
	}
	return data, nil
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
