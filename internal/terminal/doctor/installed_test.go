package doctor

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func webhookDeployment(namespace string, ready int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: terminal.WebhookDeployment}, Status: appsv1.DeploymentStatus{ReadyReplicas: ready}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Args: []string{"webhook"}}}
	return d
}

func doctorOf(deployment *appsv1.Deployment, objects ...runtime.Object) *Doctor {
	d := &Doctor{
		config: table.Config{Namespace: "kruise-system", Service: "kruise-admission"}, installation: installed(features.New("")),
		cluster: &terminal.Cluster{Client: fake.NewClientset(objects...)},
	}
	d.installation.Deployment = deployment
	return d
}

// Where nothing is installed, that is the finding, and not what follows from it.
func TestNothingIsInstalled(t *testing.T) {
	left := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: table.MutatingName}, Webhooks: []admissionv1.MutatingWebhook{{Name: "mpod.kb.io"}}}
	for name, c := range map[string]struct {
		objects    []runtime.Object
		findings   int
		says, cure string
	}{
		"nothing":           {nil, 1, "Fairlead is not installed in namespace kruise-system (", "helm upgrade --install"},
		"another namespace": {[]runtime.Object{webhookDeployment("platform", 2), left}, 1, "not installed in namespace kruise-system", "it is in platform: fairlead doctor --fairlead-namespace platform"},
		"what is left":      {[]runtime.Object{left}, 2, "it is still registered, and nobody answers", "kubectl delete mutatingwebhookconfiguration " + table.MutatingName},
	} {
		findings, err := doctorOf(nil, c.objects...).Examine(t.Context(), "deployments", "rights", "policies", "endpoints")
		if err != nil || len(findings) != c.findings {
			t.Fatalf("%s: %+v, %v", name, findings, err)
		}
		if last := findings[len(findings)-1]; last.Severity != Error || !strings.Contains(last.Message, c.says) || !strings.Contains(last.Cure, c.cure) {
			t.Errorf("%s: %+v", name, last)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-system", Name: "kruise-admission"}}
	for _, there := range []runtime.Object{webhookDeployment("kruise-system", 1), service} {
		if !doctorOf(nil, there).installed(t.Context()) {
			t.Errorf("%T is nothing", there)
		}
	}
}

// What nobody answers is not well.
func TestChecksWithoutAReplica(t *testing.T) {
	for ready, want := range map[int32]Severity{0: Error, 1: OK} {
		deployment := webhookDeployment("kruise-system", ready)
		findings, err := doctorOf(deployment, deployment).Examine(t.Context(), "policies")
		if err != nil || len(findings) != 1 || findings[0].Severity != want {
			t.Errorf("%d ready: %+v, %v", ready, findings, err)
		}
	}
	r := &report{}
	doctorOf(webhookDeployment("kruise-system", 0)).judgeReplicas(r, "objects are not converted", unconverted())
	if got := found(t, r); got.Severity != Error || !strings.Contains(got.Means, "SidecarSet") || strings.Contains(got.Means, "NodePodProbe") {
		t.Errorf("%+v", got)
	}
}
