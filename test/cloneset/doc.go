// Package cloneset tests the controller of CloneSets on a real API server, with the whole process around it and a
// stand-in for the scheduler and the kubelets: Pods get a node, run, become ready and take new images.
package cloneset
