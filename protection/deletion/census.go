package deletion

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Census counts, live, what would go with an object. It stops where it can: what protects is that there is one, and
// the number is for who reads the message.
type Census interface {
	// ActivePods are the Pods of a namespace that are not being deleted and neither Succeeded nor Failed.
	ActivePods(ctx context.Context, namespace string) (Count, error)
	// BoundClaims are the PersistentVolumeClaims of a namespace in phase Bound that are not being deleted.
	BoundClaims(ctx context.Context, namespace string) (Count, error)
	// CustomResources are the objects of a resource, in all namespaces, that are not being deleted.
	CustomResources(ctx context.Context, resource schema.GroupVersionResource) (Count, error)
}

// Count is how many there are; with More, at least that many.
type Count struct {
	N    int
	More bool
}

// String is the count as denials say it.
func (c Count) String() string {
	if c.More {
		return fmt.Sprintf("%d>0 (there may be more)", c.N)
	}
	return fmt.Sprintf("%d>0", c.N)
}
