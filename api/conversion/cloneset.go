package conversion

import (
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// CloneSet, cloneset.md §1.4: v1alpha1 has the fields of a rolling update beside its type, and says by the type what
// v1beta1 says by podUpdatePolicy. Three fields for image pre-download are annotations there, and one for scaling is a
// label. The switch for reusing claims has the opposite sense, and so the opposite default.

// cloneSetUnits: a strategy left over under OnDelete must not come back beside another type.
var cloneSetUnits = []unit{{alpha: []string{"/spec/updateStrategy"}, beta: []string{"/spec/updateStrategy"}}}

// rollingFields are those that both versions have, in different places.
var rollingFields = []string{"partition", "maxUnavailable", "maxSurge", "paused", "priorityStrategy", "scatterStrategy", inPlaceField}

const (
	inPlaceField  = "inPlaceUpdateStrategy"
	rollingUpdate = "RollingUpdate"
	onDelete      = "OnDelete"
	reCreate      = "ReCreate"
)

// policies are the types of v1alpha1 that v1beta1 calls podUpdatePolicy.
var policies = map[string]bool{reCreate: true, "InPlaceIfPossible": true, "InPlaceOnly": true}

func cloneSetUp(w *work) {
	spec := w.object(w.top, "spec")
	if spec == nil {
		return
	}
	if scale := w.ensure(spec, "scaleStrategy"); scale != nil {
		reuse := !w.flag(scale, "disablePVCReuse")
		remove(scale, "disablePVCReuse")
		scale.Set("enablePVCReuse", boolean(reuse))
		if value, _ := w.tag(labels, v1beta1.CloneSetExcludePreparingDeleteLabel); value == "true" {
			scale.Set("excludePreparingDelete", boolean(true))
		}
	}
	if strategy := w.ensure(spec, "updateStrategy"); strategy != nil {
		cloneSetStrategyUp(w, strategy)
	}
}

func cloneSetStrategyUp(w *work, strategy *jsontree.Node) {
	policy := w.text(strategy, "type")
	if policy == onDelete {
		remove(strategy, rollingFields...)
		return
	}
	if !policies[policy] {
		policy = reCreate
	}
	set(strategy, "type", rollingUpdate)
	rolling := strategy.Set("rollingUpdate", jsontext.Value("{}"))
	set(rolling, "podUpdatePolicy", policy)
	for _, name := range rollingFields {
		move(strategy, rolling, name)
	}
	inPlace := w.object(rolling, inPlaceField)
	for _, p := range preDownloads {
		remove(inPlace, p.field) // v1alpha1's schema has them, but only the annotations count
	}
	for _, p := range preDownloads {
		text, _ := w.tag(annotations, p.annotation)
		if value := p.parse(text); value != nil {
			w.ensure(rolling, inPlaceField).Set(p.field, value)
		}
	}
}

func cloneSetDown(w *work) {
	spec := w.object(w.top, "spec")
	if spec == nil {
		return
	}
	if scale := w.ensure(spec, "scaleStrategy"); scale != nil {
		if !w.flag(scale, "enablePVCReuse") {
			scale.Set("disablePVCReuse", boolean(true))
		}
		// A label on an object without the field counts there too, so only an explicit false takes it away.
		if w.flag(scale, "excludePreparingDelete") {
			w.setTag(labels, v1beta1.CloneSetExcludePreparingDeleteLabel, "true")
		} else if get(scale, "excludePreparingDelete") != nil {
			w.removeTag(labels, v1beta1.CloneSetExcludePreparingDeleteLabel)
		}
		remove(scale, "enablePVCReuse", "excludePreparingDelete")
		prune(spec, "scaleStrategy")
	}
	if strategy := w.ensure(spec, "updateStrategy"); strategy != nil {
		cloneSetStrategyDown(w, strategy)
	}
}

func cloneSetStrategyDown(w *work, strategy *jsontree.Node) {
	rolling := w.object(strategy, "rollingUpdate")
	if w.text(strategy, "type") != onDelete {
		policy := w.text(rolling, "podUpdatePolicy")
		if !policies[policy] {
			policy = reCreate
		}
		set(strategy, "type", policy)
	}
	if rolling == nil {
		remove(strategy, "rollingUpdate")
		return
	}
	if inPlace := w.object(rolling, inPlaceField); inPlace != nil {
		for _, p := range preDownloads {
			p.down(w, inPlace)
		}
		prunedGrace(inPlace)
		prune(rolling, inPlaceField)
	}
	for _, name := range rollingFields {
		move(rolling, strategy, name)
	}
	remove(strategy, "rollingUpdate")
}

// prunedGrace drops a grace period that says nothing: v1alpha1 spells an empty inPlaceUpdateStrategy as none.
func prunedGrace(inPlace *jsontree.Node) {
	if grace := inPlace.Lookup("gracePeriodSeconds"); grace != nil && string(grace.Bytes()) == "0" && len(inPlace.Members()) == 1 {
		remove(inPlace, "gracePeriodSeconds")
	}
}

func cloneSetCanonical(w *work) {
	spec := w.object(w.top, "spec")
	if spec == nil {
		return
	}
	if scale := w.object(spec, "scaleStrategy"); scale != nil {
		if !w.flag(scale, "disablePVCReuse") {
			remove(scale, "disablePVCReuse")
		}
		prune(spec, "scaleStrategy")
	}
	strategy := w.ensure(spec, "updateStrategy")
	if strategy == nil {
		return
	}
	if w.text(strategy, "type") == "" {
		set(strategy, "type", reCreate)
	}
	if inPlace := w.object(strategy, inPlaceField); inPlace != nil {
		prunedGrace(inPlace)
		prune(strategy, inPlaceField)
	}
}

// preDownload is a field of v1beta1's inPlaceUpdateStrategy and the annotation that says it in v1alpha1. The annotation
// stays when an object goes up, so that a text which is no value, such as a percentage of Pods, is not lost.
type preDownload struct {
	field, annotation string
	// parse returns nil for a text that is not a value.
	parse func(text string) jsontext.Value
}

var preDownloads = []preDownload{
	{"imagePreDownloadParallelism", v1beta1.ImagePreDownloadParallelismAnnotation, parseIntOrPercent},
	{"imagePreDownloadTimeoutSeconds", v1beta1.ImagePreDownloadTimeoutSecondsAnnotation, parseInt32},
	{"imagePreDownloadMinUpdatedReadyPods", v1beta1.ImagePreDownloadMinUpdatedReadyPodsAnnotation, parseInt32},
}

// down writes the annotation, unless it says the same already, and removes the field.
func (p preDownload) down(w *work, inPlace *jsontree.Node) {
	value := get(inPlace, p.field)
	if value == nil {
		remove(inPlace, p.field)
		return
	}
	text := string(value.Bytes())
	if value.Kind() == jsontext.KindString {
		text = value.Text()
	}
	if old, _ := w.tag(annotations, p.annotation); string(p.parse(old)) != string(value.Bytes()) && text != "" {
		w.setTag(annotations, p.annotation, text)
	}
	remove(inPlace, p.field)
}

func parseInt32(text string) jsontext.Value {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil
	}
	return strconv.AppendInt(nil, n, 10)
}

var percent = regexp.MustCompile(`^[0-9]+%$`)

func parseIntOrPercent(text string) jsontext.Value {
	if percent.MatchString(text) {
		return jsontree.Quote(text)
	}
	return parseInt32(text)
}

func boolean(b bool) jsontext.Value { return strconv.AppendBool(nil, b) }
