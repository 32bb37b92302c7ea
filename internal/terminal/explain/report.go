// Package explain says why admission and the controllers treat a Pod, a SidecarSet or a deletion as they do. It asks the
// code that decides, over objects as they are now.
package explain

import "github.com/fairlead-io/fairlead/internal/terminal/review"

// PodReport is everything about one Pod.
type PodReport struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Stored says that the Pod is in the cluster; else it is in a file, and what is said is of its creation.
	Stored      bool                `json:"stored"`
	Admission   Admission           `json:"admission"`
	SidecarSets []SidecarSetOutcome `json:"sidecarSets"`
	Gates       []Gate              `json:"readinessGates,omitempty"`
	Launch      *Launch             `json:"launchPriority,omitempty"`
	Budgets     []Budget            `json:"budgets,omitempty"`
	Protection  []Protection        `json:"deletionProtection,omitempty"`
	Notes       []string            `json:"notes,omitempty"`
}

// Admission says whether the webhook of Pods sees the Pod.
type Admission struct {
	Called bool `json:"called"`
	// Why not.
	Why string `json:"why,omitempty"`
	// Refused is why the Pod would be refused as a whole, "" if it would not.
	Refused string `json:"refused,omitempty"`
}

// State compares a Pod with a SidecarSet.
type State string

// The states.
const (
	// UpToDate: the Pod has what it would get now.
	UpToDate State = "UpToDate"
	// Outdated: the Pod has another version.
	Outdated State = "Outdated"
	// NotInPod: the Pod would get it if it were created now, and was created before.
	NotInPod State = "NotInPod"
	// LeftOver: the Pod has it from its creation, and would not get it now.
	LeftOver State = "LeftOver"
	// KeptOut: it selects the Pod, and something keeps it from being injected.
	KeptOut State = "KeptOut"
	// NotSelected: it does not select the Pod, which has nothing of it.
	NotSelected State = "NotSelected"
)

// SidecarSetOutcome is what becomes of one SidecarSet.
type SidecarSetOutcome struct {
	Name string `json:"name"`
	// Outcome is what admission would do now; see mutators/sidecarset.Outcome.
	Outcome string `json:"outcome"`
	Why     string `json:"why,omitempty"`
	// Order is its place among those that are injected, from 1.
	Order      int      `json:"order,omitempty"`
	Containers []string `json:"containers,omitempty"`
	// Hash and Revision are the version that the Pod gets now; Asked is the injectionStrategy.revision that led to it.
	Hash     string `json:"hash,omitempty"`
	Revision string `json:"revision,omitempty"`
	Asked    string `json:"askedRevision,omitempty"`
	// Recorded is what the Pod says it has.
	Recorded *Recorded `json:"recorded,omitempty"`
	// State is set for Pods that are stored.
	State State `json:"state,omitempty"`
	// NewestUnusable is why the newest version is not in force.
	NewestUnusable string `json:"newestUnusable,omitempty"`
}

// Recorded is a version that is in a Pod.
type Recorded struct {
	Hash     string `json:"hash"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
}

// Gate is a readiness gate and its condition.
type Gate struct {
	Type string `json:"type"`
	// AddedBy is who put the gate into the Pod.
	AddedBy string `json:"addedBy"`
	// Status is the condition's, "" while nobody has set it.
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// SetBy is the field manager that wrote the condition.
	SetBy string `json:"setBy,omitempty"`
	// Meaning is what follows.
	Meaning string `json:"meaning"`
}

// Launch is how far an ordered start is.
type Launch struct {
	ConfigMap  string            `json:"configMap"`
	Containers []LaunchContainer `json:"containers"`
	Next       string            `json:"next"`
}

// LaunchContainer is a container that waits for its turn.
type LaunchContainer struct {
	Name     string   `json:"name"`
	Priority int64    `json:"priority"`
	Key      string   `json:"key"`
	State    string   `json:"state"`
	WaitsFor []string `json:"waitsFor,omitempty"`
}

// Budget is a PodUnavailableBudget that selects the Pod.
type Budget struct {
	Name string `json:"name"`
	// SelectedBy is how it selects the Pod: its selector, its targetRef, or the Pod's annotation.
	SelectedBy string   `json:"selectedBy"`
	Rule       string   `json:"rule"`
	Total      int32    `json:"totalReplicas"`
	Desired    int32    `json:"desiredAvailable"`
	Current    int32    `json:"currentAvailable"`
	Allowed    int32    `json:"unavailableAllowed"`
	Protects   []string `json:"protectOperations"`
	// Decides is what decides about the Pod now.
	Decides string   `json:"decides"`
	Notes   []string `json:"notes,omitempty"`
}

// Protection is deletion protection that concerns the Pod.
type Protection struct {
	Object string `json:"object"`
	Mode   string `json:"mode"`
	Means  string `json:"means"`
}

// DeletionReport is what would hold a deletion.
type DeletionReport struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Deleting says that the object is being deleted already.
	Deleting bool `json:"deleting"`
	Allowed  bool `json:"allowed"`
	// Webhooks are the verdicts of Fairlead, and Others the webhooks of others that would be asked too.
	Webhooks   []review.Verdict `json:"webhooks,omitempty"`
	Others     []string         `json:"otherWebhooks,omitempty"`
	Finalizers []string         `json:"finalizers,omitempty"`
	Notes      []string         `json:"notes,omitempty"`
}

// SidecarSetReport is which Pods a SidecarSet selects and how they are.
type SidecarSetReport struct {
	Name     string `json:"name"`
	Hash     string `json:"hash,omitempty"`
	Revision string `json:"revision,omitempty"`
	// NewestUnusable is why the newest version is not in force.
	NewestUnusable string        `json:"newestUnusable,omitempty"`
	Pods           int           `json:"pods"`
	Counts         map[State]int `json:"counts"`
	// List has the Pods that are not up to date, or all that it selects.
	List []PodState `json:"list,omitempty"`
}

// PodState is how one Pod is.
type PodState struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	Why       string `json:"why,omitempty"`
}
