package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodProbeMarker probes containers and writes the outcome on their Pods as conditions, labels or annotations.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
type PodProbeMarker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	Spec PodProbeMarkerSpec `json:"spec,omitempty"`

	// Status is what the controller last saw.
	Status PodProbeMarkerStatus `json:"status,omitempty"`
}

// PodProbeMarkerList is a list of PodProbeMarkers.
//
// +kubebuilder:object:root=true
type PodProbeMarkerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the PodProbeMarkers.
	Items []PodProbeMarker `json:"items"`
}

// PodProbeMarkerSpec is what a user wants of a PodProbeMarker.
type PodProbeMarkerSpec struct {
	// Selector selects the Pods by label; it must not be empty and cannot be changed.
	Selector *metav1.LabelSelector `json:"selector"`

	// Probes are the probes to run.
	Probes []PodContainerProbe `json:"probes"`
}

// PodContainerProbe is a probe of one container.
type PodContainerProbe struct {
	// Name of the probe, unique in the object.
	Name string `json:"name"`

	// ContainerName is the container to probe.
	ContainerName string `json:"containerName"`

	// Probe is how it is probed: by command, HTTP or TCP.
	Probe corev1.Probe `json:"probe"`

	// MarkerPolicy are labels and annotations to put on the Pod, by outcome.
	MarkerPolicy []ProbeMarkerPolicy `json:"markerPolicy,omitempty"`

	// PodConditionType is the type of the Pod condition that shows the outcome.
	PodConditionType string `json:"podConditionType,omitempty"`
}

// ProbeState is the outcome of a probe.
type ProbeState string

// Outcomes of a probe.
const (
	// ProbeSucceeded means that the probe passed.
	ProbeSucceeded ProbeState = "Succeeded"
	// ProbeFailed means that it did not.
	ProbeFailed ProbeState = "Failed"
	// ProbeUnknown means that it has not run yet.
	ProbeUnknown ProbeState = "Unknown"
)

// ProbeMarkerPolicy are labels and annotations to put on a Pod after one outcome; after the other they are removed.
type ProbeMarkerPolicy struct {
	// State is Succeeded or Failed.
	State ProbeState `json:"state"`

	// Labels to put on the Pod.
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to put on the Pod.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodProbeMarkerStatus is what the controller last saw.
type PodProbeMarkerStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration"`

	// MatchedPods is the number of Pods that are probed.
	MatchedPods int64 `json:"matchedPods,omitempty"`
}
