// Package policyaudit tests the audit of what exists by users' policies on a real API server, with the rights that the chart gives.
package policyaudit
