package v1beta1

// Deletion protection: a label on the object, and its two values (protection.md §1).
const (
	DeletionProtectionLabel     = "policy.kruise.io/delete-protection"
	DeletionProtectionAlways    = "Always"
	DeletionProtectionCascading = "Cascading"
)

// PodUnavailableBudget: on Pods the related budget under its present and its former key, the exemption, and the prefix of
// labels that make a Pod count as unavailable (protection.md §2, §3).
const (
	PubRelatedAnnotation       = "pub.kruise.io/related-pub"
	PubRelatedLegacyAnnotation = "kruise.io/related-pub"
	PubNoProtectAnnotation     = "pub.kruise.io/no-protect"
	PubUnavailableLabelPrefix  = "unavailable-pod.kruise.io/"
)

// PodUnavailableBudget: how v1alpha1 spells protectOperations and protectTotalReplicas (protection.md §2).
const (
	PubProtectOperationsAnnotation    = "kruise.io/pub-protect-operations"
	PubProtectTotalReplicasAnnotation = "pub.kruise.io/protect-total-replicas"
)
