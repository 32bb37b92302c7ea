package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/terminal/coverage"
	"github.com/fairlead-io/fairlead/internal/terminal/review"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/table"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// Explainer explains Pods.
type Explainer struct {
	Reviewer *review.Reviewer
	// Cluster is nil where there is none to ask.
	Cluster *terminal.Cluster
}

// Created explains the Pod that a request would create: what admission makes of it.
func (e *Explainer) Created(ctx context.Context, request review.Request) (*PodReport, error) {
	result, err := e.Reviewer.Review(ctx, request) // also makes the namespace known, where that is only assumed
	if err != nil {
		return nil, err
	}
	view, err := podview.Parse(request.Object, result.Namespace)
	if err != nil {
		return nil, terminal.Usage(err)
	}
	report, err := e.report(ctx, view, jsontext.Value(result.Object), false)
	if err != nil {
		return nil, err
	}
	report.Name, report.Notes = result.Name, append(result.Notes, report.Notes...)
	for _, verdict := range result.Webhooks {
		if verdict.Decision == review.Denied || verdict.Decision == review.Failed {
			report.Admission.Refused = verdict.Webhook + ": " + verdict.Message
		}
	}
	return report, nil
}

// Stored explains a Pod of the cluster.
func (e *Explainer) Stored(ctx context.Context, namespace, name string) (*PodReport, error) {
	raw, err := e.Cluster.Get(ctx, podResource, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, terminal.Usage(err)
	}
	if err != nil {
		return nil, terminal.Unreachable(err)
	}
	view, err := podview.Parse(raw, namespace)
	if err != nil {
		return nil, err
	}
	return e.report(ctx, view, raw, true)
}

// report explains a Pod. object is what is, or would be, stored.
func (e *Explainer) report(ctx context.Context, view *podview.Pod, object jsontext.Value, stored bool) (*PodReport, error) {
	report := &PodReport{Namespace: view.Namespace, Name: view.Name, Stored: stored}
	var err error
	if report.Admission, err = e.admission(ctx, view); err != nil {
		return nil, err
	}
	if report.SidecarSets, err = sidecarSets(ctx, e.Reviewer.Judge.Sidecars, view, stored); err != nil {
		var refusal *admission.Refusal
		if !errors.As(err, &refusal) {
			return nil, terminal.Unreachable(err)
		}
		report.Admission.Refused = err.Error()
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(object, pod); err != nil {
		return nil, terminal.Usage(fmt.Errorf("reading Pod %s: %w", view.Name, err))
	}
	pod.Namespace = view.Namespace
	report.Gates = gates(ctx, pod, view, e.Reviewer.Judge.Gates.Enabled(features.KruisePodReadinessGate))
	return report, e.fromCluster(ctx, pod, report)
}

// fromCluster adds what only a cluster can tell. What may not be read becomes a note: the rest is worth reading without it.
func (e *Explainer) fromCluster(ctx context.Context, pod *corev1.Pod, report *PodReport) error {
	var barrier *corev1.ConfigMap
	var err error
	if report.Stored {
		name := pod.Name + v1beta1.ContainerLaunchBarrierSuffix
		barrier, err = e.Cluster.Client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			barrier = nil
		}
		if launch(pod, nil) != nil && err != nil && !apierrors.IsNotFound(err) {
			report.Notes = append(report.Notes, fmt.Sprintf("reading ConfigMap %s: %v", name, err))
		}
	}
	report.Launch = launch(pod, barrier)
	if e.Cluster == nil {
		report.Notes = append(report.Notes, "without a cluster nothing is known of PodUnavailableBudgets")
		return nil
	}
	if report.Budgets, err = budgets(ctx, e.Cluster, pod, e.watchingDeletion()); err != nil {
		if !apierrors.IsForbidden(err) {
			return terminal.Unreachable(err)
		}
		report.Notes = append(report.Notes, fmt.Sprintf("nothing is said of PodUnavailableBudgets: %v", err))
	}
	return e.protection(ctx, pod, report)
}

// admission says whether the webhook of Pods sees such a Pod being created.
func (e *Explainer) admission(ctx context.Context, view *podview.Pod) (Admission, error) {
	judge := e.Reviewer.Judge
	namespace := view.Namespace
	found, _, err := judge.Namespaces.Labels(ctx, namespace)
	if err != nil {
		return Admission{}, terminal.Unreachable(err)
	}
	request := coverage.Request{
		Operation: admissionv1.Create, Resource: podResource, Namespaced: true, Objects: []labels.Set{view.Labels},
		Namespace: labels.Merge(found, labels.Set{corev1.LabelMetadataName: namespace}),
	}
	configuration := judge.Config.Render(judge.Entries, true, table.Target{})
	if configuration == nil || configuration.Entry("mpod.kb.io") == nil {
		return Admission{Why: "the feature gate PodWebhook is off"}, nil
	}
	call := coverage.Of(configuration.Entry("mpod.kb.io"), request)
	return Admission{Called: call.Called, Why: call.Why}, nil
}

// watchingDeletion are the entries that see Pods being deleted or evicted.
func (e *Explainer) watchingDeletion() (names []string) {
	judge := e.Reviewer.Judge
	configuration := judge.Config.Render(judge.Entries, false, table.Target{})
	if configuration == nil {
		return nil
	}
	for i := range configuration.Webhooks {
		for _, request := range []coverage.Request{
			{Operation: admissionv1.Delete, Resource: podResource, Namespaced: true},
			{Operation: admissionv1.Create, Resource: podResource, Subresource: "eviction", Namespaced: true},
		} {
			if coverage.Of(&configuration.Webhooks[i], request).Called {
				names = append(names, configuration.Webhooks[i].Name)
			}
		}
	}
	return names
}

// protection says what labels of deletion protection mean for the Pod.
func (e *Explainer) protection(ctx context.Context, pod *corev1.Pod, report *PodReport) error {
	if mode := pod.Labels[policyv1beta1.DeletionProtectionLabel]; mode != "" {
		report.Protection = append(report.Protection, Protection{
			Object: "Pod " + pod.Name, Mode: mode, Means: "nothing: Pods are not among the kinds that the label protects; protect their workload or namespace",
		})
	}
	found, _, err := e.Reviewer.Judge.Namespaces.Labels(ctx, pod.Namespace)
	if err != nil {
		return terminal.Unreachable(err)
	}
	if mode := found[policyv1beta1.DeletionProtectionLabel]; mode != "" {
		report.Protection = append(report.Protection, Protection{Object: "Namespace " + pod.Namespace, Mode: mode, Means: modeMeans(mode)})
	}
	return nil
}

func modeMeans(mode string) string {
	switch mode {
	case policyv1beta1.DeletionProtectionAlways:
		return "the namespace cannot be deleted, and its Pods with it"
	case policyv1beta1.DeletionProtectionCascading:
		return "the namespace cannot be deleted while this Pod, or another one, is active"
	default:
		return "nothing: the label's values are Always and Cascading"
	}
}
