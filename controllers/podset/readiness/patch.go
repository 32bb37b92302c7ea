package readiness

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes conditions through the status subresource and no others: they merge by their type. guarded makes it
// apply to this version of the Pod only; otherwise to any version of the Pod with this UID.
func Patch(pod *corev1.Pod, conditions []corev1.PodCondition, guarded bool) client.Patch {
	metadata := map[string]any{"uid": pod.UID}
	if guarded {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	list := make([]any, len(conditions))
	for i, c := range conditions {
		list[i] = map[string]any{
			"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime,
			// An absent field would leave the old text where there is to be none.
			"reason": textOrNull(c.Reason), "message": textOrNull(c.Message),
		}
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{"conditions": list}})
	if err != nil {
		panic(fmt.Sprintf("encoding a patch of strings and times: %v", err))
	}
	return client.RawPatch(types.StrategicMergePatchType, data)
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
