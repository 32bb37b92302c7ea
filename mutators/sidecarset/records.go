package sidecarset

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// records is one of the two annotations that say which version of which SidecarSet a Pod has (sidecarset.md §4.7).
type records struct {
	annotation string
	entries    []record // a few, in no order
	changed    bool
}

// record is one SidecarSet's entry. raw is its JSON as found, which entries of other SidecarSets keep; nil if it is to be
// made.
type record struct {
	name   string
	raw    jsontext.Value
	fields recordFields
}

// of is what is recorded of a SidecarSet.
func (r *records) of(name string) (fields recordFields, found bool) {
	if i := r.index(name); i >= 0 {
		return r.entries[i].fields, true
	}
	return recordFields{}, false
}

func (r *records) index(name string) int {
	return slices.IndexFunc(r.entries, func(e record) bool { return e.name == name })
}

type recordFields struct {
	UpdateTimestamp    string   `json:"updateTimestamp"`
	Hash               string   `json:"hash"`
	SidecarSetName     string   `json:"sidecarSetName"`
	SidecarList        []string `json:"sidecarList"`
	ControllerRevision string   `json:"controllerRevision"`
}

// readRecords reads an annotation of a Pod, which has none when it is new. Entries of the format before OpenKruise 0.5,
// only a hash, are converted.
func readRecords(pod *podview.Pod, annotation string) (*records, error) {
	r := &records{annotation: annotation}
	found := pod.Annotations[annotation]
	if found == "" {
		return r, nil
	}
	var raws map[string]jsontext.Value
	if err := json.Unmarshal([]byte(found), &raws, readOptions); err != nil {
		return nil, unreadable(annotation, err)
	}
	for name, raw := range raws {
		e := record{name: name, raw: raw}
		if raw.Kind() == jsontext.KindString {
			e.fields.SidecarSetName = name
			_ = json.Unmarshal(raw, &e.fields.Hash, readOptions) // a string always decodes into a string
			e.raw, r.changed = nil, true
		} else if err := json.Unmarshal(raw, &e.fields, readOptions); err != nil {
			return nil, unreadable(annotation, err)
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// unreadable refuses a Pod whose annotation nobody could merge with or later upgrade.
func unreadable(annotation string, err error) error {
	return admission.Refuse(400, "reading annotation %s of the Pod: %v; correct or remove it", annotation, err)
}

// has tells whether the Pod records that it has this very version of a sidecar. The hash does not speak for plain init
// containers, so for those the revision must be the same too, as far as both are known.
func (r *records) has(set *Compiled, s *sidecar) bool {
	e, _ := r.of(set.name)
	if e.Hash != set.hash {
		return false
	}
	return s.inSidecarList || e.ControllerRevision == set.latestRevision || e.ControllerRevision == "" || set.latestRevision == ""
}

// put records a version. A record of the same hash keeps its time.
func (r *records) put(name string, fields recordFields) {
	i := r.index(name)
	if i < 0 {
		i = len(r.entries)
		r.entries = append(r.entries, record{name: name})
	} else if old := &r.entries[i].fields; old.Hash == fields.Hash {
		if old.UpdateTimestamp != "" {
			fields.UpdateTimestamp = old.UpdateTimestamp
		}
		if fields.ControllerRevision == "" {
			fields.ControllerRevision = old.ControllerRevision
		}
		if old.equal(fields) {
			return
		}
	}
	r.entries[i] = record{name: name, fields: fields}
	r.changed = true
}

// drop forgets a SidecarSet.
func (r *records) drop(name string) {
	if i := r.index(name); i >= 0 {
		r.entries = slices.Delete(r.entries, i, i+1)
		r.changed = true
	}
}

// write sets the annotation, unless it says all that already.
func (r *records) write(pod *podview.Pod) {
	if !r.changed {
		return
	}
	slices.SortFunc(r.entries, func(a, b record) int { return strings.Compare(a.name, b.name) })
	out := append(make(jsontext.Value, 0, len(r.entries)*recordSize), '{')
	for i := range r.entries {
		e := &r.entries[i]
		out = appendMember(out, e.name, e.raw)
		if e.raw == nil {
			out = e.fields.appendTo(out)
		}
	}
	pod.SetAnnotation(r.annotation, string(append(out, '}')))
}

func (f recordFields) equal(other recordFields) bool {
	return f.UpdateTimestamp == other.UpdateTimestamp && f.Hash == other.Hash && f.SidecarSetName == other.SidecarSetName &&
		slices.Equal(f.SidecarList, other.SidecarList) && f.ControllerRevision == other.ControllerRevision
}

// recordSize is about the size of an entry: a hash, a time and a few names.
const recordSize = 320

// appendTo writes an entry as OpenKruise does: members in this order, no time and no list as null, and no revision as no
// member.
func (f *recordFields) appendTo(out jsontext.Value) jsontext.Value {
	out = append(out, `{"updateTimestamp":`...)
	if f.UpdateTimestamp == "" {
		out = append(out, "null"...)
	} else {
		out = jsontree.AppendQuote(out, f.UpdateTimestamp)
	}
	out = jsontree.AppendQuote(append(out, `,"hash":`...), f.Hash)
	out = jsontree.AppendQuote(append(out, `,"sidecarSetName":`...), f.SidecarSetName)
	out = append(out, `,"sidecarList":`...)
	out = f.appendList(out)
	if f.ControllerRevision != "" {
		out = jsontree.AppendQuote(append(out, `,"controllerRevision":`...), f.ControllerRevision)
	}
	return append(out, '}')
}

func (f *recordFields) appendList(out jsontext.Value) jsontext.Value {
	if f.SidecarList == nil {
		return append(out, "null"...)
	}
	out = append(out, '[')
	for i, name := range f.SidecarList {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsontree.AppendQuote(out, name)
	}
	return append(out, ']')
}

// writeList sets the annotation that names the SidecarSets of the Pod: those that it named, those injected now, and not
// those that a canary stands in for.
func writeList(pod *podview.Pod, sets []*Compiled, bases []string) {
	names := strings.Split(pod.Annotations[v1beta1.SidecarSetInjectedListAnnotation], ",")
	for _, s := range sets {
		names = append(names, s.name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || slices.Contains(bases, name) })
	slices.Sort(names)
	pod.SetAnnotation(v1beta1.SidecarSetInjectedListAnnotation, strings.Join(slices.Compact(names), ","))
}
