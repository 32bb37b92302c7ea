// Package allocations counts what a review of each measured scenario allocates, from the body that came to the answer that
// goes, without HTTP. Unlike times these figures are the same on every machine and at every load, so that a test can hold
// them.
package allocations
