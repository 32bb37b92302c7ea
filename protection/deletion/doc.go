// Package deletion keeps objects that carry the label policy.kruise.io/delete-protection from being deleted
// (protection.md §1). Always protects an object in any case, Cascading as long as something would go with it: Pods and
// claims of a namespace, Pods of a workload, objects of a CustomResourceDefinition. To delete a protected object, take
// its label away first.
//
// What would go with an object is counted live, when it is asked for: no cache of Pods or claims is kept for it.
package deletion
