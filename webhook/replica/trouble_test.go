package replica

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestTroubleIsAnEventOfThePod(t *testing.T) {
	client := fake.NewClientset()
	troubleEvents(t.Context(), client, "kruise-system", "kruise-webhook-1")("Cannot register conversion", errors.New("forbidden"))
	var events []corev1.Event
	for deadline := time.Now().Add(10 * time.Second); len(events) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		list, err := client.CoreV1().Events("kruise-system").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events = list.Items
	}
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.InvolvedObject.Name != "kruise-webhook-1" || e.Type != "Warning" || e.Reason != "RegistrationFailed" || e.Message != "Cannot register conversion: forbidden" {
		t.Errorf("event %+v", e)
	}
}
