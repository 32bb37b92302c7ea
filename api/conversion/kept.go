package conversion

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// KeptAnnotation is what the annotations of an object begin with that have what only the other version, of this name, can
// spell; a dot and more follow, except where all of it was too large.
func KeptAnnotation(version string) string { return "conversion.fairlead.io/" + version + "-fields" }

// tooLarge stands for records that do not fit into an object's annotations. The object can be read, but what it would
// lose must not be written.
const tooLarge = "too-large"

// kept is an annotation with fields of the other version.
type kept struct{ key, text string }

// takeKept removes the annotations of conversions and returns those with the fields of version. Those for the other
// version are copies that somebody carried over, and say nothing here.
func (w *work) takeKept(version string) (found []kept) {
	metadata := w.object(w.top, "metadata")
	tags := w.object(metadata, annotations)
	if tags == nil {
		return nil
	}
	for _, key := range tags.Names() {
		if !isKept(key, Alpha) && !isKept(key, Beta) {
			continue
		}
		if isKept(key, version) && tags.Get(key) != nil {
			found = append(found, kept{key, w.text(tags, key)})
		}
		w.removeTag(annotations, key)
	}
	return found
}

// restore puts back what an earlier conversion kept. What a v1alpha1 client made of an annotation must not cost v1beta1
// fields in silence, so that is an error; the reverse must not, for nobody could read the object in v1alpha1.
func (d direction) restore(k *kind, target *work, source *jsontree.Node, from []kept) error {
	var records []record
	for _, annotation := range from {
		read, err := readKept(annotation.text)
		if err != nil && d.up {
			return &FieldError{Field: annotationPath(annotation.key), Err: err}
		}
		if err == nil {
			records = append(records, read...)
		}
	}
	if len(records) == 0 {
		return nil
	}
	natural := target.top.Clone()
	d.applyAll(k, target, source, whole(records))
	if err := d.fits(k, natural, target.top); err != nil {
		return &FieldError{Field: annotationPath(from[0].key), Err: err}
	}
	return nil
}

func readKept(kept string) ([]record, error) {
	if kept == tooLarge {
		return nil, fmt.Errorf("the fields that only %s has do not fit into the annotations of %s, and this write would lose them: change the object in %s",
			Beta, Alpha, Beta)
	}
	records, err := readRecords(kept)
	if err != nil {
		return nil, fmt.Errorf("it has the fields that only %s has, and was changed to what cannot be read (%w): restore it, or remove it to give those fields up",
			Beta, err)
	}
	return records, nil
}

func (d direction) applyAll(k *kind, target *work, source *jsontree.Node, records []record) {
	hashes := d.hashUnits(k, source)
	for _, r := range records {
		if r.with == "" || r.with == hashes[d.unitOf(k, r.path)] {
			r.apply(target)
		}
	}
}

// fits says whether the type of v1beta1 can hold the object, if it could without what was put back: the annotation is
// a client's to write, the schema does not see it, and one stored object that cannot be decoded stops every cache.
func (d direction) fits(k *kind, natural, restored *jsontree.Node) error {
	if !d.up {
		return nil
	}
	for _, path := range k.opaque {
		if !jsontree.Equal(resolve(natural, path), resolve(restored, path)) {
			return fmt.Errorf("it changes %s, which both versions have and no conversion keeps", path)
		}
	}
	if k.decode(natural) == nil {
		if err := k.decode(restored); err != nil {
			return fmt.Errorf("it has fields of %s that do not fit: %w", Beta, err)
		}
	}
	return nil
}

// decode reads an object of v1beta1 into its type, but for what the schema does not look at either.
func (k *kind) decode(object *jsontree.Node) error {
	object = object.Clone()
	for _, path := range k.opaque {
		at := strings.LastIndexByte(path, '/')
		if parent := resolve(object, path[:at]); parent.IsObject() {
			parent.Remove(path[at+1:])
		}
	}
	return json.Unmarshal(object.Bytes(), k.typed())
}

// keep writes records into the object that cannot spell them, a field an annotation (see leaves).
func (d direction) keep(k *kind, target *work, records []record) {
	if len(records) == 0 {
		return
	}
	hashes := direction{up: !d.up}.hashUnits(k, target.top)
	for i := range records {
		if at := (direction{up: !d.up}).unitOf(k, records[i].path); at >= 0 {
			records[i].with = hashes[at]
		}
	}
	other := direction{up: !d.up}.version()
	var annotated []kept
	room := target.room()
	for _, r := range records {
		for _, leaf := range r.leaves() {
			annotation := kept{leafKey(other, leaf), string(appendRecords(nil, []record{leaf}))}
			room -= len(annotation.key) + len(annotation.text)
			annotated = append(annotated, annotation)
		}
	}
	switch {
	case room >= 0:
		for _, annotation := range annotated {
			target.setTag(annotations, annotation.key, annotation.text)
		}
	case !d.up && len(KeptAnnotation(other))+len(tooLarge) <= target.room():
		target.setTag(annotations, KeptAnnotation(other), tooLarge)
	default:
		target.note(annotationPath(KeptAnnotation(other)), "what only %s can spell does not fit", other)
	}
}

// room is how many bytes an object's annotations may still take: the API server refuses a conversion that exceeds it.
func (w *work) room() int {
	room := apivalidation.TotalAnnotationSizeLimitB
	if tags := w.object(w.object(w.top, "metadata"), annotations); tags != nil {
		for _, m := range tags.Members() {
			room -= len(m.Name) + len(m.Value.Text())
		}
	}
	return room
}

// parts are where a unit is in the version that this direction comes from, or goes to.
func (d direction) parts(u unit, source bool) []string {
	if d.up == source {
		return u.alpha
	}
	return u.beta
}

// unitOf is the index of the unit that a record's path belongs to, -1 if it belongs to none.
func (d direction) unitOf(k *kind, path string) int {
	return slices.IndexFunc(k.units, func(u unit) bool {
		return slices.ContainsFunc(d.parts(u, false), func(part string) bool {
			return path == part || strings.HasPrefix(path, part+"/")
		})
	})
}

// hashUnits hashes what the object that this direction comes from says about each unit.
func (d direction) hashUnits(k *kind, source *jsontree.Node) map[int]string {
	hashes := make(map[int]string, len(k.units))
	for i, u := range k.units {
		parts := make([]string, 0, 2)
		for _, part := range d.parts(u, true) {
			parts = append(parts, "="+resolve(source, part).Hash()) // not empty, which would be no condition
		}
		hashes[i] = strings.Join(parts, "")
	}
	return hashes
}
