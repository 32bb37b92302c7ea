package dryrun

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Claim is a claim template of a workload.
type Claim struct {
	// Object has metadata and spec.
	Object jsontext.Value
}

func (Claim) kind() string { return "PersistentVolumeClaim" }

func (Claim) resource() string { return "persistentvolumeclaims" }

// body is a PersistentVolumeClaim. Its name is left out: what Pods' claims are called says the workload.
func (c Claim) body(namespace string) ([]byte, error) {
	var claim struct {
		Metadata struct {
			Labels      json.RawMessage `json:"labels,omitempty"`
			Annotations json.RawMessage `json:"annotations,omitempty"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(orEmpty(c.Object), &claim); err != nil {
		return nil, fmt.Errorf("reading a claim template: %w", err)
	}
	metadata := map[string]any{"generateName": generated, "namespace": namespace}
	if claim.Metadata.Labels != nil {
		metadata["labels"] = claim.Metadata.Labels
	}
	if claim.Metadata.Annotations != nil {
		metadata["annotations"] = claim.Metadata.Annotations
	}
	encoded, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": json.RawMessage(orEmpty(claim.Spec)),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a PersistentVolumeClaim: %w", err)
	}
	return encoded, nil
}

func (Claim) problems(status metav1.Status) ([]Problem, bool) {
	problems := causes(status)
	return problems, len(problems) > 0
}

// causes are those of a refusal, at the fields of the object itself.
func causes(status metav1.Status) (problems []Problem) {
	if !refusedFor(status) {
		return nil
	}
	for _, cause := range status.Details.Causes {
		if cause.Field != "" {
			problems = append(problems, Problem{Field: cause.Field, Type: string(cause.Type), Body: cause.Message})
		}
	}
	return problems
}
