//go:build !race

package allocations

const racing = false
