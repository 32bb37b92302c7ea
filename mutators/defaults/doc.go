// Package defaults writes the defaults of our kinds, and the annotations that derive from them, at admission.
//
// Defaults are tables of rules (see rule) over the request's own JSON: what a rule does not name keeps its bytes, so
// that fields newer than our types, the order of members and the spelling of numbers survive. There is one file a kind,
// and files of their own for what kinds share (containers, volumes).
package defaults
