package admissionlive

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// probe asks the API server for a Pod of a CloneSet as a dry run, and looks for the readiness gate that admission gives
// such Pods. The API server's error names the webhook, the Service and what is wrong with it, such as no endpoints.
func (c *Checker) probe(ctx context.Context) error {
	pod := probePod(c.namespace)
	if err := c.api.Create(ctx, pod, client.DryRunAll); err != nil {
		return fmt.Errorf("creating a dry-run Pod in namespace %s: %w", c.namespace, err)
	}
	gated := slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return g.ConditionType == v1beta1.KruisePodReady
	})
	if !gated {
		return fmt.Errorf("a dry-run Pod in namespace %s came back without the readiness gate %s: the API server has not called the webhook mpod.kb.io, "+
			"because it has not seen its configuration yet, the webhook does not cover the namespace, or its failure policy ignored an error",
			c.namespace, v1beta1.KruisePodReady)
	}
	return nil
}

// probePod satisfies the "restricted" Pod Security Standard and asks for next to nothing, so that neither a namespace's
// policy nor its quota refuses it. It is never stored: no image is pulled.
func probePod(namespace string) *corev1.Pod {
	tiny := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi"),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      "kruise-admission-probe",
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "kruise-admission-probe",
				UID: "00000000-0000-0000-0000-000000000000", Controller: ptr.To(true), // nobody's
			}},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				RunAsUser:      ptr.To[int64](65534),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:      "probe",
				Image:     "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: tiny, Limits: tiny},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					ReadOnlyRootFilesystem:   ptr.To(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
