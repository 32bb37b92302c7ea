package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refusal is an error that is the request's own fault: it becomes allowed:false with its status. Every other error
// of a handler is a fault of ours and becomes an HTTP 5xx, which leaves the decision to the failure policy. Errors of
// the API client are deliberately not refusals, although they carry a status too.
type Refusal struct { //nolint:errname // it is what it says: handlers refuse
	Status metav1.Status
}

// Error gives the message that the client will see.
func (r *Refusal) Error() string { return r.Status.Message }

// Refuse makes a Refusal with an HTTP code that is also its reason (400 BadRequest, 403 Forbidden, ...).
func Refuse(code int32, format string, args ...any) *Refusal {
	return &Refusal{Status: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reasonOf(code), Message: fmt.Sprintf(format, args...),
	}}
}

// Invalid makes the 422 Refusal of an object whose fields break rules; every error's path is named in the details.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *Refusal {
	return &Refusal{Status: apierrors.NewInvalid(kind, name, errs).Status()}
}

// Allow admits a request unchanged.
func Allow(warnings ...string) Response { return Response{Allowed: true, Warnings: warnings} }

// Patched admits a request with a patch; a nil patch changes nothing.
func Patched(patch jsontext.Value, warnings ...string) Response {
	return Response{Allowed: true, Patch: patch, Warnings: warnings}
}

// Failed turns a handler's error into its answer: a refusal, or a fault.
func Failed(err error) Response {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		status := refusal.Status
		if wrapped := err.Error(); wrapped != refusal.Error() {
			status.Message = wrapped
		}
		return Response{Status: &status}
	}
	code := http.StatusInternalServerError
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		code = http.StatusServiceUnavailable
	}
	return Faulted(code, err.Error())
}

// Faulted is an answer that is no verdict, with its HTTP status.
func Faulted(code int, message string) Response {
	return Response{Fault: code, Status: &metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reasonOf(int32(code)), Message: message,
	}}
}

func reasonOf(code int32) metav1.StatusReason {
	switch code {
	case http.StatusBadRequest:
		return metav1.StatusReasonBadRequest
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusNotFound:
		return metav1.StatusReasonNotFound
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusUnsupportedMediaType:
		return metav1.StatusReasonUnsupportedMediaType
	case http.StatusUnprocessableEntity:
		return metav1.StatusReasonInvalid
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	default:
		return metav1.StatusReasonInternalError
	}
}
