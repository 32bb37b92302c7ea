// Package policyaudit judges what exists already by users' policies (DESIGN.md §4): now and then, and soon after a set changes,
// the leader lists the resources that sets match and asks each set about every object as if it were created now, by the user
// system:fairlead:audit. Nothing is refused: what breaks a rule is counted in metrics, and a summary is written to the annotation
// fairlead.io/policy-audit of the set's ConfigMap, which of a bundle is that of its settings.
//
// Sets come from ConfigMaps of the release namespace and from bundles, and into force as the admission service puts them. Rules that
// ask for other operations than CREATE have nothing to say here. A resource that the process may not list is named in the summary.
package policyaudit
