//go:build e2e

package e2e

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyadmission "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
	"github.com/fairlead-io/fairlead/test/inprocess"
	"github.com/fairlead-io/fairlead/test/installation"
)

// givesTheLeastRights does as the two accounts what they may and may not do, against the real authorizer. What they need
// besides is shown by the tests on nodes, which would not work without it.
func givesTheLeastRights(t *testing.T, c *cluster.Cluster) {
	r := newRelease(t, c, "default", "--set", "crds.managed=false")
	r.install()
	defer r.uninstall()
	apply(t, c, "{apiVersion: v1, kind: Secret, metadata: {name: foreign, namespace: kruise-system}}")
	apply(t, c, "{apiVersion: v1, kind: Secret, metadata: {name: foreign, namespace: default}}")
	defer kubectl(t, c, "delete", "secret", "foreign")
	webhook, manager := account(t, c, "kruise-webhook"), account(t, c, "kruise-manager")
	own := applyadmission.MutatingWebhookConfiguration("kruise-mutating-webhook-configuration")
	foreign := applyadmission.MutatingWebhookConfiguration("foreign")
	force := metav1.ApplyOptions{FieldManager: "fairlead", Force: true}
	get, list, del := metav1.GetOptions{}, metav1.ListOptions{}, metav1.DeleteOptions{}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	byName := metav1.ListOptions{FieldSelector: "metadata.name=kruise-anchor"}
	configurations := webhook.AdmissionregistrationV1()

	tests := []struct {
		name    string
		do      func() error
		allowed bool
	}{
		{"admission creates its configuration by applying it", func() error {
			_, err := configurations.MutatingWebhookConfigurations().Apply(t.Context(), own, force)
			return err
		}, true},
		{"admission applies another configuration", func() error {
			_, err := configurations.MutatingWebhookConfigurations().Apply(t.Context(), foreign, force)
			return err
		}, false},
		{"admission creates a configuration", func() error {
			_, err := configurations.MutatingWebhookConfigurations().Create(t.Context(),
				&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}, metav1.CreateOptions{})
			return err
		}, false},
		{"admission lists the anchor by name", func() error {
			_, err := configurations.ValidatingWebhookConfigurations().List(t.Context(), byName)
			return err
		}, true},
		{"admission lists every configuration", func() error {
			_, err := configurations.ValidatingWebhookConfigurations().List(t.Context(), list)
			return err
		}, false},
		{"admission deletes its configuration", func() error {
			return configurations.MutatingWebhookConfigurations().Delete(t.Context(), "kruise-mutating-webhook-configuration", del)
		}, true},
		{"admission deletes the anchor", func() error {
			return configurations.ValidatingWebhookConfigurations().Delete(t.Context(), "kruise-anchor", del)
		}, false},
		{"admission reads its Secret", func() error {
			_, err := webhook.CoreV1().Secrets(installation.Namespace).Get(t.Context(), "kruise-webhook-certs", get)
			return err
		}, true},
		{"admission reads another Secret of its namespace", func() error {
			_, err := webhook.CoreV1().Secrets(installation.Namespace).Get(t.Context(), "foreign", get)
			return err
		}, false},
		{"admission reads a Secret elsewhere", func() error {
			_, err := webhook.CoreV1().Secrets("default").Get(t.Context(), "foreign", get)
			return err
		}, false},
		{"admission reads administrators' allow-lists", func() error {
			_, err := webhook.CoreV1().ConfigMaps(installation.Namespace).Get(t.Context(), "kruise-configuration", get)
			return client.IgnoreNotFound(err)
		}, true},
		{"admission reads another ConfigMap of its namespace", func() error {
			_, err := webhook.CoreV1().ConfigMaps(installation.Namespace).Get(t.Context(), "kube-root-ca.crt", get)
			return err
		}, false},
		{"admission tries a PodTemplate in its namespace", func() error {
			_, err := webhook.CoreV1().PodTemplates(installation.Namespace).Create(t.Context(), podTemplate(), dry)
			return err
		}, true},
		{"admission tries a PodTemplate elsewhere", func() error {
			_, err := webhook.CoreV1().PodTemplates("default").Create(t.Context(), podTemplate(), dry)
			return err
		}, false},
		{"admission counts the Pods of a namespace", func() error {
			_, err := webhook.CoreV1().Pods("default").List(t.Context(), list)
			return err
		}, true},
		{"admission watches Pods", func() error {
			_, err := webhook.CoreV1().Pods("").Watch(t.Context(), list)
			return err
		}, false},
		{"admission reads a claim", func() error {
			_, err := webhook.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", get)
			return err
		}, false},
		{"the controllers list Pods", func() error {
			_, err := manager.CoreV1().Pods("").List(t.Context(), list)
			return err
		}, true},
		{"the controllers create a Pod to try admission", func() error {
			_, err := manager.CoreV1().Pods("kruise-daemon-config").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: podTemplate().Template.Spec,
			}, dry)
			return err
		}, true},
		{"the controllers create the Pod of a CloneSet", func() error {
			_, err := manager.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: podTemplate().Template.Spec,
			}, dry)
			return err
		}, true},
		{"the controllers create a PodTemplate", func() error {
			_, err := manager.CoreV1().PodTemplates("default").Create(t.Context(), podTemplate(), dry)
			return err
		}, false},
		{"the controllers list ConfigMaps", func() error {
			_, err := manager.CoreV1().ConfigMaps("").List(t.Context(), list)
			return err
		}, false},
		{"the controllers list Secrets", func() error {
			_, err := manager.CoreV1().Secrets("").List(t.Context(), list)
			return err
		}, false},
	}
	for _, test := range tests {
		err := test.do()
		switch {
		case test.allowed && err != nil:
			t.Errorf("%s: %v, want it allowed", test.name, err)
		case !test.allowed && !apierrors.IsForbidden(err):
			t.Errorf("%s: %v, want it forbidden", test.name, err)
		}
	}
}

func podTemplate() *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "try"},
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}
}

// account is a client with the rights of one of the chart's ServiceAccounts.
func account(t *testing.T, c *cluster.Cluster, name string) *kubernetes.Clientset {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(inprocess.World{T: t, Cluster: c}.Account(name))
	if err != nil {
		t.Fatal(err)
	}
	return clientset
}
