// Package review asks the handlers of admission, in this process, what they would do with objects in files: what the
// API server would send them, in its order, and nothing is stored anywhere.
package review

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/terminal/coverage"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// Options are what a Reviewer needs.
type Options struct {
	Judge     *replica.Judge
	Resources Resources
	// User is who asks.
	User admission.UserInfo
	// Assume says that a namespace which is not among the objects exists, with no label but its name.
	Assume bool
}

// Reviewer judges requests.
type Reviewer struct {
	Options
	webhooks []bound
	// policies are those of users, and elsewhere those of them that are not known here.
	policies  []bound
	elsewhere []admissionv1.MutatingWebhook
}

// bound is a webhook of the table and how it is registered.
type bound struct {
	entry      table.Entry
	registered admissionv1.MutatingWebhook
}

// New makes a Reviewer. Mutating webhooks come first, as they do in the API server.
func New(o Options) *Reviewer {
	r := &Reviewer{Options: o}
	for _, mutating := range []bool{true, false} {
		configuration := o.Judge.Config.Render(o.Judge.Entries, mutating, table.Target{})
		for _, entry := range o.Judge.Entries {
			if entry.Mutating == mutating {
				r.webhooks = append(r.webhooks, bound{entry, *configuration.Entry(entry.Name)})
			}
		}
	}
	return r
}

// AddPolicies has users' policies judge too, as the API server asks them: after all that changes objects. elsewhere are webhooks of
// policies that are not known here. What their match conditions leave out, the handlers leave out themselves.
func (r *Reviewer) AddPolicies(entries []table.Entry, elsewhere []admissionv1.MutatingWebhook) {
	if configuration := r.Judge.Config.RenderInto(table.PoliciesName, entries, table.Target{}); configuration != nil {
		for _, entry := range entries {
			registered := *configuration.Entry(entry.Name)
			registered.MatchConditions = nil
			r.policies = append(r.policies, bound{entry, registered})
		}
	}
	r.elsewhere = append(r.elsewhere, elsewhere...)
}

// Request is what is to be judged.
type Request struct {
	// Source says where the object comes from, such as file:line, and Of which workload's template it was made of.
	Source, Of string
	Operation  admission.Operation
	// Object and Old are JSON; an operation has those that the API server would send.
	Object, Old jsontext.Value
	// Namespace is used for objects that name none.
	Namespace string
}

// Review judges one request. The error says that it cannot be sent at all.
func (r *Reviewer) Review(ctx context.Context, request Request) (*Result, error) {
	s, err := r.subject(request)
	if err != nil {
		return nil, err
	}
	result := &Result{
		Source: request.Source, TemplateOf: request.Of, Operation: string(request.Operation), APIVersion: s.kind.GroupVersion().String(), Kind: s.kind.Kind,
		Namespace: s.namespace, Name: s.shownName(), Allowed: true, Object: json.RawMessage(request.Object),
	}
	covered, err := r.coverage(ctx, s, result)
	if err != nil {
		return nil, err
	}
	mutated := true // validating webhooks are asked together, but only about what no mutating one refused
	for i := range r.webhooks {
		b := &r.webhooks[i]
		call := coverage.Of(&b.registered, covered)
		if !call.Called {
			result.notCalled(b.entry, call, covered)
			continue
		}
		if !mutated {
			continue
		}
		if err := r.ask(ctx, b, s, call, result); err != nil {
			return nil, err
		}
		mutated = result.Allowed || !b.entry.Mutating
	}
	if mutated {
		if err := r.askPolicies(ctx, s, covered, result); err != nil {
			return nil, err
		}
	}
	if result.Operation == string(admission.Delete) {
		result.Object = nil
	}
	return result, nil
}

