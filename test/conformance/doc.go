// Package conformance holds the generated CustomResourceDefinitions against the field tables in testdata: every path,
// type, constraint, column and subresource that users' manifests and tools rely on.
package conformance
