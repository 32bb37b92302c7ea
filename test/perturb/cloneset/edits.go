package cloneset

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

func amount(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }

// setEdits are what a user does to the CloneSet: word=value.
var setEdits = map[string]func(*v1beta1.CloneSetSpec, string){
	"replicas":        func(s *v1beta1.CloneSetSpec, v string) { s.Replicas = ptr.To(number(v)) },
	"image":           func(s *v1beta1.CloneSetSpec, v string) { s.Template.Spec.Containers[0].Image = "web:" + v },
	"side":            func(s *v1beta1.CloneSetSpec, v string) { s.Template.Spec.Containers[1].Image = "side:" + v },
	"env":             func(s *v1beta1.CloneSetSpec, v string) { s.Template.Spec.Containers[1].Env[0].Value = v },
	"partition":       rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) { r.Partition = amount(v) }),
	"max-unavailable": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) { r.MaxUnavailable = amount(v) }),
	"max-surge":       rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) { r.MaxSurge = amount(v) }),
	"paused":          rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) { r.Paused = v == "true" }),
	"policy": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) {
		r.PodUpdatePolicy = v1beta1.PodUpdateStrategyType(v)
	}),
	"grace": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) {
		r.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: number(v)}
	}),
	"scale-unavailable": func(s *v1beta1.CloneSetSpec, v string) { s.ScaleStrategy.MaxUnavailable = amount(v) },
	"min-ready":         func(s *v1beta1.CloneSetSpec, v string) { s.MinReadySeconds = number(v) },
	"progress-deadline": func(s *v1beta1.CloneSetSpec, v string) { s.ProgressDeadlineSeconds = ptr.To(number(v)) },
	"history":           func(s *v1beta1.CloneSetSpec, v string) { s.RevisionHistoryLimit = ptr.To(number(v)) },
	"reuse-claims":      func(s *v1beta1.CloneSetSpec, v string) { s.ScaleStrategy.EnablePVCReuse = v == "true" },
	"claims": func(s *v1beta1.CloneSetSpec, _ string) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	},
	"exclude-preparing": func(s *v1beta1.CloneSetSpec, v string) { s.ScaleStrategy.ExcludePreparingDelete = v == "true" },
	"update-type":       func(s *v1beta1.CloneSetSpec, v string) { s.UpdateStrategy.Type = v1beta1.CloneSetUpdateStrategyType(v) },
}

func rolling(edit func(*v1beta1.RollingUpdateCloneSetStrategy, string)) func(*v1beta1.CloneSetSpec, string) {
	return func(s *v1beta1.CloneSetSpec, v string) { edit(s.UpdateStrategy.RollingUpdate, v) }
}

// podEdits are what somebody does to the Pod with a number, by name.
var podEdits = map[string]func(*apiserver.Server, *corev1.Pod) error{
	// Its user asks the controller to delete it, by either of the ways.
	"delete-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Edit(s.KeyOf(pod), func(obj client.Object) { obj.GetLabels()[v1beta1.SpecifiedDeleteLabel] = "true" })
	},
	"name-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Edit(parent, func(obj client.Object) {
			scale := &obj.(*v1beta1.CloneSet).Spec.ScaleStrategy
			scale.PodsToDelete = append(scale.PodsToDelete, pod.Name)
		})
	},
	// kubectl delete pod.
	"kill-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Delete(s.KeyOf(pod), &client.DeleteOptions{})
	},
	// The node evicts it.
	"fail-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Edit(s.KeyOf(pod), func(obj client.Object) { obj.(*corev1.Pod).Status.Phase = corev1.PodFailed })
	},
	// Its labels leave the selector.
	"release-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Edit(s.KeyOf(pod), func(obj client.Object) { obj.GetLabels()["app"] = "other" })
	},
}

// edit does what a word=value says.
func edit(s *apiserver.Server, text string) error {
	word, value, _ := strings.Cut(text, "=")
	if text == "delete" {
		return s.Delete(parent, &client.DeleteOptions{})
	}
	if of, is := setEdits[word]; is {
		return s.Edit(parent, func(obj client.Object) { of(&obj.(*v1beta1.CloneSet).Spec, value) })
	}
	of, is := podEdits[word]
	if !is {
		return fmt.Errorf("nobody knows how to do %q", text)
	}
	pods := activePods(s)
	if len(pods) == 0 {
		return nil
	}
	return of(s, pods[int(number(value))%len(pods)])
}

func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("an edit has %q for a number", text))
	}
	return int32(n)
}
