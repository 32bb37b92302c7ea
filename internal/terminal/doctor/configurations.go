package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
)

func checkAnchor(ctx context.Context, d *Doctor, r *report) error {
	if !d.installation.Settings.Registers {
		r.add(Info, "ValidatingWebhookConfiguration "+table.AnchorName, "the service does not register itself, so that it needs none", "", "")
		return nil
	}
	_, err := d.cluster.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, table.AnchorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.add(Error, "ValidatingWebhookConfiguration "+table.AnchorName, "it does not exist",
			"the service takes its webhooks away and registers none: admission is off", "helm upgrade kruise charts/kruise")
		return nil
	}
	return err
}

// configuration reads the mutating or the validating one, nil if there is none.
func (d *Doctor) configuration(ctx context.Context, mutating bool) (*table.Configuration, error) {
	api := d.cluster.Client.AdmissionregistrationV1()
	if mutating {
		found, err := api.MutatingWebhookConfigurations().Get(ctx, table.MutatingName, metav1.GetOptions{})
		if err != nil {
			return nil, ignoreNotFound(err)
		}
		return table.FromMutating(found), nil
	}
	found, err := api.ValidatingWebhookConfigurations().Get(ctx, table.ValidatingName, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return table.FromValidating(found), nil
}

// configurations are those of ours that are there, that of users' policies too; with an error, those that were read before it.
func (d *Doctor) configurations(ctx context.Context) (all []*table.Configuration, err error) {
	for _, read := range []func() (*table.Configuration, error){
		func() (*table.Configuration, error) { return d.configuration(ctx, true) },
		func() (*table.Configuration, error) { return d.configuration(ctx, false) },
		func() (*table.Configuration, error) { return d.policiesConfiguration(ctx) },
	} {
		found, err := read()
		if err != nil {
			return all, err
		}
		if found != nil {
			all = append(all, found)
		}
	}
	return all, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func checkConfigurations(ctx context.Context, d *Doctor, r *report) error {
	for _, mutating := range []bool{true, false} {
		object := (&table.Configuration{Mutating: mutating}).Kind() + " " + table.NameOf(mutating)
		live, err := d.configuration(ctx, mutating)
		if err != nil {
			return err
		}
		drift := registration.Drift(d.config, d.entries, mutating, live)
		switch {
		case len(drift) == 0:
		case live == nil:
			r.add(Error, object, "it does not exist", "admission is off: nothing is injected, nothing is protected", d.registerCure())
		default:
			severity, missing := Warning, slices.ContainsFunc(drift, func(s string) bool { return strings.HasSuffix(s, " is missing") })
			if missing {
				severity = Error
			}
			r.add(severity, object, "it is not as the service writes it: "+strings.Join(drift, ", "),
				"somebody else writes it, or a replica that would put it right is not ready", d.registerCure())
		}
	}
	return nil
}

func (d *Doctor) registerCure() string {
	if !d.installation.Settings.Registers {
		return "fairlead webhook print --ca-bundle-file ca.pem | kubectl apply -f -"
	}
	return fmt.Sprintf("kubectl -n %s logs deploy/kruise-webhook | grep -i webhook; it is put right within seconds where a replica is ready", d.config.Namespace)
}
