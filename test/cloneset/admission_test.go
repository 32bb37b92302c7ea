package cloneset

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPodsWaitForAdmission has a CloneSet that was there before the installation: its first Pod must not be quicker than the
// webhooks. When the anchor goes, Pods are wanted without them.
func TestPodsWaitForAdmission(t *testing.T) {
	w := newWorld(t)
	anchor := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kruise-anchor"}}
	w.must(client.IgnoreAlreadyExists(w.Create(t.Context(), anchor)))
	ns := w.namespace("waiting")
	set := w.apply(ns, plain)
	w.run("PodWebhook=true")
	w.eventually(func() string {
		events := &corev1.EventList{}
		w.must(w.List(t.Context(), events, client.InNamespace(ns)))
		for _, event := range events.Items {
			if event.Reason == "WaitingForAdmission" && event.InvolvedObject.Name == set.Name &&
				strings.Contains(event.Message, "kruise-mutating-webhook-configuration does not exist") {
				return ""
			}
		}
		return "no event says what the CloneSet waits for"
	})
	time.Sleep(3 * time.Second)
	if pods := w.pods(ns); len(pods) > 0 {
		t.Fatalf("%d Pods were created before admission was there", len(pods))
	}
	w.must(w.Delete(t.Context(), anchor))
	w.eventually(func() string {
		if len(w.pods(ns)) < 3 {
			return "Pods still wait although nobody wants admission"
		}
		return ""
	})
}
