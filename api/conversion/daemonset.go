package conversion

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// DaemonSet, daemonset.md §2, §4: v1alpha1 has another name for the revision, an annotation for partitioned scaling, and
// an alias for updates that surge.

func daemonSetUp(w *work) {
	daemonSetSurging(w)
	if value, _ := w.tag(annotations, v1beta1.DaemonSetProgressiveCreateAnnotation); value == "true" {
		if scale := w.ensure(w.ensure(w.top, "spec"), "scaleStrategy"); scale != nil {
			scale.Set("partitionedScaling", boolean(true))
		}
	}
	rename(w.object(w.top, "status"), "daemonSetHash", "updateRevision")
}

// daemonSetSurging spells the alias out with the defaults that it stands for: without them a set that was stored with
// the alias alone would stop surging.
func daemonSetSurging(w *work) {
	rolling := w.object(w.object(w.object(w.top, "spec"), "updateStrategy"), "rollingUpdate")
	if w.text(rolling, "rollingUpdateType") != "Surging" {
		return
	}
	set(rolling, "rollingUpdateType", "Standard")
	if rolling.Get("maxSurge") == nil {
		rolling.Set("maxSurge", jsontext.Value("1"))
	}
	if rolling.Get("maxUnavailable") == nil {
		rolling.Set("maxUnavailable", jsontext.Value("0"))
	}
}

func daemonSetDown(w *work) {
	spec := w.object(w.top, "spec")
	if w.flag(w.object(spec, "scaleStrategy"), "partitionedScaling") {
		w.setTag(annotations, v1beta1.DaemonSetProgressiveCreateAnnotation, "true")
	} else if value, _ := w.tag(annotations, v1beta1.DaemonSetProgressiveCreateAnnotation); value == "true" {
		w.removeTag(annotations, v1beta1.DaemonSetProgressiveCreateAnnotation) // only the field counts in v1beta1
	}
	remove(spec, "scaleStrategy")
	rename(w.object(w.top, "status"), "updateRevision", "daemonSetHash")
}

func daemonSetCanonical(w *work) { daemonSetSurging(w) }
