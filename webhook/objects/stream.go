package objects

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// streamList reads a list item by item and passes each on; what it returns has their versions only. All items at once, as
// a cluster may have 10,000 of several KiB, would be more than what is made of them.
func streamList(stream io.Reader, early func(*Raw)) (*RawList, error) {
	list := &RawList{}
	decoder := newDecoder(stream)
	err := members(decoder, func(name string) error {
		switch name {
		case "metadata":
			value, err := decoder.ReadValue()
			if err != nil {
				return err
			}
			return jsonwalk.Walk(value, func(w *jsonwalk.Walker) error { return readListMeta(w, &list.ListMeta) })
		case "items":
			return list.read(decoder, early)
		default:
			return decoder.SkipValue()
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	return list, nil
}

// read reads the items; null counts as none.
func (l *RawList) read(decoder *jsontext.Decoder, early func(*Raw)) error {
	if start, err := decoder.ReadToken(); err != nil || start.Kind() == jsontext.KindNull {
		return err
	} else if start.Kind() != jsontext.KindBeginArray {
		return fmt.Errorf("items: expected a list, found %s", start.Kind())
	}
	for decoder.PeekKind() != jsontext.KindEndArray {
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		raw, err := newRaw(bytes.Clone(value)) // the decoder reuses its memory
		if err != nil {
			return fmt.Errorf("item %d: %w", len(l.Items), err)
		}
		early(raw)
		l.Items = append(l.Items, *raw.version())
	}
	_, err := decoder.ReadToken()
	return err
}

// members calls fn for each member of an object, which reads its value.
func members(decoder *jsontext.Decoder, fn func(name string) error) error {
	if start, err := decoder.ReadToken(); err != nil {
		return err
	} else if start.Kind() != jsontext.KindBeginObject {
		return fmt.Errorf("expected an object, found %s", start.Kind())
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		if err := fn(name.String()); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}

// events decodes the frames of a watch.
type events struct {
	stream  io.ReadCloser
	decoder *jsontext.Decoder
	// early takes the objects that exist already, which come first; nil once they have come.
	early func(*Raw)
}

var _ watch.Decoder = (*events)(nil)

func newEvents(stream io.ReadCloser, early func(*Raw)) *events {
	return &events{stream, newDecoder(stream), early}
}

func newDecoder(stream io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(stream, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Close implements watch.Decoder.
func (e *events) Close() { _ = e.stream.Close() }

// Decode implements watch.Decoder.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	frame, err := e.decoder.ReadValue()
	if err != nil {
		return "", nil, err
	}
	var kind string
	var object jsontext.Value
	err = jsonwalk.Walk(frame, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "type":
				kind, err = w.String()
			case "object":
				object, err = w.Value()
			}
			return err
		})
	})
	if err != nil {
		return "", nil, fmt.Errorf("reading a watch event: %w", err)
	}
	if watch.EventType(kind) == watch.Error {
		status := &metav1.Status{}
		if err = json.Unmarshal(object, status); err != nil {
			return "", nil, fmt.Errorf("reading the error of a watch: %w", err)
		}
		return watch.Error, status, nil
	}
	raw, err := newRaw(bytes.Clone(object)) // the decoder reuses the frame's memory
	if err != nil {
		return "", nil, fmt.Errorf("reading the object of a watch event: %w", err)
	}
	return watch.EventType(kind), e.begun(watch.EventType(kind), raw), nil
}

// begun passes on what comes before the bookmark that ends the objects which exist already, so that the reflector, which
// collects them until then, collects their versions only.
func (e *events) begun(kind watch.EventType, raw *Raw) *Raw {
	switch {
	case e.early == nil:
	case kind == watch.Added || kind == watch.Modified:
		e.early(raw)
		return raw.version()
	case kind == watch.Bookmark && raw.Annotations[metav1.InitialEventsAnnotationKey] == "true":
		e.early = nil
	}
	return raw
}
