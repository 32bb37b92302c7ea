package dryrun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Template is a Pod template of a workload.
type Template struct {
	// Object has metadata and spec.
	Object jsontext.Value
	// Claims are the names of claim templates: every Pod has a volume of that name, whether the template says so or not.
	Claims []string
}

// claimVolumes stands for the volumes of claims in the fields of problems.
const claimVolumes = "claims"

// OfClaim says which claim's volume a problem of a Template is about, if it is about one.
func (p Problem) OfClaim() (index int, found bool) {
	rest, found := strings.CutPrefix(p.Field, claimVolumes+"[")
	if !found {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, "]")
	index, err := strconv.Atoi(number)
	return index, err == nil
}

func (Template) kind() string { return "PodTemplate" }

func (Template) resource() string { return podTemplates }

func (t Template) body(namespace string) ([]byte, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(t.Object), &object); err != nil {
		return nil, fmt.Errorf("reading a template: %w", err)
	}
	spec := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(object["spec"]), &spec); err != nil {
		return nil, fmt.Errorf("reading the spec of a template: %w", err)
	}
	own, added, err := t.volumes()
	if err != nil {
		return nil, err
	}
	if len(added) > 0 {
		for _, name := range added {
			own = append(own, volume{raw: json.RawMessage(`{"name":` + strconv.Quote(name) + `,"emptyDir":{}}`)})
		}
		if spec["volumes"], err = json.Marshal(own); err != nil {
			return nil, fmt.Errorf("encoding volumes: %w", err)
		}
		if object["spec"], err = json.Marshal(spec); err != nil {
			return nil, fmt.Errorf("encoding the spec of a template: %w", err)
		}
	}
	encoded, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PodTemplate",
		"metadata": map[string]any{"generateName": generated, "namespace": namespace}, "template": object,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a PodTemplate: %w", err)
	}
	return encoded, nil
}

// orEmpty makes an object of what is absent.
func orEmpty[T ~[]byte](raw T) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}")
	}
	return raw
}

// volume keeps its bytes.
type volume struct {
	name string
	raw  json.RawMessage
}

func (v *volume) UnmarshalJSON(raw []byte) error {
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	v.name, v.raw = named.Name, append(json.RawMessage(nil), raw...)
	return nil
}

func (v volume) MarshalJSON() ([]byte, error) { return v.raw, nil }

// volumes are the template's own, and the names of claims that it has no volume for: a volume that it has is replaced by
// the claim's in every Pod.
func (t Template) volumes() (own []volume, added []string, err error) {
	var template struct {
		Spec struct {
			Volumes []volume `json:"volumes"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(orEmpty(t.Object), &template); err != nil {
		return nil, nil, fmt.Errorf("reading the volumes of a template: %w", err)
	}
	known := make(map[string]bool, len(template.Spec.Volumes))
	for _, v := range template.Spec.Volumes {
		known[v.name] = true
	}
	for _, name := range t.Claims {
		if !known[name] {
			added = append(added, name)
		}
		known[name] = true
	}
	return template.Spec.Volumes, added, nil
}

func (t Template) problems(status metav1.Status) (problems []Problem, decided bool) {
	own, added, err := t.volumes()
	if !refusedFor(status) || err != nil {
		return nil, false
	}
	for _, cause := range status.Details.Causes {
		field, ours := strings.CutPrefix(cause.Field, templatePrefix)
		if !ours {
			continue
		}
		for i, name := range added {
			if strings.HasPrefix(field, fmt.Sprintf("spec.volumes[%d]", len(own)+i)) {
				field = fmt.Sprintf("%s[%d]", claimVolumes, slices.Index(t.Claims, name))
			}
		}
		problems = append(problems, Problem{Field: field, Type: string(cause.Type), Body: cause.Message})
	}
	return problems, len(problems) > 0
}
