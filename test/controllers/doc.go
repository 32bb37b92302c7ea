// Package controllers runs the controllers against a real API server, with admission in front of it and the kubelet's
// part played by the tests.
package controllers
