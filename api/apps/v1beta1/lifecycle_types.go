package v1beta1

// LifecycleStateType is the value of a Pod's lifecycle state label. Only an empty state and Normal count as available.
type LifecycleStateType string

// States of a Pod that a workload of this group owns.
const (
	// LifecycleStatePreparingNormal is a new Pod whose preNormal hook has not passed yet.
	LifecycleStatePreparingNormal LifecycleStateType = "PreparingNormal"
	// LifecycleStateNormal is a Pod in service.
	LifecycleStateNormal LifecycleStateType = "Normal"
	// LifecycleStatePreparingUpdate is a Pod whose inPlaceUpdate hook holds back its update.
	LifecycleStatePreparingUpdate LifecycleStateType = "PreparingUpdate"
	// LifecycleStateUpdating is a Pod whose containers are being changed in place.
	LifecycleStateUpdating LifecycleStateType = "Updating"
	// LifecycleStateUpdated is an updated Pod that waits for its inPlaceUpdate hook to be put back.
	LifecycleStateUpdated LifecycleStateType = "Updated"
	// LifecycleStatePreparingDelete is a Pod whose preDelete hook holds back its deletion.
	LifecycleStatePreparingDelete LifecycleStateType = "PreparingDelete"
)

// Lifecycle holds the hooks at which Pods of a workload wait for someone else's consent.
type Lifecycle struct {
	// PreDelete holds back the deletion of a Pod while the Pod carries any of the hook's labels or finalizers.
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`

	// InPlaceUpdate holds back an in-place update while the Pod carries any of the hook's labels or finalizers, and its
	// completion until the Pod carries all of them.
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`

	// PreNormal keeps a new Pod out of state Normal until it carries all of the hook's labels and finalizers.
	PreNormal *LifecycleHook `json:"preNormal,omitempty"`
}

// LifecycleHook names the labels and finalizers by which a Pod is held at one point of its life.
type LifecycleHook struct {
	// LabelsHandler are labels, key and exact value, that hold the Pod.
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`

	// FinalizersHandler are finalizers that hold the Pod.
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`

	// MarkPodNotReady turns the Pod not ready while it is held before deletion or update; false by default, and without
	// effect in preNormal.
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}
