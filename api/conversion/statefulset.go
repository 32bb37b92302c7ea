package conversion

// StatefulSet, statefulset.md §2, §3, §6: v1beta1 has more fields, and they must outlive a client of v1alpha1, such as
// an autoscaler.
func statefulSetDown(w *work) {
	remove(w.object(w.top, "spec"), "lifecycle", "ordinals", "persistentVolumeClaimRetentionPolicy", "reserveOrdinals",
		"scaleStrategy", "volumeClaimUpdateStrategy")
	remove(w.object(w.top, "status"), "updatedAvailableReplicas", "updatedReadyReplicas", "volumeClaims")
}
