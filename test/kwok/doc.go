// Package kwok tests the cluster of pretended nodes: that what it reports of Pods is what kubelet would.
package kwok
