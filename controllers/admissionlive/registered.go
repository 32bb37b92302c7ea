package admissionlive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// registered says which of the expected entries the API server does not have.
func (c *Checker) registered(ctx context.Context) error {
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	if err := c.compare(ctx, table.MutatingName, mutating, c.expected(true), func() (names []string) {
		for i := range mutating.Webhooks {
			names = append(names, mutating.Webhooks[i].Name)
		}
		return names
	}); err != nil {
		return err
	}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	return c.compare(ctx, table.ValidatingName, validating, c.expected(false), func() (names []string) {
		for i := range validating.Webhooks {
			names = append(names, validating.Webhooks[i].Name)
		}
		return names
	})
}

// expected is the names of the mutating or the validating entries.
func (c *Checker) expected(mutating bool) []string {
	return table.Names(slices.DeleteFunc(slices.Clone(c.entries), func(e table.Entry) bool { return e.Mutating != mutating }))
}

// compare reads a configuration into an object and compares the entries that it has then with those wanted.
func (c *Checker) compare(ctx context.Context, name string, into client.Object, want []string, entries func() []string) error {
	if len(want) == 0 {
		return nil // a configuration without entries need not exist
	}
	err := c.api.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s does not exist: no ready replica of kruise-webhook has registered it yet", name)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	present := entries()
	lacking := slices.DeleteFunc(want, func(entry string) bool { return slices.Contains(present, entry) })
	if len(lacking) > 0 {
		return fmt.Errorf("%s lacks %s: not every ready replica of kruise-webhook serves it yet", name, strings.Join(lacking, ", "))
	}
	return nil
}
