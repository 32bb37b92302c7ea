// Package live tests what admission reads live against a real API server, with the rights that the chart gives: deletion
// protection, the capture of requests to restart containers, and the injection of older versions of SidecarSets.
package live
