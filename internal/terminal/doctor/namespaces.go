package doctor

import (
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/terminal/coverage"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// podWebhook is the entry that injects.
const podWebhook = "mpod.kb.io"

// podCreation is what the entry is called for, in a namespace with these labels.
func podCreation(name string, set map[string]string) coverage.Request {
	return coverage.Request{
		Operation: admissionv1.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespaced: true,
		Namespace: labels.Merge(set, labels.Set{corev1.LabelMetadataName: name}),
	}
}

// checkNamespaces names the namespaces whose Pods the registered webhook does not see.
func checkNamespaces(ctx context.Context, d *Doctor, r *report) error {
	live, err := d.configuration(ctx, true)
	if err != nil || live == nil || live.Entry(podWebhook) == nil {
		return err // another check says what is missing
	}
	list, err := d.cluster.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var meant, others []string
	for _, namespace := range list.Items {
		switch {
		case coverage.Of(live.Entry(podWebhook), podCreation(namespace.Name, namespace.Labels)).Called:
		case namespace.Name == metav1.NamespaceSystem || namespace.Name == d.config.Namespace:
			meant = append(meant, namespace.Name)
		default:
			others = append(others, namespace.Name)
		}
	}
	object := "MutatingWebhookConfiguration " + table.MutatingName
	if len(meant) > 0 {
		r.add(Info, object, "it leaves out "+strings.Join(meant, " and "), "Pods there get no sidecars, so that the cluster can start without Fairlead", "")
	}
	if len(others) > 0 {
		slices.Sort(others)
		r.add(Warning, object, "it also leaves out "+strings.Join(others, ", "), "Pods there get no sidecars",
			"kubectl get mutatingwebhookconfiguration "+table.MutatingName+" -o yaml; look at the namespaceSelector of "+podWebhook)
	}
	return nil
}

// checkOtherWebhooks names the webhooks that are called for Pods after ours: the API server calls configurations in the order
// of their names.
func checkOtherWebhooks(ctx context.Context, d *Doctor, r *report) error {
	list, err := d.cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].Name <= table.MutatingName {
			continue
		}
		for at := range list.Items[i].Webhooks {
			w := &list.Items[i].Webhooks[at]
			if coverage.Of(w, podCreation("x", nil)).Called || coverage.Of(w, podCreation("default", nil)).Called {
				r.add(Info, "MutatingWebhookConfiguration "+list.Items[i].Name, w.Name+" changes Pods after "+podWebhook,
					"the API server then asks "+podWebhook+" again, which changes nothing that is right; what the other adds gets no launch barrier unless it asks again", "")
			}
		}
	}
	return nil
}
