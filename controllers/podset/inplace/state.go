package inplace

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

// State is the annotation of a Pod that is or was updated in place. It stays as history.
type State struct {
	Revision        string      `json:"revision"`
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// LastContainerStatuses are those of the containers whose image was changed, as they were just before.
	LastContainerStatuses map[string]ContainerStatus `json:"lastContainerStatuses"`
	UpdateEnvFromMetadata bool                       `json:"updateEnvFromMetadata,omitempty"`
	UpdateResources       bool                       `json:"updateResources,omitempty"`
	UpdateImages          bool                       `json:"updateImages,omitempty"`
	// Next is what is to come in later batches.
	NextContainerImages      map[string]string                      `json:"nextContainerImages,omitempty"`
	NextContainerRefMetadata map[string]Metadata                    `json:"nextContainerRefMetadata,omitempty"`
	NextContainerResources   map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	PreCheckBeforeNext       *PreCheck                              `json:"preCheckBeforeNext,omitempty"`
	ContainerBatchesRecord   []BatchRecord                          `json:"containerBatchesRecord,omitempty"`
}

// ContainerStatus is what is kept of one.
type ContainerStatus struct {
	ImageID string `json:"imageID,omitempty"`
	// RestartCount is left out while it is 0. OpenKruise does not know it.
	RestartCount int32 `json:"restartCount,omitempty"`
}

// PreCheck is what the next batch waits for.
type PreCheck struct {
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// BatchRecord says which containers were changed when.
type BatchRecord struct {
	Timestamp  metav1.Time `json:"timestamp"`
	Containers []string    `json:"containers"`
}

// Grace is the annotation of a Pod that is out of service but not changed yet, with the change.
type Grace struct {
	Revision              string                                 `json:"revision"`
	ContainerImages       map[string]string                      `json:"containerImages,omitempty"`
	ContainerRefMetadata  map[string]Metadata                    `json:"containerRefMetadata,omitempty"`
	ContainerResources    map[string]corev1.ResourceRequirements `json:"containerResources,omitempty"`
	MetaDataPatch         []byte                                 `json:"metaDataPatch,omitempty"`
	UpdateEnvFromMetadata bool                                   `json:"updateEnvFromMetadata,omitempty"`
	GraceSeconds          int32                                  `json:"graceSeconds,omitempty"`
}

// ReadState is the Pod's state, nil if it was never updated in place.
func ReadState(pod *corev1.Pod) (*State, error) {
	return readAnnotation[State](pod, v1beta1.InPlaceUpdateStateAnnotation, v1beta1.InPlaceUpdateStateLegacy)
}

// ReadGrace is what the Pod is to be changed to, nil if it is not in grace.
func ReadGrace(pod *corev1.Pod) (*Grace, error) {
	return readAnnotation[Grace](pod, v1beta1.InPlaceUpdateGraceAnnotation, v1beta1.InPlaceUpdateGraceLegacy)
}

// InGrace tells whether the Pod waits for the end of its grace period.
func InGrace(pod *corev1.Pod) bool {
	_, now := pod.Annotations[v1beta1.InPlaceUpdateGraceAnnotation]
	_, legacy := pod.Annotations[v1beta1.InPlaceUpdateGraceLegacy]
	return now || legacy
}

func readAnnotation[T any](pod *corev1.Pod, key, legacy string) (*T, error) {
	text, there := pod.Annotations[key]
	if !there {
		if text, there = pod.Annotations[legacy]; !there {
			return nil, nil
		}
		key = legacy
	}
	value := new(T)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		return nil, fmt.Errorf("reading annotation %s of Pod %s: %w", key, pod.Name, err)
	}
	return value, nil
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding strings, times and quantities: %v", err))
	}
	return string(data)
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
