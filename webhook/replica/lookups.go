package replica

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/mutators/sidecarset"
	"github.com/fairlead-io/fairlead/webhook/objects"
)

// lookups read live what the policies do not know. The source is made after the policies, which are its sinks.
type lookups struct {
	source    *objects.Cluster
	revisions objects.Kind
}

var _ sidecarset.LiveRevisions = (*lookups)(nil)

func (l *lookups) namespace(ctx context.Context, name string) (labels map[string]string, found bool, err error) {
	return l.source.LiveNamespace(ctx, name)
}

// Revision implements sidecarset.LiveRevisions.
func (l *lookups) Revision(ctx context.Context, name string) (raw jsontext.Value, found bool, err error) {
	return l.source.LiveObject(ctx, l.revisions, name)
}

// Revisions implements sidecarset.LiveRevisions.
func (l *lookups) Revisions(ctx context.Context, labels map[string]string) ([]jsontext.Value, error) {
	return l.source.LiveObjects(ctx, l.revisions, labels)
}
