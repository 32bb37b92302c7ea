// Package sidecarset injects the containers of SidecarSets into Pods at their creation (sidecarset.md §4).
//
// What does not depend on a Pod is worked out when a SidecarSet changes: Compile turns it into fragments of JSON and
// parsed rules, Index files it under the labels that its selector asks for. What is left for a Pod is to look up its
// labels, place the fragments, and say in annotations what was done.
package sidecarset
