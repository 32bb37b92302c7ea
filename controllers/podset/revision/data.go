// Package revision keeps the history of a workload's template in ControllerRevisions (cloneset.md §2, statefulset.md
// §8, daemonset.md §13). Names, hashes and data are those that OpenKruise makes, byte for byte, so that taking over a
// workload is not a rollout.
package revision

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Data is what a revision records of a workload: its template, to be put in place of another one. The path is where
// the template is in the workload, such as spec, template.
//
// It goes through untyped JSON as the reference's does, which sorts the keys, and it says creationTimestamp: null
// wherever there is metadata, as types before Kubernetes 1.34 did.
func Data(template *corev1.PodTemplateSpec) ([]byte, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return nil, fmt.Errorf("reading back the template: %w", err)
	}
	nullTimestamps(tree)
	tree["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": tree}})
	if err != nil {
		return nil, fmt.Errorf("encoding the revision: %w", err)
	}
	return data, nil
}

// nullTimestamps gives a creationTimestamp to the template's metadata and to that of the claims inside its volumes.
func nullTimestamps(template map[string]any) {
	nullTimestamp(template)
	spec, _ := template["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		ephemeral, _ := volume["ephemeral"].(map[string]any)
		if claim, ok := ephemeral["volumeClaimTemplate"].(map[string]any); ok {
			nullTimestamp(claim)
		}
	}
}

func nullTimestamp(object map[string]any) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	if _, there := metadata["creationTimestamp"]; !there {
		metadata["creationTimestamp"] = nil
	}
}

// Hash is the suffix of a revision's name. collisions is how often a name was found taken by other data.
func Hash(data []byte, collisions int32) string {
	sum := fnv.New32()
	_, _ = sum.Write(data)
	_, _ = sum.Write(strconv.AppendInt(nil, int64(collisions), 10))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(sum.Sum32()), 10))
}

// Template is the template that data records.
func Template(data []byte) (*corev1.PodTemplateSpec, error) {
	var recorded struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		return nil, fmt.Errorf("reading the template of a revision: %w", err)
	}
	return &recorded.Spec.Template, nil
}

// meaning is data as we would write it, so that two writers' spellings of one template compare equal.
func meaning(data []byte) (string, error) {
	template, err := Template(data)
	if err != nil {
		return "", err
	}
	canonical, err := Data(template)
	return string(canonical), err
}
