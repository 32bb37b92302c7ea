// Package userpolicy judges requests by rules that users write in Rego (DESIGN.md §4).
//
// A Source is what an author wrote: modules, their tests and settings.yaml. Compile makes a Set of it, alone: no set can see
// another. A Set says for which requests the API server is to ask (Match, Entry) and judges them (Evaluate), by those of its
// rules alone that concern the request. Sets has the ones in force.
//
// Everything here is pure but for the clock that a Handler is given. Where sources come from is the matter of the packages
// below: sources for ConfigMaps, bundles for OPA's bundles over HTTP, inventory for data.inventory.
package userpolicy
