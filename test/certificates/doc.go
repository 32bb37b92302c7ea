// Package certificates tests certificates by cert-manager on a real API server, with cert-manager's own controllers.
package certificates
