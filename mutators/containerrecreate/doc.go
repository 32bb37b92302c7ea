// Package containerrecreate captures at admission which instances of containers a ContainerRecreateRequest is to stop
// (container-recreate.md §3, §4): labels that lead the node's daemon to it, the grace period, preStop hooks, and the id
// and restart count of each container as they are at that moment. Later nobody could tell a container that is still to
// be restarted from one that already was.
//
// The Pod is read live: an id from a stale cache would name an instance that is gone, and the request would never end.
// Rules about single fields are not here; this package refuses what cannot be captured.
package containerrecreate
