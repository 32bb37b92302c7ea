// Package dryrun asks the API server whether containers, init containers and volumes make up a Pod, by a server-side dry run
// that creates a PodTemplate in the release namespace (DESIGN.md §4): its own validation, in its own words, of the very
// version that the Pods will be created by.
package dryrun

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Problem is a mistake that the API server found.
type Problem struct {
	// Field is its path in the SidecarSet, Type and Body what the API server says of it.
	Field, Type, Body string
}

// Pod is what is judged; each part is a JSON array.
type Pod struct {
	Containers     json.RawMessage `json:"containers"`
	InitContainers json.RawMessage `json:"initContainers"`
	Volumes        json.RawMessage `json:"volumes"`
}

const (
	// placeholder stands in where there are init containers only, since a Pod without containers is invalid.
	placeholder = `[{"name":"placeholder-of-the-pods-own","image":"placeholder"}]`
	// templatePrefix is where a PodTemplate has what a SidecarSet has at its top.
	templatePrefix = "template."
	podTemplates   = "podtemplates"
	// generated begins the names of what is tried, which nobody ever sees.
	generated = "kruise-validation-"
)

// alone says that the placeholder is needed.
func (p Pod) alone() bool {
	var items []json.RawMessage
	return json.Unmarshal(p.Containers, &items) == nil && len(items) == 0
}

func (Pod) kind() string { return "PodTemplate" }

func (Pod) resource() string { return podTemplates }

// body is a PodTemplate. Members that only SidecarSets know are dropped by the API server, which is asked not to mind.
func (p Pod) body(namespace string) ([]byte, error) {
	if p.alone() {
		p.Containers = json.RawMessage(placeholder)
	}
	encoded, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PodTemplate",
		"metadata": map[string]any{"generateName": generated, "namespace": namespace},
		"template": map[string]any{"spec": map[string]any{
			"containers": p.Containers, "initContainers": p.InitContainers, "volumes": p.Volumes,
			"restartPolicy": "Always", "serviceAccountName": "default",
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a PodTemplate: %w", err)
	}
	return encoded, nil
}

// problems are the causes of a refusal, at the fields that the user wrote; none if the template is not the reason: then it was
// not the API server's validation that refused, but somebody's webhook for PodTemplates.
func (p Pod) problems(status metav1.Status) (problems []Problem, decided bool) {
	if !refusedFor(status) {
		return nil, false
	}
	for _, cause := range status.Details.Causes {
		field, ours := strings.CutPrefix(cause.Field, templatePrefix)
		if !ours {
			continue
		}
		if p.alone() && strings.HasPrefix(field, "spec.containers[") {
			field = "spec"
		}
		problems = append(problems, Problem{Field: field, Type: string(cause.Type), Body: cause.Message})
	}
	return problems, len(problems) > 0
}

// refusedFor says that the API server's validation, or somebody who speaks like it, names causes.
func refusedFor(status metav1.Status) bool {
	return status.Code == http.StatusUnprocessableEntity && status.Details != nil
}
