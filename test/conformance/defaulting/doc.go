// Package defaulting compares the defaults that our admission gives containers and volumes with those that a real API
// server gives the same ones in a PodTemplate.
package defaulting
