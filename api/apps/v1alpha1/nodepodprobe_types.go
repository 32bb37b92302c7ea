package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePodProbe holds the probes one node shall run, and their outcomes; it has the name of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
type NodePodProbe struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the node shall run.
	Spec NodePodProbeSpec `json:"spec,omitempty"`

	// Status is what the node reports.
	Status NodePodProbeStatus `json:"status,omitempty"`
}

// NodePodProbeList is a list of NodePodProbes.
//
// +kubebuilder:object:root=true
type NodePodProbeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the NodePodProbes.
	Items []NodePodProbe `json:"items"`
}

// NodePodProbeSpec is what a node shall run.
type NodePodProbeSpec struct {
	// PodProbes are the probes by Pod.
	PodProbes []PodProbe `json:"podProbes,omitempty"`
}

// PodProbe are the probes of one Pod.
type PodProbe struct {
	// Name of the Pod.
	Name string `json:"name"`

	// Namespace of the Pod.
	Namespace string `json:"namespace"`

	// UID of the Pod.
	UID string `json:"uid"`

	// IP of the Pod, empty until it has one.
	IP string `json:"IP"`

	// Probes are the probes to run.
	Probes []ContainerProbe `json:"probes,omitempty"`
}

// ContainerProbe is a probe of one container.
type ContainerProbe struct {
	// Name is the PodProbeMarker's name and the probe's, as marker#probe.
	Name string `json:"name"`

	// ContainerName is the container to probe.
	ContainerName string `json:"containerName"`

	// Probe is how it is probed; ports are numbers here.
	Probe corev1.Probe `json:"probe"`
}

// NodePodProbeStatus is what a node reports.
type NodePodProbeStatus struct {
	// PodProbeStatuses are the outcomes by Pod.
	PodProbeStatuses []PodProbeStatus `json:"podProbeStatuses,omitempty"`
}

// PodProbeStatus are the outcomes of one Pod's probes.
type PodProbeStatus struct {
	// Name of the Pod.
	Name string `json:"name"`

	// Namespace of the Pod.
	Namespace string `json:"namespace"`

	// UID of the Pod.
	UID string `json:"uid"`

	// ProbeStates are the outcomes by probe.
	ProbeStates []ContainerProbeState `json:"probeStates,omitempty"`
}

// ContainerProbeState is the outcome of one probe.
type ContainerProbeState struct {
	// Name is the PodProbeMarker's name and the probe's, as marker#probe.
	Name string `json:"name"`

	// State is Succeeded, Failed or Unknown.
	State ProbeState `json:"state"`

	// LastProbeTime is when the probe last ran.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitzero"`

	// LastTransitionTime is when the state last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`

	// Message is what the probe said, 1024 bytes at most.
	Message string `json:"message,omitempty"`
}
