// Package admission has the types that every admission handler speaks: the request of an AdmissionReview with its
// objects left as raw JSON, and the response. It knows nothing about HTTP.
//
// Objects stay raw because a handler reads a narrow view of them and answers with a patch: what no handler looks at
// is never decoded, and so can never be lost.
package admission

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operation is the verb of a request, as the API server spells it.
type Operation string

// The operations of admission.k8s.io.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Request is the request of an AdmissionReview, v1 or v1beta1 (their fields are the same).
type Request struct {
	UID         string                      `json:"uid"`
	Kind        metav1.GroupVersionKind     `json:"kind"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	SubResource string                      `json:"subResource"`
	Name        string                      `json:"name"`
	Namespace   string                      `json:"namespace"`
	Operation   Operation                   `json:"operation"`
	DryRun      bool                        `json:"dryRun"`
	UserInfo    UserInfo                    `json:"userInfo"`

	// Object, OldObject and Options are raw JSON and nil when absent or null. They alias the request's body, which
	// outlives the handler but must not be changed.
	Object    jsontext.Value `json:"object"`
	OldObject jsontext.Value `json:"oldObject"`
	Options   jsontext.Value `json:"options"`
}

// UserInfo is who sent the request.
type UserInfo struct {
	Username string   `json:"username"`
	UID      string   `json:"uid"`
	Groups   []string `json:"groups"`
	// Extra is raw JSON, nil when absent, as the objects of a request are.
	Extra jsontext.Value `json:"extra"`
}

// Handler answers one kind of request. Handlers are safe for concurrent use, and honour ctx, which ends at the
// request's deadline.
type Handler interface {
	Handle(ctx context.Context, req *Request) Response
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, req *Request) Response

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) Response { return f(ctx, req) }

// Response is a verdict, or a fault of ours when Fault is set.
type Response struct {
	Allowed bool
	// Patch is an RFC 6902 document; nil when nothing changes.
	Patch jsontext.Value
	// Status says why a request is refused; nil when it is allowed.
	Status *metav1.Status
	// Warnings are shown to the client by the API server (at most 120 characters each are sure to arrive).
	Warnings []string
	// Fault is the HTTP status, 4xx or 5xx, of an answer that is no verdict: overload, a passed deadline, an internal
	// error. The API server then follows the webhook's failure policy, which an allowed:false would override.
	// 0 for verdicts.
	Fault int
	// Plain has a fault answered with its Status instead of a review. Of a review's the API server tells nobody; a plain one it
	// shows to whoever made the request that the failure policy then refuses.
	Plain bool
}
