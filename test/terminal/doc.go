// Package terminal runs the commands for a person at a terminal against a real API server: what they say when all is well,
// and each fault planted, found and put right again.
package terminal
