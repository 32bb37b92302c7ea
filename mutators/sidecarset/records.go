package sidecarset

import (
	"maps"
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
	entries    map[string]record
	changed    bool
}

// record is one SidecarSet's entry. raw is its JSON as found or made; entries of other SidecarSets keep theirs.
type record struct {
	raw    jsontext.Value
	fields recordFields
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
	r := &records{annotation: annotation, entries: map[string]record{}}
	found := pod.Annotations[annotation]
	if found == "" {
		return r, nil
	}
	var raws map[string]jsontext.Value
	if err := json.Unmarshal([]byte(found), &raws, readOptions); err != nil {
		return nil, unreadable(annotation, err)
	}
	for name, raw := range raws {
		e := record{raw: raw}
		if raw.Kind() == jsontext.KindString {
			e.fields.SidecarSetName = name
			_ = json.Unmarshal(raw, &e.fields.Hash, readOptions) // a string always decodes into a string
			e.raw, r.changed = e.fields.encode(), true
		} else if err := json.Unmarshal(raw, &e.fields, readOptions); err != nil {
			return nil, unreadable(annotation, err)
		}
		r.entries[name] = e
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
	e := r.entries[set.name].fields
	if e.Hash != set.hash {
		return false
	}
	return s.inSidecarList || e.ControllerRevision == set.latestRevision || e.ControllerRevision == "" || set.latestRevision == ""
}

// put records a version. A record of the same hash keeps its time.
func (r *records) put(name string, fields recordFields) {
	old, ok := r.entries[name]
	if ok && old.fields.Hash == fields.Hash {
		if old.fields.UpdateTimestamp != "" {
			fields.UpdateTimestamp = old.fields.UpdateTimestamp
		}
		if fields.ControllerRevision == "" {
			fields.ControllerRevision = old.fields.ControllerRevision
		}
	}
	if ok && old.fields.equal(fields) {
		return
	}
	r.entries[name] = record{raw: fields.encode(), fields: fields}
	r.changed = true
}

// drop forgets a SidecarSet.
func (r *records) drop(name string) {
	if _, ok := r.entries[name]; ok {
		delete(r.entries, name)
		r.changed = true
	}
}

// write sets the annotation, unless it says all that already.
func (r *records) write(pod *podview.Pod) {
	if !r.changed {
		return
	}
	out := append(make(jsontext.Value, 0, 1024), '{')
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		out = appendMember(out, name, r.entries[name].raw)
	}
	pod.SetAnnotation(r.annotation, string(append(out, '}')))
}

func (f recordFields) equal(other recordFields) bool {
	return f.UpdateTimestamp == other.UpdateTimestamp && f.Hash == other.Hash && f.SidecarSetName == other.SidecarSetName &&
		slices.Equal(f.SidecarList, other.SidecarList) && f.ControllerRevision == other.ControllerRevision
}

// encode writes an entry as OpenKruise does: members in this order, no time and no list as null, and no revision as no
// member.
func (f *recordFields) encode() jsontext.Value {
	out := make(jsontext.Value, 0, 512) // two hashes and a few names
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
