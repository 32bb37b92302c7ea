//go:build race

package allocations

// racing: the race detector has pools drop what they hold, at random.
const racing = true
