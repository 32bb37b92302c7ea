package review

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/webhook/replica"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// addPolicies has users' policies judge too. Who may not read those of a cluster is told so, and what the table's webhooks say is
// worth knowing all the same.
func (c *command) addPolicies(ctx context.Context, reviewer *Reviewer, cluster *terminal.Cluster, installation *terminal.Installation, complaints *terminal.Complaints) (end func(), err error) {
	options := installation.Options(complaints)
	if cluster == nil {
		judge, err := replica.NewOfflinePolicies(ctx, options, c.objects)
		if err != nil {
			return nil, terminal.Usage(err)
		}
		reviewer.AddPolicies(judge.Entries, nil)
		return judge.Close, nil
	}
	judge, err := replica.NewLivePolicies(ctx, options, cluster.Unlimited(), ReadingTime)
	if err != nil {
		complaints.Logger().Error(err, "Users' policies are not asked")
		return func() {}, nil
	}
	elsewhere, err := bundles(ctx, cluster)
	if err != nil {
		complaints.Logger().Error(err, "It is not known whether there are policies in bundles")
	}
	reviewer.AddPolicies(judge.Entries, elsewhere)
	return judge.Close, nil
}

// bundles are the webhooks of policies that come in bundles.
func bundles(ctx context.Context, cluster *terminal.Cluster) (found []admissionv1.MutatingWebhook, err error) {
	list, err := cluster.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + table.PoliciesName,
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", table.PoliciesName, err)
	}
	for i := range list.Items {
		for _, webhook := range table.FromValidating(&list.Items[i]).Webhooks {
			if set, _ := userpolicy.SetOf(webhook.Name); strings.HasPrefix(set, userpolicy.BundlePrefix) {
				found = append(found, webhook)
			}
		}
	}
	return found, nil
}
