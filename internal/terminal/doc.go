// Package terminal is what the commands for a person at a terminal share: how they reach a cluster, what they print in
// which format, and what their exit codes mean. Each command is in a folder below.
package terminal