// askPolicies has the sets judge that the API server asks.
func (r *Reviewer) askPolicies(ctx context.Context, s *subject, covered coverage.Request, result *Result) error {
	for i := range r.policies {
		b := &r.policies[i]
		call := coverage.Of(&b.registered, covered)
		if !call.Called {
			result.notCalled(b.entry, call, covered)
			continue
		}
		exactly := b.registered
		exactly.MatchPolicy = ptr.To(admissionv1.Exact)
		if !coverage.Of(&exactly, covered).Called {
			result.Notes = append(result.Notes, fmt.Sprintf("%s is asked about another version than %s, to which the API server converts: review the object in that one",
				b.entry.Name, s.resource.Version))
			continue
		}
		if err := r.ask(ctx, b, s, call, result); err != nil {
			return err
		}
	}
	for i := range r.elsewhere {
		if coverage.Of(&r.elsewhere[i], covered).Called {
			result.Notes = append(result.Notes, r.elsewhere[i].Name+" is asked too, whose rules are in a bundle: they are not known here")
		}
	}
	return nil
}

// ask has one webhook judge what those before it made of the object.
func (r *Reviewer) ask(ctx context.Context, b *bound, s *subject, call coverage.Webhook, result *Result) error {
	response := b.entry.Handler.Handle(ctx, &admission.Request{
		UID: "00000000-0000-0000-0000-000000000000", Kind: metav1.GroupVersionKind(s.kind), Resource: metav1.GroupVersionResource(s.resource),
		Name: s.name, Namespace: s.namespace, Operation: s.operation, DryRun: true, UserInfo: r.User,
		Object: jsontext.Value(result.Object), OldObject: s.old,
	})
	verdict := Verdict{Webhook: b.entry.Name, Decision: Allowed, Warnings: response.Warnings, NotEvaluated: call.Unsure}
	switch {
	case response.Fault != 0:
		verdict.Decision = Failed
		result.Allowed = result.Allowed && *b.registered.FailurePolicy == admissionv1.Ignore
		verdict.FailurePolicy = string(*b.registered.FailurePolicy)
	case !response.Allowed:
		verdict.Decision, result.Allowed = Denied, false
	case len(response.Patch) > 0 && string(response.Patch) != "[]":
		verdict.Decision = Changed
		if err := result.apply(response.Patch); err != nil {
			return fmt.Errorf("applying the patch of %s: %w", b.entry.Name, err)
		}
	}
	if status := response.Status; status != nil {
		verdict.Code, verdict.Reason, verdict.Message = status.Code, string(status.Reason), status.Message
	}
	result.Webhooks = append(result.Webhooks, verdict)
	result.Warnings = append(result.Warnings, response.Warnings...)
	return nil
}

func (result *Result) apply(document jsontext.Value) error {
	patch, err := jsonpatch.DecodePatch(document)
	if err != nil {
		return err
	}
	var operations []json.RawMessage
	if err := json.Unmarshal(document, &operations); err != nil {
		return err
	}
	result.Patch = append(result.Patch, operations...)
	result.Object, err = patch.Apply(result.Object)
	return err
}

// coverage is what decides which webhooks are called.
func (r *Reviewer) coverage(ctx context.Context, s *subject, result *Result) (coverage.Request, error) {
	c := coverage.Request{
		Operation: admissionv1.OperationType(s.operation), Resource: s.resource, Namespaced: s.namespaced, Objects: s.labels,
	}
	switch {
	case s.kind.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		c.Namespace = named(s.name, s.labels[0])
	case s.namespaced:
		found, exists, err := r.Judge.Namespaces.Labels(ctx, s.namespace)
		if err != nil {
			return c, err
		}
		if !exists {
			result.Notes = append(result.Notes, r.unknownNamespace(s.namespace))
			found = named(s.namespace, nil)
			if r.Assume {
				if err := r.Judge.Namespaces.Upsert(namespaceObject(s.namespace)); err != nil {
					return c, err
				}
			}
		}
		c.Namespace = found
	}
	return c, nil
}

func (r *Reviewer) unknownNamespace(name string) string {
	if r.Assume {
		return fmt.Sprintf("namespace %s is not among the objects; it is taken for one without labels", name)
	}
	return fmt.Sprintf("there is no namespace %s: the API server would refuse the request", name)
}

func namespaceObject(name string) jsontext.Value {
	encoded, err := json.Marshal(corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		panic(fmt.Sprintf("encoding a Namespace: %v", err))
	}
	return encoded
}

// named adds the label that the API server gives every namespace.
func named(name string, set labels.Set) labels.Set {
	return labels.Merge(set, labels.Set{corev1.LabelMetadataName: name})
}
