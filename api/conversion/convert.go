package conversion

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// FieldError says which field keeps an object from being converted.
type FieldError struct {
	// Field is a path as Kubernetes spells it.
	Field string
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *FieldError) Unwrap() error { return e.Err }

// Converted is the outcome of a conversion.
type Converted struct {
	// Object is the object in the version that was asked for. It may share memory with the one that was given.
	Object jsontext.Value
	// Notes say what was given up because nobody could read it, field by field.
	Notes []string
}

// Convert converts an object, or a List of objects, to apiVersion, which must be of the same group. An object that has
// that version already is returned as it is. The error names the object, and as a FieldError the field.
func Convert(object jsontext.Value, apiVersion string) (Converted, error) {
	top, err := jsontree.Parse(object)
	if err != nil {
		return Converted{}, fmt.Errorf("reading an object: %w", err)
	}
	if !top.IsObject() {
		return Converted{}, fmt.Errorf("reading an object: found %s", top.Kind())
	}
	if top.TextOf("apiVersion") == apiVersion {
		return Converted{Object: object}, nil
	}
	converted, err := convert(top, apiVersion)
	if err != nil {
		return Converted{}, fmt.Errorf("converting %s to %s: %w", describe(top), apiVersion, err)
	}
	return converted, nil
}

func convert(top *jsontree.Node, apiVersion string) (Converted, error) {
	d, err := directionOf(top.TextOf("apiVersion"), apiVersion)
	if err != nil {
		return Converted{}, err
	}
	if items := top.Get("items"); items.IsArray() && strings.HasSuffix(top.TextOf("kind"), "List") {
		return convertList(top, items, apiVersion)
	}
	k := byKind[schema.GroupKind{Group: d.group, Kind: top.TextOf("kind")}]
	switch {
	case k == nil:
		return Converted{}, errors.New("the kind is not one of ours, or has one version only")
	case !k.Differs:
		set(top, "apiVersion", apiVersion)
		return Converted{Object: top.Bytes()}, nil
	default:
		return d.convert(k, top)
	}
}

func convertList(top, items *jsontree.Node, apiVersion string) (Converted, error) {
	var notes []string
	for _, item := range items.Elements() {
		converted, err := Convert(item.Bytes(), apiVersion)
		if err != nil {
			return Converted{}, err
		}
		notes = append(notes, converted.Notes...)
		item.Overwrite(jsontree.Replace, converted.Object)
	}
	set(top, "apiVersion", apiVersion)
	return Converted{Object: top.Bytes(), Notes: notes}, nil
}

// describe names an object for a message.
func describe(top *jsontree.Node) string {
	text := top.TextOf("apiVersion") + " " + top.TextOf("kind")
	metadata := top.Object("metadata")
	if metadata == nil {
		return text
	}
	if namespace := metadata.TextOf("namespace"); namespace != "" {
		return text + " " + namespace + "/" + metadata.TextOf("name")
	}
	return text + " " + metadata.TextOf("name")
}

// direction is one of the two ways.
type direction struct {
	group string
	// up is from v1alpha1 to v1beta1.
	up bool
}

func directionOf(from, to string) (direction, error) {
	source, err := schema.ParseGroupVersion(from)
	if err != nil {
		return direction{}, &FieldError{Field: "apiVersion", Err: err}
	}
	target, err := schema.ParseGroupVersion(to)
	switch {
	case err != nil:
		return direction{}, err
	case source.Group != target.Group:
		return direction{}, errors.New("the groups differ")
	case source.Version == Alpha && target.Version == Beta:
		return direction{group: target.Group, up: true}, nil
	case source.Version == Beta && target.Version == Alpha:
		return direction{group: target.Group}, nil
	default:
		return direction{}, fmt.Errorf("only %s and %s are known", Alpha, Beta)
	}
}

func (d direction) version() string {
	if d.up {
		return Beta
	}
	return Alpha
}

// convert converts the object and sees to it that the way back loses nothing.
func (d direction) convert(k *kind, top *jsontree.Node) (Converted, error) {
	source := &work{top: top}
	kept := source.takeKept(d.version())
	if source.err != nil {
		return Converted{}, source.err
	}
	target, err := d.translated(k, top)
	if err != nil {
		return Converted{}, err
	}
	if err = d.restore(k, target, top, kept); err != nil {
		return Converted{}, err
	}
	records, err := d.lost(k, top, target.top)
	if err != nil {
		return Converted{}, err
	}
	d.keep(k, target, records)
	set(target.top, "apiVersion", schema.GroupVersion{Group: d.group, Version: d.version()}.String())
	return Converted{Object: target.top.Bytes(), Notes: target.notes}, nil
}

// translated is a copy of the object, as the other version spells it by itself.
func (d direction) translated(k *kind, top *jsontree.Node) (*work, error) {
	if d.up {
		return run(k.up, top)
	}
	return run(k.down, top)
}

func run(translate func(*work), top *jsontree.Node) (*work, error) {
	w := &work{top: top.Clone()}
	translate(w)
	if w.err != nil {
		return nil, w.err
	}
	return w, nil
}

// lost lists what the way back from target, left to itself, would get wrong of the object that was given.
func (d direction) lost(k *kind, given, target *jsontree.Node) ([]record, error) {
	back, err := direction{group: d.group, up: !d.up}.translated(k, target)
	if err != nil && !d.up {
		// v1beta1 holds what v1alpha1 may not say. It can be read all the same; writing it back will be refused.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !d.up || k.canonical == nil {
		return differences(back.top, given), nil
	}
	respelled, err := run(k.canonical, given)
	if err != nil {
		return nil, err
	}
	// What was put back may have brought the given spelling back.
	return slices.DeleteFunc(differences(back.top, respelled.top), func(r record) bool {
		return jsontree.Equal(r.at(back.top), r.at(given))
	}), nil
}
