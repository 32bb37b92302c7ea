// Package validators judges objects by rules written in Rego (DESIGN.md §4): one file a kind below policies, embedded,
// compiled once and swapped whole. What Rego says clumsily or in linear time it asks of Go builtins, which package
// facts provides. An answer names every mistake of an object with its field, as the API server's own answers do.
package validators
