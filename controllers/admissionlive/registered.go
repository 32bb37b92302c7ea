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
	for _, mutating := range []bool{true, false} {
		want := c.expected(mutating)
		if len(want) == 0 {
			continue // a configuration without entries need not exist
		}
		name := table.NameOf(mutating)
		configuration, err := c.configuration(ctx, mutating)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%s does not exist: no ready replica of kruise-webhook has registered it yet", name)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		lacking := slices.DeleteFunc(want, func(entry string) bool { return configuration.Entry(entry) != nil })
		if len(lacking) > 0 {
			return fmt.Errorf("%s lacks %s: not every ready replica of kruise-webhook serves it yet", name, strings.Join(lacking, ", "))
		}
	}
	return nil
}

// expected is the names of the mutating or the validating entries.
func (c *Checker) expected(mutating bool) []string {
	return table.Names(slices.DeleteFunc(slices.Clone(c.entries), func(e table.Entry) bool { return e.Mutating != mutating }))
}

func (c *Checker) configuration(ctx context.Context, mutating bool) (*table.Configuration, error) {
	key := client.ObjectKey{Name: table.NameOf(mutating)}
	if mutating {
		object := &admissionv1.MutatingWebhookConfiguration{}
		err := c.api.Get(ctx, key, object)
		return table.FromMutating(object), err
	}
	object := &admissionv1.ValidatingWebhookConfiguration{}
	err := c.api.Get(ctx, key, object)
	return table.FromValidating(object), err
}
