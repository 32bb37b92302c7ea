package review

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// templates are where kinds of workloads have the template of their Pods, and who creates those where it is not the workload
// itself.
var templates = []struct {
	path    string
	creator schema.GroupVersionKind
}{
	{path: "spec.template"}, // Deployments, StatefulSets, Jobs, CloneSets ...
	{path: "template"},      // PodTemplates
	{"spec.jobTemplate.spec.template", job},
	{"spec.template.jobTemplate.spec.template", job},
	{"spec.template.broadcastJobTemplate.spec.template", schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "BroadcastJob"}},
	{"spec.template.statefulSetTemplate.spec.template", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}},
	{"spec.template.advancedStatefulSetTemplate.spec.template", schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "StatefulSet"}},
	{"spec.template.cloneSetTemplate.spec.template", schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "CloneSet"}},
	{"spec.template.deploymentTemplate.spec.template", replicaSet},
}

var (
	job        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	replicaSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
)

// PodOf is the creation of a Pod of a workload's template, as its controller would ask for it; false for an object that
// has none.
func PodOf(workload Request) (Request, bool, error) {
	top, err := jsontree.Parse(workload.Object)
	if err != nil {
		return Request{}, false, fmt.Errorf("%s: %w", workload.Source, err)
	}
	if !top.IsObject() {
		return Request{}, false, nil
	}
	template, creator := findTemplate(top)
	if template == nil {
		return Request{}, false, nil
	}
	h, err := readHeader(workload.Object)
	if err != nil {
		return Request{}, false, err
	}
	namespace := h.namespace
	if namespace == "" {
		namespace = workload.Namespace
	}
	if creator.Empty() {
		creator = h.kind
	}
	if h.kind.GroupKind() == (schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		creator = replicaSet
	}
	pod, err := podOf(template, h, creator, namespace)
	if err != nil {
		return Request{}, false, fmt.Errorf("%s: making a Pod of the template: %w", workload.Source, err)
	}
	return Request{
		Source: workload.Source, Of: fmt.Sprintf("%s %s", h.kind.Kind, h.name), Operation: admission.Create, Object: pod, Namespace: namespace,
	}, true, nil
}

func findTemplate(top *jsontree.Node) (template *jsontree.Node, creator schema.GroupVersionKind) {
	for _, t := range templates {
		node := top
		for name := range strings.SplitSeq(t.path, ".") {
			if node != nil {
				node = node.Object(name)
			}
		}
		if node != nil && node.Object("spec") != nil && node.Object("spec").Get("containers").IsArray() {
			return node, t.creator
		}
	}
	return nil, schema.GroupVersionKind{}
}

// podOf copies the template's metadata and spec as they are.
func podOf(template *jsontree.Node, workload header, creator schema.GroupVersionKind, namespace string) (jsontext.Value, error) {
	metadata := map[string]json.RawMessage{}
	if given := template.Object("metadata"); given != nil {
		for _, member := range given.Members() {
			switch member.Name {
			case "labels", "annotations", "finalizers":
				metadata[member.Name] = json.RawMessage(member.Value.Bytes())
			}
		}
	}
	owners, err := json.Marshal([]metav1.OwnerReference{{
		APIVersion: creator.GroupVersion().String(), Kind: creator.Kind, Name: workload.name,
		UID: "00000000-0000-0000-0000-000000000000", Controller: ptr.To(true), // nobody's
	}})
	if err != nil {
		return nil, err
	}
	metadata["ownerReferences"] = owners
	metadata["namespace"] = json.RawMessage(jsontree.Quote(namespace))
	metadata["generateName"] = json.RawMessage(jsontree.Quote(workload.name + "-"))
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	pod := append(jsontext.Value(`{"apiVersion":"v1","kind":"Pod","metadata":`), encoded...)
	pod = append(append(pod, `,"spec":`...), template.Get("spec").Bytes()...)
	return append(pod, '}'), nil
}

// IsPod says whether a request is about a Pod itself.
func IsPod(request Request) (bool, error) {
	h, err := readHeader(request.Object)
	return h.kind.GroupKind() == schema.GroupKind{Kind: "Pod"}, err
}
