package cloneset

import (
	"errors"
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
	"name-nobody": func(s *v1beta1.CloneSetSpec, v string) {
		s.ScaleStrategy.PodsToDelete = append(s.ScaleStrategy.PodsToDelete, "nobody-"+v)
	},
	"exclude-preparing": func(s *v1beta1.CloneSetSpec, v string) { s.ScaleStrategy.ExcludePreparingDelete = v == "true" },
	"spread": func(s *v1beta1.CloneSetSpec, v string) {
		s.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: v, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway}}
	},
	// Pods with the label go first, or the last one in the end.
	"first": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) {
		r.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{WeightPriority: []v1beta1.UpdatePriorityWeightTerm{{
			Weight: 10, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{canary: v}},
		}}}
	}),
	"order": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) {
		r.PriorityStrategy = &v1beta1.UpdatePriorityStrategy{OrderPriority: []v1beta1.UpdatePriorityOrderTerm{{OrderedKey: v}}}
	}),
	"scatter": rolling(func(r *v1beta1.RollingUpdateCloneSetStrategy, v string) {
		r.ScatterStrategy = []v1beta1.UpdateScatterTerm{{Key: canary, Value: v}}
	}),
	"pre-delete":  hook(func(l *v1beta1.Lifecycle, h *v1beta1.LifecycleHook) { l.PreDelete = h }),
	"hook-update": hook(func(l *v1beta1.Lifecycle, h *v1beta1.LifecycleHook) { l.InPlaceUpdate = h }),
	"pre-normal": func(s *v1beta1.CloneSetSpec, _ string) {
		lifecycleOf(s).PreNormal = &v1beta1.LifecycleHook{LabelsHandler: map[string]string{registered: "true"}}
	},
	"update-type": func(s *v1beta1.CloneSetSpec, v string) { s.UpdateStrategy.Type = v1beta1.CloneSetUpdateStrategyType(v) },
}

func rolling(edit func(*v1beta1.RollingUpdateCloneSetStrategy, string)) func(*v1beta1.CloneSetSpec, string) {
	return func(s *v1beta1.CloneSetSpec, v string) { edit(s.UpdateStrategy.RollingUpdate, v) }
}

const (
	// canary is a label that users give to some Pods.
	canary = "example.com/canary"
	// hold is the label or finalizer by which an operator holds what is done to a Pod, and registered the label by which
	// it says that a new one may go into service.
	hold, registered = "example.com/hold", "example.com/registered"
)

// hook makes a hook of labels, of finalizers, or of labels with markPodNotReady; the template has what holds.
func hook(set func(*v1beta1.Lifecycle, *v1beta1.LifecycleHook)) func(*v1beta1.CloneSetSpec, string) {
	return func(s *v1beta1.CloneSetSpec, v string) {
		h := &v1beta1.LifecycleHook{MarkPodNotReady: v == "unready"}
		if v == "finalizers" {
			h.FinalizersHandler = []string{hold}
			s.Template.Finalizers = []string{hold}
		} else {
			h.LabelsHandler = map[string]string{hold: "true"}
			s.Template.Labels[hold] = "true"
		}
		set(lifecycleOf(s), h)
	}
}

func lifecycleOf(s *v1beta1.CloneSetSpec) *v1beta1.Lifecycle {
	if s.Lifecycle == nil {
		s.Lifecycle = &v1beta1.Lifecycle{}
	}
	return s.Lifecycle
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
	"label-pod": func(s *apiserver.Server, pod *corev1.Pod) error {
		return s.Edit(s.KeyOf(pod), func(obj client.Object) { obj.GetLabels()[canary] = "pod-1" })
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

// edit does what some word=value say: all that is about the CloneSet at once.
func edit(s *apiserver.Server, texts []string) error {
	if theSet(s) == nil {
		return nil // it was deleted, and users know
	}
	var toSet []func(*v1beta1.CloneSetSpec)
	var others []func() error
	for _, text := range texts {
		word, value, _ := strings.Cut(text, "=")
		if of, is := setEdits[word]; is {
			toSet = append(toSet, func(spec *v1beta1.CloneSetSpec) { of(spec, value) })
			continue
		}
		if word == "delete" {
			policy := metav1.DeletionPropagation(value)
			others = append(others, func() error { return s.Delete(parent, &client.DeleteOptions{PropagationPolicy: &policy}) })
			continue
		}
		of, is := podEdits[word]
		if !is {
			return fmt.Errorf("nobody knows how to do %q", text)
		}
		others = append(others, func() error { return editPod(s, of, int(number(value))) })
	}
	err := s.Edit(parent, func(obj client.Object) {
		spec := &obj.(*v1beta1.CloneSet).Spec
		before := spec.DeepCopy()
		for _, do := range toSet {
			do(spec)
		}
		if isRefused(before, spec) {
			*spec = *before
		}
	})
	for _, do := range others {
		err = errors.Join(err, do())
	}
	return err
}

// isRefused tells whether admission refuses what only could be done by making Pods anew, where that is not wanted.
func isRefused(before, after *v1beta1.CloneSetSpec) bool {
	r := after.UpdateStrategy.RollingUpdate
	if r.PodUpdatePolicy != v1beta1.InPlaceOnlyPodUpdateStrategyType {
		return false
	}
	envOf := func(s *v1beta1.CloneSetSpec) string { return s.Template.Spec.Containers[1].Env[0].Value }
	return envOf(before) != envOf(after) || r.MaxSurge.IntValue() > 0 || r.MaxSurge.Type == intstr.String && r.MaxSurge.StrVal != "0%"
}

// editPod edits one of the active Pods, if there are any.
func editPod(s *apiserver.Server, do func(*apiserver.Server, *corev1.Pod) error, number int) error {
	pods := activePods(s)
	if len(pods) == 0 {
		return nil
	}
	return do(s, pods[number%len(pods)])
}

func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("an edit has %q for a number", text))
	}
	return int32(n)
}
