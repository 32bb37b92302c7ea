package replica

import (
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// TestAReplicaLeavesTheServiceForConversion looks at the label by which the Service for conversion finds Pods, on a Pod that is
// deleted as a rolling restart deletes it: it is there while the replica serves, and gone while it still listens.
func TestAReplicaLeavesTheServiceForConversion(t *testing.T) {
	w := newWorld(t)
	w.Grant()
	pods := w.client.CoreV1().Pods("kruise-system")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kruise-webhook-a", Labels: map[string]string{"app.kubernetes.io/name": "kruise-webhook"}},
		Spec: corev1.PodSpec{
			// A node that does not exist: deletion waits for its kubelet, as it does while containers end.
			NodeName: "node-1", ServiceAccountName: "kruise-webhook", TerminationGracePeriodSeconds: ptr.To[int64](25),
			Containers: []corev1.Container{{Name: "webhook", Image: "bank.test/fairlead:v1"}},
		},
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	label := func() string {
		pod, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod.Labels["app.kubernetes.io/name"]
	}
	r := w.start(func(run *replica.Cluster) {
		run.REST, run.Identity = w.Account(inprocess.Webhook), pod.Name
		run.Table, run.RegisteredByOthers = table.Config{Namespace: "kruise-system", Service: "kruise-admission"}, true
		run.ShutdownDelay = 20 * time.Second
	})
	if got := label(); got != "kruise" {
		t.Fatalf("the Pod of a ready replica has the label %q, want kruise", got)
	}
	if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.quit()
	w.Until("the replica left", func() bool { return label() == "kruise-webhook" })
	conn, err := net.Dial("tcp", r.webhooks)
	if err != nil {
		t.Fatalf("the replica left when it did not listen any more: %v", err)
	}
	_ = conn.Close()
}
