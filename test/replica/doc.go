// Package replica tests the admission service against a real API server: registration, injection, and restarts that no
// request notices.
package replica
