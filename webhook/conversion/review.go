package conversion

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// The versions of ConversionReview that are understood. Each is answered in kind.
const (
	V1      = "apiextensions.k8s.io/v1"
	V1Beta1 = "apiextensions.k8s.io/v1beta1"
)

const kindName = "ConversionReview"

// request is a decoded ConversionReview. Its objects alias the body.
type request struct {
	apiVersion, kind string
	asked            bool
	uid              string
	desired          string
	objects          []jsontext.Value
}

// decode reads one ConversionReview. The request has what could be read also when there is an error, so that the answer
// can name the uid.
func decode(body []byte) (*request, error) {
	r := &request{}
	if len(body) == 0 {
		return r, errors.New("reading the review: the body is empty, send a ConversionReview as JSON")
	}
	if err := jsonwalk.Walk(body, r.read); err != nil {
		return r, fmt.Errorf("reading the review: %w", err)
	}
	switch {
	case r.kind != kindName:
		return r, fmt.Errorf("reading the review: kind is %q, expected %s", r.kind, kindName)
	case r.apiVersion != V1 && r.apiVersion != V1Beta1:
		return r, fmt.Errorf("reading the review: apiVersion is %q, expected %s or %s", r.apiVersion, V1, V1Beta1)
	case !r.asked:
		return r, errors.New("reading the review: it has no request")
	case r.uid == "":
		return r, errors.New("reading the review: request.uid is missing")
	case r.desired == "":
		return r, errors.New("reading the review: request.desiredAPIVersion is missing")
	}
	return r, nil
}

func (r *request) read(w *jsonwalk.Walker) error {
	if w.Kind() != jsontext.KindBeginObject && w.Kind() != jsontext.KindInvalid {
		return fmt.Errorf("the document is a %v, expected an object", w.Kind())
	}
	return w.Object(func(name string) (err error) {
		switch name {
		case "apiVersion":
			r.apiVersion, err = w.String()
		case "kind":
			r.kind, err = w.String()
		case "request":
			r.asked = w.Kind() == jsontext.KindBeginObject
			err = w.Object(func(name string) error { return r.readRequest(w, name) })
		}
		return err
	})
}

func (r *request) readRequest(w *jsonwalk.Walker, name string) (err error) {
	switch name {
	case "uid":
		r.uid, err = w.String()
	case "desiredAPIVersion":
		r.desired, err = w.String()
	case "objects":
		r.objects = nil
		err = w.Array(func() error {
			object, wrong := w.Value()
			r.objects = append(r.objects, object)
			return wrong
		})
	}
	return err
}
