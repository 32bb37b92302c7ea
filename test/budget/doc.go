// Package budget tests PodUnavailableBudgets on a real API server, with three replicas of the admission service and the
// controllers: how many Pods can be made unavailable at once, and what is denied how.
package budget
