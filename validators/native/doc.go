// Package native writes ValidatingAdmissionPolicies for what the API server can judge by itself, in CEL, so that it holds even
// while the admission service is away: the label of deletion protection as far as the object alone decides (protection.md §1),
// and the fields that an update may not change. It writes objects and talks to nobody.
//
// A policy never refuses what the service would let pass, and its words are the service's. Where CEL cannot tell as much as
// the service, the policy refuses less.
package native
