// Package nativepolicies tests the ValidatingAdmissionPolicies of the chart on a real API server, without the admission service,
// with it alone, and with both: the same is denied, in the same words, and never twice.
package nativepolicies
