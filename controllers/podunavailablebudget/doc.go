// Package podunavailablebudget keeps the statuses of PodUnavailableBudgets: how many of their Pods must be available, how many
// are, and so how many more may go (protection.md §4). It gives back the units that admission took, and tells Pods which
// budget they are under.
package podunavailablebudget
