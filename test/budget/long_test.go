//go:build load

package budget

// rounds of 64 deletions and evictions at once.
const rounds = 50
