package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/sidecarset"
)

// checkSidecarSets compiles every SidecarSet as a replica does.
func checkSidecarSets(ctx context.Context, d *Doctor, r *report) error {
	resource := v1beta1.GroupVersion.WithResource("sidecarsets")
	err := d.cluster.Each(ctx, resource, "", nil, func(raw json.RawMessage) error {
		if _, err := sidecarset.Compile(raw); err != nil {
			r.add(Error, "SidecarSet", err.Error(), "its last good version is in force, or none", "correct it: fairlead review -f FILE --live says when it is right")
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil // another check says that the definition is missing
	}
	if err != nil {
		return fmt.Errorf("reading SidecarSets: %w", err)
	}
	return nil
}
