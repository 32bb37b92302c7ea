// Package v1beta1 is version v1beta1 of apps.kruise.io, the version objects are stored in.
//
// Values that may be absent are pointers or carry omitempty; structs without a pointer are written as `{}` even when
// nothing is set, because revisions and hashes of objects that already run are computed from exactly that encoding.
//
// +kubebuilder:object:generate=true
// +groupName=apps.kruise.io
package v1beta1
