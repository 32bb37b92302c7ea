// Package disruption creates Pods on a real API server while everything that admission depends on is restarted, rotated, killed
// and taken away, and counts what fails. `make load` runs its long form; without the build tag load it takes seconds.
package disruption
