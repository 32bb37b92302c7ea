// Package policies tests users' policies where they work: ConfigMaps in a real API server, which asks the admission service by
// the configuration that the service makes of them.
package policies
