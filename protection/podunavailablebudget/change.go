package podunavailablebudget

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// parts are those of a Pod that decide about most updates of it, without decoding the whole.
type parts struct {
	name                string
	labels, annotations map[string]string
	spec                jsontext.Value
	// terminating, running and ready are what Ready looks at beside labels.
	terminating, running, ready bool
}

func (p *parts) serves() bool {
	return !p.terminating && p.running && p.ready && !MarkedUnavailable(p.labels)
}

func partsOf(raw jsontext.Value) (p parts, err error) {
	err = jsonwalk.Walk(raw, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "metadata":
				err = p.readMetadata(w)
			case "spec":
				p.spec, err = w.Value()
			case "status":
				err = p.readStatus(w)
			}
			return err
		})
	})
	return p, err
}

func (p *parts) readMetadata(w *jsonwalk.Walker) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "name":
			p.name, err = w.String()
		case "labels":
			p.labels, err = w.Strings()
		case "annotations":
			p.annotations, err = w.Strings()
		case "deletionTimestamp":
			var at string
			at, err = w.String()
			p.terminating = at != ""
		}
		return err
	})
}

func (p *parts) readStatus(w *jsonwalk.Walker) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "phase":
			var phase string
			phase, err = w.String()
			p.running = phase == string(corev1.PodRunning)
		case "conditions":
			err = w.Array(func() error { return p.readCondition(w) })
		}
		return err
	})
}

func (p *parts) readCondition(w *jsonwalk.Walker) error {
	var kind, status string
	err := w.Object(func(name string) (err error) {
		switch name {
		case "type":
			kind, err = w.String()
		case "status":
			status, err = w.String()
		}
		return err
	})
	if kind == string(corev1.PodReady) {
		p.ready = status == string(corev1.ConditionTrue)
	}
	return err
}

// matters tells whether an update may make the Pod unavailable (pod-admission.md §4.1): one of its spec, or one that marks
// it so. Metadata is updated far more often.
func matters(old, updated *parts) bool {
	return marked(old.labels, updated.labels) || !sameSpec(old.spec, updated.spec)
}

// marked tells whether there is a label that says unavailable, and was not.
func marked(old, updated map[string]string) bool {
	for key := range updated {
		if _, before := old[key]; !before && strings.HasPrefix(key, policyv1beta1.PubUnavailableLabelPrefix) {
			return true
		}
	}
	return false
}

// sameSpec compares bytes first: both are as the API server wrote them, one after the other.
func sameSpec(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	one, err := jsontree.Parse(a)
	if err != nil {
		return false
	}
	other, err := jsontree.Parse(b)
	return err == nil && jsontree.Equal(one, other)
}

// operationOf tells a resize from any other update that matters: nothing but CPU and memory of containers change, none of
// which is restarted for it.
func operationOf(old, updated *corev1.Pod) Operation {
	if marked(old.Labels, updated.Labels) || static(old) || qos(old) != qos(updated) || len(old.Spec.Containers) != len(updated.Spec.Containers) {
		return Update
	}
	rest, restUpdated := old.Spec.DeepCopy(), updated.Spec.DeepCopy()
	for i := range rest.Containers {
		if !resizes(&rest.Containers[i], &restUpdated.Containers[i]) {
			return Update
		}
		rest.Containers[i].Resources, restUpdated.Containers[i].Resources = corev1.ResourceRequirements{}, corev1.ResourceRequirements{}
	}
	if !equality.Semantic.DeepEqual(rest, restUpdated) {
		return Update
	}
	return Resize
}

// static Pods are the kubelet's; what the API server has of them is a mirror.
func static(pod *corev1.Pod) bool {
	source := pod.Annotations["kubernetes.io/config.source"]
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || source != "" && source != "api"
}

// resizes tells whether resources change, if at all, in such a way that the container runs on.
func resizes(old, updated *corev1.Container) bool {
	if !equality.Semantic.DeepEqual(old.Resources.Claims, updated.Resources.Claims) {
		return false
	}
	for _, pair := range [][2]corev1.ResourceList{
		{old.Resources.Requests, updated.Resources.Requests}, {old.Resources.Limits, updated.Resources.Limits},
	} {
		for _, name := range differing(pair[0], pair[1]) {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory || restarts(updated, name) {
				return false
			}
		}
	}
	return true
}

func differing(a, b corev1.ResourceList) (names []corev1.ResourceName) {
	for name, quantity := range a {
		if other, there := b[name]; !there || other.Cmp(quantity) != 0 {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	return names
}

func restarts(container *corev1.Container, name corev1.ResourceName) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.ResourceName == name && p.RestartPolicy != "" && p.RestartPolicy != corev1.NotRequired
	})
}

// qos is the class that the resources give a Pod: whether they are guaranteed, best effort, or something between.
func qos(pod *corev1.Pod) corev1.PodQOSClass {
	none, all := true, true
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
			none = none && request.IsZero() && limit.IsZero()
			all = all && !limit.IsZero() && (request.IsZero() || request.Cmp(limit) == 0)
		}
	}
	switch {
	case none:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}
