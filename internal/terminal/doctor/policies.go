package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
	"github.com/fairlead-io/fairlead/webhook/registration"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// checkPolicies looks at what became of users' policies, and whether the API server asks them.
func checkPolicies(ctx context.Context, d *Doctor, r *report) error {
	sets, err := d.configMaps(ctx, sources.Selector)
	if err != nil {
		return err
	}
	settings, err := d.configMaps(ctx, sources.BundleLabel)
	if err != nil {
		return err
	}
	d.judgeReplicas(r, "users' policies are not asked", "the failure policy of each set decides about all that it matches")
	if d.installation.Settings.Registers { // else nobody writes statuses
		for i := range sets {
			d.judgeSet(r, &sets[i], sets[i].Name)
		}
		for i := range settings {
			d.judgeSet(r, &settings[i], userpolicy.BundlePrefix+settings[i].Labels[sources.BundleLabel])
		}
	}
	return d.checkPolicyWebhooks(ctx, r, sets, settings)
}

func (d *Doctor) configMaps(ctx context.Context, selector string) ([]corev1.ConfigMap, error) {
	list, err := d.cluster.Client.CoreV1().ConfigMaps(d.config.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// judgeSet reads the status of a set.
func (d *Doctor) judgeSet(r *report, of *corev1.ConfigMap, set string) {
	object := fmt.Sprintf("ConfigMap %s/%s", of.Namespace, of.Name)
	look := fmt.Sprintf("kubectl -n %s logs deploy/kruise-webhook | grep -i polic", d.config.Namespace)
	bundle := strings.HasPrefix(set, userpolicy.BundlePrefix)
	correct := fmt.Sprintf("correct it: kubectl -n %s get configmap %s -o yaml | fairlead policy check - says when it is right", of.Namespace, of.Name)
	if bundle {
		correct = "mend the bundle, or these settings of it"
	}
	var status sources.Status
	switch err := json.Unmarshal([]byte(of.Annotations[sources.StatusAnnotation]), &status); {
	case err != nil:
		r.add(Warning, object, "it has no status", "no replica has taken the set in, or none may say so", look)
		return
	case !bundle && status.Observed != sources.HashOf(of.Data):
		r.add(Warning, object, "its status is that of another version", "the newest version is not in force", look)
	case status.State != sources.Active && status.Revision == "":
		r.add(Error, object, "nothing of it is in force: "+status.Message, "none of its rules is asked, and its failure policy decides about all that it matches", correct)
	case status.State != sources.Active:
		r.add(Warning, object, "its newest version is not usable: "+status.Message, "the version before, "+status.Revision+", is in force", correct)
	case len(status.NotLive) > 0:
		r.add(Warning, object, "it does not see what it wants to: "+status.Message, "these rules are not asked: "+strings.Join(status.NotLive, ", "),
			"policies.inventory of the chart says what sets may see")
	case status.Message != "":
		r.add(Warning, object, "nobody knows whether it is the newest: "+status.Message, "revision "+status.Revision+" is in force", "look at the server of the bundle")
	}
	if status.NotKept != "" {
		r.add(Warning, object, "what is in force of it is not kept: "+status.NotKept,
			"when all replicas start anew while its newest version has a mistake, nothing of it is in force",
			fmt.Sprintf("kubectl -n %s get configmap %s.last-good -o yaml; create it by another name and delete this one", of.Namespace, of.Name))
	}
	for _, warning := range status.Warnings {
		r.add(Warning, object, warning, "the set does not do what its author means", "change the set")
	}
}

// checkPolicyWebhooks looks whether the API server asks about what sets match. Of a set that this program cannot compile, and of
// bundles, which it does not have, the entries may be as they like.
func (d *Doctor) checkPolicyWebhooks(ctx context.Context, r *report, sets, settings []corev1.ConfigMap) error {
	live, err := d.policiesConfiguration(ctx)
	if err != nil {
		return err
	}
	entries, others := d.policyEntries(ctx, sets)
	if live != nil {
		for _, w := range live.Webhooks {
			if set, _ := userpolicy.SetOf(w.Name); strings.HasPrefix(set, userpolicy.BundlePrefix) {
				others = append(others, w.Name)
			}
		}
	}
	drift := registration.PoliciesDrift(d.config, entries, others, live)
	for i := range settings {
		var status sources.Status
		_ = json.Unmarshal([]byte(settings[i].Annotations[sources.StatusAnnotation]), &status) // none has no entries
		for _, entry := range status.Entries {
			if live == nil || live.Entry(entry) == nil {
				drift = append(drift, fmt.Sprintf("webhook %s is missing", entry))
			}
		}
	}
	d.judgePolicyWebhooks(r, drift, live != nil)
	return nil
}

func (d *Doctor) judgePolicyWebhooks(r *report, drift []string, exists bool) {
	object := "ValidatingWebhookConfiguration " + table.PoliciesName
	cure := d.registerCure()
	if !d.installation.Settings.Registers {
		cure = "fairlead webhook print --ca-bundle-file ca.pem --policies DIR | kubectl apply --server-side -f -"
	}
	switch {
	case len(drift) == 0:
	case !exists:
		r.add(Error, object, "it does not exist", "users' policies are not asked: "+strings.Join(drift, ", "), cure)
	case slices.ContainsFunc(drift, func(s string) bool { return strings.HasSuffix(s, " is missing") }):
		r.add(Error, object, "it is not as the service writes it: "+strings.Join(drift, ", "), "users' policies are not asked", cure)
	default:
		r.add(Warning, object, "it is not as the service writes it: "+strings.Join(drift, ", "), "somebody else writes it, or a replica that would put it right is not ready", cure)
	}
}

// policyEntries are the entries of sets, and the names of those of sets that this program cannot compile.
func (d *Doctor) policyEntries(ctx context.Context, sets []corev1.ConfigMap) (entries []table.Entry, unknown []string) {
	for i := range sets {
		name := sets[i].Name
		source, err := userpolicy.Parse(name, sets[i].Data)
		var set *userpolicy.Set
		if err == nil {
			set, err = userpolicy.Compile(ctx, source)
		}
		if err != nil {
			unknown = append(unknown, userpolicy.EntryName(name))
			continue
		}
		entries = append(entries, userpolicy.Installation{Namespace: d.config.Namespace}.Entry(set))
	}
	return entries, unknown
}

// policiesConfiguration reads the configuration of users' policies, nil if there is none.
func (d *Doctor) policiesConfiguration(ctx context.Context) (*table.Configuration, error) {
	found, err := d.cluster.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, table.PoliciesName, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return table.FromValidating(found), nil
}

// refusal and failure are what the API server says of a webhook.
var (
	refusal = regexp.MustCompile(`admission webhook "([^"]+)" denied the request`)
	failure = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
)

// judgeProbe says of a probe whether a webhook of users' policies, or of others, decided about it: what we do is another matter then.
func (d *Doctor) judgeProbe(r *report, object string, err error) (told bool) {
	if denied := refusal.FindStringSubmatch(err.Error()); denied != nil && apierrors.IsForbidden(err) {
		who, cure := "the webhook "+denied[1], "have it leave out namespace "+probeNamespace
		if set, ours := userpolicy.SetOf(denied[1]); ours {
			who, cure = "the set "+set+" of users' policies", fmt.Sprintf("exemptions: [{namespaces: [%s], reason: probe}] in the settings of the set", probeNamespace)
		}
		r.add(Warning, object, who+" refuses a dry-run Pod: "+err.Error(), "admission answers, but what it makes of a Pod cannot be seen from here", cure)
		return true
	}
	if failed := failure.FindStringSubmatch(err.Error()); failed != nil {
		if set, ours := userpolicy.SetOf(failed[1]); ours {
			r.add(Error, object, "the set "+set+" of users' policies gives no decision: "+err.Error(), "its failure policy is Fail: all that it matches is refused",
				"mend the set, or delete it: see the findings of policies")
			return true
		}
	}
	return false
}
