// Package validation tests the rules in Rego where they work: behind a real API server, which is asked about Pods, and whose
// users see the refusals through kubectl.
package validation
