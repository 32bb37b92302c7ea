package podunavailablebudget

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Pods reads one Pod at the API server; nil if there is none of the name.
type Pods interface {
	Pod(ctx context.Context, namespace, name string) (jsontext.Value, error)
}

// Denial is an operation that was denied.
type Denial struct {
	Namespace, Pod string
	UID            types.UID
	// Owner is the kind and the name of the Pod's controller, "" if it has none.
	OwnerKind, OwnerName string
	Budget               string
	Operation            Operation
	// User is who wanted it. It belongs into audit logs, and nowhere else.
	User    string
	Reason  Reason
	Message string
}

// Admission is what the handler needs.
type Admission struct {
	Checker *Checker
	// Known are budgets that are followed; they may be late.
	Known *Index
	// Pods is asked for Pods that are to be evicted.
	Pods Pods
	// Deletes and Updates are the gates PodUnavailableBudgetDeleteGate, for deletions and evictions, and
	// PodUnavailableBudgetUpdateGate.
	Deletes, Updates bool
	// Denied is told of every denial but those of dry runs; it must not block.
	Denied func(Denial)
}

// NewHandler judges deletions, evictions, updates and resizes of Pods (protection.md §3, pod-admission.md §4), and lets pass
// everything else. A denial is a 403 that names the budget.
func NewHandler(a Admission) admission.Handler { return &handler{a} }

type handler struct{ Admission }

// Handle implements admission.Handler.
func (h *handler) Handle(ctx context.Context, req *admission.Request) admission.Response {
	if req.Resource.Group != "" || req.Resource.Resource != "pods" {
		return admission.Allow()
	}
	var err error
	switch {
	case h.Deletes && req.SubResource == "" && req.Operation == admission.Delete:
		err = h.delete(ctx, req)
	case h.Deletes && req.SubResource == "eviction" && req.Operation == admission.Create:
		err = h.evict(ctx, req)
	case h.Updates && (req.SubResource == "" || req.SubResource == "resize") && req.Operation == admission.Update:
		err = h.update(ctx, req)
	}
	if err != nil {
		return admission.Failed(err)
	}
	return admission.Allow()
}

// word is in both spellings of the annotation that names a Pod's budget. Most Pods have none, and are not decoded.
var word = []byte("related-pub")

func (h *handler) delete(ctx context.Context, req *admission.Request) error {
	if !bytes.Contains(req.OldObject, word) { // also where there is none
		return nil
	}
	pod, err := decode(req.OldObject)
	if err != nil {
		return err
	}
	return h.check(ctx, req, pod, Delete, req.DryRun)
}

// evict reads the Pod, as a request to evict it has none. The API server's own deletion that follows comes to no webhook.
func (h *handler) evict(ctx context.Context, req *admission.Request) error {
	var eviction struct {
		DeleteOptions *metav1.DeleteOptions `json:"deleteOptions"`
	}
	if err := json.Unmarshal(req.Object, &eviction); err != nil {
		return admission.Refuse(400, "decoding Eviction: %v", err)
	}
	raw, err := h.Pods.Pod(ctx, req.Namespace, req.Name)
	if err != nil {
		return asked(err)
	}
	if !bytes.Contains(raw, word) {
		return nil
	}
	pod, err := decode(raw)
	if err != nil {
		return err
	}
	dryRun := req.DryRun || eviction.DeleteOptions != nil && slices.Contains(eviction.DeleteOptions.DryRun, metav1.DryRunAll)
	return h.check(ctx, req, pod, Evict, dryRun)
}

// update judges the Pod as it was: a change must not take itself out of the budget.
func (h *handler) update(ctx context.Context, req *admission.Request) error {
	if !bytes.Contains(req.OldObject, word) {
		return nil
	}
	before, err := partsOf(req.OldObject)
	if err != nil {
		return admission.Refuse(400, "decoding Pod: %v", err)
	}
	name := Related(before.annotations)
	if name == "" || Exempt(before.annotations) || !before.serves() || h.sparesUpdates(req.Namespace, name, &before) {
		return nil
	}
	after, err := partsOf(req.Object)
	if err != nil {
		return admission.Refuse(400, "decoding Pod: %v", err)
	}
	if !matters(&before, &after) {
		return nil
	}
	old, err := decode(req.OldObject)
	if err != nil {
		return err
	}
	updated, err := decode(req.Object)
	if err != nil {
		return err
	}
	return h.check(ctx, req, old, operationOf(old, updated), req.DryRun)
}

// sparesUpdates tells whether the budget is known to leave every update of the Pod alone.
func (h *handler) sparesUpdates(namespace, name string, p *parts) bool {
	for _, operation := range []Operation{Update, Resize} {
		claim := Claim{Pod: p.name, Labels: p.labels, Operation: operation}
		if !h.Known.Spares(types.NamespacedName{Namespace: namespace, Name: name}, claim, h.Checker.ResizeApart) {
			return false
		}
	}
	return true
}

// decode reads as much of a Pod as our types know: nothing is written back.
func decode(raw jsontext.Value) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, admission.Refuse(400, "decoding Pod: %v", err)
	}
	return pod, nil
}

// check is nil if the operation may go on.
func (h *handler) check(ctx context.Context, req *admission.Request, pod *corev1.Pod, operation Operation, dryRun bool) error {
	name := budgetOf(pod)
	if name == "" {
		return nil
	}
	budget := types.NamespacedName{Namespace: req.Namespace, Name: name}
	claim := Claim{Pod: pod.Name, Labels: pod.Labels, Operation: operation, DryRun: dryRun}
	if h.Known.Spares(budget, claim, h.Checker.ResizeApart) {
		return nil
	}
	verdict, err := h.Checker.Claim(ctx, budget, claim)
	switch {
	case err != nil:
		return asked(err)
	case verdict.Allowed():
		return nil
	}
	if !dryRun {
		h.Denied(denialOf(req, pod, name, operation, verdict))
	}
	return admission.Refuse(403, "podunavailablebudgets.policy.kruise.io %q is forbidden: %s of Pod %s is denied: %s",
		name, operation, pod.Name, verdict.Message)
}

// asked is the answer to a request whose look-up failed: the client's 400, unless it is time that was missing.
func asked(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return admission.Refuse(400, "%v", err)
}

func denialOf(req *admission.Request, pod *corev1.Pod, budget string, operation Operation, v Verdict) Denial {
	d := Denial{
		Namespace: req.Namespace, Pod: pod.Name, UID: pod.UID, Budget: budget, Operation: operation,
		User: req.UserInfo.Username, Reason: v.Reason, Message: v.Message,
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		d.OwnerKind, d.OwnerName = owner.Kind, owner.Name
	}
	return d
}
