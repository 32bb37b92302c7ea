// Package apiserver installs the generated CustomResourceDefinitions on a real API server and uses them as users and our
// own clients do.
package apiserver
