// Package podunavailablebudget keeps Pods from becoming unavailable by somebody's wish while their PodUnavailableBudget has
// nothing left (protection.md §2-§4): at deletion, eviction, update and resize.
//
// Whoever asks first gets a unit, by an optimistic write of the budget's status at the API server. That write is what
// replicas of the service, and the controller that gives units back, agree on; none of them keeps a count of its own, and no
// cache of Pods is needed.
package podunavailablebudget
