// Package live tests what admission reads live against a real API server, with the rights that the chart gives: deletion
// protection, and the capture of requests to restart containers.
package live
