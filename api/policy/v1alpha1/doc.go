// Package v1alpha1 is version v1alpha1 of policy.kruise.io, served for older clients. What does not differ from v1beta1
// is v1beta1's own type.
//
// +kubebuilder:object:generate=true
// +groupName=policy.kruise.io
package v1alpha1
