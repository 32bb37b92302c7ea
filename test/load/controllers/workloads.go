package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// maxUnavailable is that of all rollouts, for a CloneSet and a Deployment alike.
var maxUnavailable = intstr.FromString("25%")

// timed makes the pretended kubelet report on a Pod as often and as late as a real one (test/cluster/internal/kubelets): what
// that writes is part of what is compared with a Deployment, whose Pods start and end where those of a CloneSet are changed.
var timed = map[string]string{"bank.test/kubelet": "timed"}

// template is a Pod with two containers and some env, as large as Pods commonly are.
func template(image string) corev1.PodTemplateSpec {
	env := make([]corev1.EnvVar, 10)
	for i := range env {
		env[i] = corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value that is neither short nor long"}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: timed},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "web", Image: image, Env: env, Ports: []corev1.ContainerPort{{ContainerPort: 8080}}},
			{Name: "log", Image: "bank.test/log:v1", Env: env},
		}},
	}
}

// cloneSet has Pods with the gate that admission gives to Pods of CloneSets.
func cloneSet(namespace, name string, replicas int) *v1beta1.CloneSet {
	set := &v1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta1.CloneSetSpec{
			Replicas: ptr.To(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "set": name}},
			Template: template("bank.test/web:v1"),
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{
				Type: v1beta1.RollingUpdateCloneSetUpdateStrategyType,
				RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{
					PodUpdatePolicy: v1beta1.InPlaceIfPossiblePodUpdateStrategyType, MaxUnavailable: &maxUnavailable,
				},
			},
		},
	}
	set.Spec.Template.Labels["set"] = name
	set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1beta1.KruisePodReady}}
	return set
}

// deployment rolls out as Deployments do unless told otherwise: with a surge beside what may be unavailable.
func deployment(namespace, name string, replicas int) *appsv1.Deployment {
	made := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template("bank.test/web:v1"),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: &maxUnavailable, MaxSurge: &maxUnavailable,
			}},
		},
	}
	return made
}

// edit changes a workload as a user does.
func edit[T client.Object](ctx context.Context, w *world, obj T, change func(T)) error {
	if err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of one is one
	change(obj)
	return w.Patch(ctx, obj, client.MergeFrom(base))
}

// settled waits until a CloneSet says that all its Pods are available at the newest revision.
func (w *world) settled(ctx context.Context, set *v1beta1.CloneSet) error {
	return eventually(ctx, "CloneSet "+set.Name+" is rolled out", func() error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return err
		}
		s, want := set.Status, *set.Spec.Replicas
		if s.ObservedGeneration == set.Generation && s.Replicas == want && s.UpdatedAvailableReplicas == want && s.CurrentRevision == s.UpdateRevision {
			return nil
		}
		return fmt.Errorf("at generation %d its status is %+v", set.Generation, s)
	})
}
