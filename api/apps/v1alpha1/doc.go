// Package v1alpha1 is version v1alpha1 of apps.kruise.io: served for older clients, and the only version of EphemeralJob,
// NodePodProbe and PodProbeMarker. What does not differ from v1beta1 is v1beta1's own type.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1alpha1
