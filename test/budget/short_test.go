//go:build !load

package budget

// rounds of 64 deletions and evictions at once that `make test` has time for.
const rounds = 5
