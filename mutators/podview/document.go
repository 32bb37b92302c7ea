package podview

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

func array(values []jsontext.Value) jsontext.Value {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(v)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// object is a JSON object of one string member.
func object(name, value string) jsontext.Value {
	out := append(jsontext.Value{'{'}, jsontree.Quote(name)...)
	out = append(out, ':')
	out = append(out, jsontree.Quote(value)...)
	return append(out, '}')
}

// render is the container's JSON with the edited and appended entries in it.
func (c *Container) render() jsontext.Value {
	if !c.changed(Env) && !c.changed(VolumeMounts) && !c.changed(VolumeDevices) {
		return c.raw
	}
	out := c.members()
	for f := range fieldCount {
		if c.changed(f) {
			out = member(out, fieldNames[f], c.list(f))
		}
	}
	return append(out, '}')
}

// members starts a copy of the container's object without the lists that were changed.
func (c *Container) members() jsontext.Value {
	out := jsontext.Value{'{'}
	err := jsonwalk.Walk(c.raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) error {
			if f := slices.Index(fieldNames[:], name); f >= 0 && c.changed(Field(f)) {
				return nil
			}
			start := w.Offset()
			if err := w.Skip(); err != nil {
				return err
			}
			out = member(out, name, w.Since(start))
			return nil
		})
	})
	if err != nil {
		panic("podview: container was valid JSON when it was read: " + err.Error())
	}
	return out
}

func member(object jsontext.Value, name string, value jsontext.Value) jsontext.Value {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = jsontree.AppendQuote(object, name)
	object = append(object, ':')
	return append(object, value...)
}

// joinArrays is the array of all elements of two arrays, the first of which may be nil.
func joinArrays(a, b jsontext.Value) jsontext.Value {
	a = bytes.TrimSpace(a)
	if len(a) == 0 || len(bytes.TrimSpace(a[1:len(a)-1])) == 0 {
		return b
	}
	out := append(jsontext.Value{}, a[:len(a)-1]...)
	out = append(out, ',')
	return append(out, b[1:]...)
}

// sameJSON tells whether two values say the same, whatever their order of members; numbers are compared as written.
func sameJSON(a, b jsontext.Value) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	err := v.Format(jsontext.ReorderRawObjects(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return v
}
