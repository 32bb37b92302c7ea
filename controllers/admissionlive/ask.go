package admissionlive

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ask creates a dry-run Pod in a namespace that admission covers, and says what is wrong if it does not come back as
// admission would make it: the same that readiness does.
func Ask(ctx context.Context, api client.Client, namespace string) error {
	return (&Checker{api: api, namespace: namespace}).probe(ctx)
}
