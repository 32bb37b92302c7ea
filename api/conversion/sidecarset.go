package conversion

import (
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// SidecarSet, sidecarset.md §1.4: v1alpha1 can name one namespace, which v1beta1 selects by its label and which reads
// back as that selector; and its custom version is a label.

// sidecarSetUnits: a label beside a customVersion must not come back when a client has changed what it sees of the two.
var sidecarSetUnits = []unit{{
	alpha: []string{customVersionLabel},
	beta:  []string{"/spec/customVersion", customVersionLabel},
}}

var customVersionLabel = "/metadata/labels/" + jsontree.Escape(v1beta1.SidecarSetCustomVersionLabel)

func sidecarSetUp(w *work) {
	sidecarSetNamespace(w)
	version, labelled := w.tag(labels, v1beta1.SidecarSetCustomVersionLabel)
	if !labelled {
		return
	}
	w.removeTag(labels, v1beta1.SidecarSetCustomVersionLabel)
	if spec := w.ensure(w.top, "spec"); spec != nil && version != "" {
		set(spec, "customVersion", version)
	}
}

// sidecarSetNamespace spells a namespace as the selector of it, which wins over another one.
func sidecarSetNamespace(w *work) {
	spec := w.object(w.top, "spec")
	if name := w.text(spec, "namespace"); name != "" {
		selector := append(jsontext.Value(`{"matchLabels":{"`+corev1.LabelMetadataName+`":`), jsontree.Quote(name)...)
		spec.Set("namespaceSelector", append(selector, "}}"...))
	}
	remove(spec, "namespace")
}

func sidecarSetDown(w *work) {
	spec := w.object(w.top, "spec")
	version := w.text(spec, "customVersion")
	remove(spec, "customVersion", "namespace")
	// The API server refuses the whole list for one label that is none; such a version is only kept.
	if version != "" && len(validation.IsValidLabelValue(version)) == 0 {
		w.setTag(labels, v1beta1.SidecarSetCustomVersionLabel, version)
	}
}

func sidecarSetCanonical(w *work) {
	sidecarSetNamespace(w)
	if version, labelled := w.tag(labels, v1beta1.SidecarSetCustomVersionLabel); labelled && version == "" {
		w.removeTag(labels, v1beta1.SidecarSetCustomVersionLabel)
	}
}
