// Package review reads and writes AdmissionReviews, admission.k8s.io v1 and v1beta1, without decoding the objects in
// them. It is the hot path of the admission service: one pass over the body, no copy of an object.
package review

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// The versions of AdmissionReview that are understood. Each is answered in kind.
const (
	V1      = "admission.k8s.io/v1"
	V1Beta1 = "admission.k8s.io/v1beta1"
)

const kindName = "AdmissionReview"

// Review is a decoded AdmissionReview.
type Review struct {
	// APIVersion is V1 or V1Beta1, or whatever a malformed review had.
	APIVersion string
	Kind       string
	// Request is nil when the review has none.
	Request *admission.Request
}

// UID is the uid that an answer has to echo, "" when the review has none.
func (r *Review) UID() string {
	if r.Request == nil {
		return ""
	}
	return r.Request.UID
}

// Decode reads one AdmissionReview. The objects of its request alias body. The error says what is wrong in words for
// whoever sent it; the review then has what could be read, so that the answer can still name the uid.
func Decode(body []byte) (*Review, error) {
	review := &Review{}
	if len(body) == 0 {
		return review, errors.New("reading the review: the body is empty, send an AdmissionReview as JSON")
	}
	if err := jsonwalk.Walk(body, review.read); err != nil {
		return review, fmt.Errorf("reading the review: %w", err)
	}
	return review, review.check()
}

func (r *Review) check() error {
	switch {
	case r.Kind != kindName:
		return fmt.Errorf("reading the review: kind is %q, expected %s", r.Kind, kindName)
	case r.APIVersion != V1 && r.APIVersion != V1Beta1:
		return fmt.Errorf("reading the review: apiVersion is %q, expected %s or %s", r.APIVersion, V1, V1Beta1)
	case r.Request == nil:
		return errors.New("reading the review: it has no request")
	case r.Request.UID == "":
		return errors.New("reading the review: request.uid is missing")
	}
	for _, object := range []struct {
		name  string
		value jsontext.Value
	}{{"object", r.Request.Object}, {"oldObject", r.Request.OldObject}, {"options", r.Request.Options}} {
		if object.value != nil && object.value.Kind() != jsontext.KindBeginObject {
			return fmt.Errorf("reading the review: request.%s is a %v, expected an object", object.name, object.value.Kind())
		}
	}
	return nil
}

func (r *Review) read(w *jsonwalk.Walker) error {
	if w.Kind() != jsontext.KindBeginObject && w.Kind() != jsontext.KindInvalid {
		return fmt.Errorf("the document is a %v, expected an object", w.Kind())
	}
	return w.Object(func(name string) (err error) {
		switch name {
		case "apiVersion":
			r.APIVersion, err = w.String()
		case "kind":
			r.Kind, err = w.String()
		case "request":
			if w.Kind() != jsontext.KindNull {
				r.Request = &admission.Request{}
				err = readRequest(w, r.Request)
			}
		}
		return err
	})
}

func readRequest(w *jsonwalk.Walker, req *admission.Request) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "uid":
			req.UID, err = w.String()
		case "kind":
			err = readKind(w, &req.Kind)
		case "resource":
			err = readResource(w, &req.Resource)
		case "subResource":
			req.SubResource, err = w.String()
		case "name":
			req.Name, err = w.String()
		case "namespace":
			req.Namespace, err = w.String()
		case "operation":
			var operation string
			operation, err = w.String()
			req.Operation = admission.Operation(operation)
		case "userInfo":
			err = readUser(w, &req.UserInfo)
		case "object":
			req.Object, err = w.Value()
		case "oldObject":
			req.OldObject, err = w.Value()
		case "options":
			req.Options, err = w.Value()
		case "dryRun":
			req.DryRun, err = w.Bool()
		}
		return err
	})
}

func readKind(w *jsonwalk.Walker, kind *metav1.GroupVersionKind) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "group":
			kind.Group, err = w.String()
		case "version":
			kind.Version, err = w.String()
		case "kind":
			kind.Kind, err = w.String()
		}
		return err
	})
}

func readResource(w *jsonwalk.Walker, resource *metav1.GroupVersionResource) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "group":
			resource.Group, err = w.String()
		case "version":
			resource.Version, err = w.String()
		case "resource":
			resource.Resource, err = w.String()
		}
		return err
	})
}

func readUser(w *jsonwalk.Walker, user *admission.UserInfo) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "username":
			user.Username, err = w.String()
		case "uid":
			user.UID, err = w.String()
		case "extra":
			user.Extra, err = w.Value()
		case "groups":
			err = w.Array(func() error {
				group, failure := w.String()
				user.Groups = append(user.Groups, group)
				return failure
			})
		}
		return err
	})
}
