package doctor

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// checkAbsence is instead of all checks that would each say that something is not there.
var checkAbsence = check{"deployments", "", reportAbsence}

// withoutInstallation are the checks that make sense where Fairlead is not installed.
var withoutInstallation = []string{"version", "leftovers"}

// installed says whether anything of Fairlead is in its namespace. Where that may not be asked it counts as installed.
func (d *Doctor) installed(ctx context.Context) bool {
	for _, name := range []string{terminal.WebhookDeployment, managerDeployment} {
		if _, err := d.cluster.Client.AppsV1().Deployments(d.config.Namespace).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return true
		}
	}
	_, err := d.cluster.Client.CoreV1().Services(d.config.Namespace).Get(ctx, d.config.Service, metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

func reportAbsence(ctx context.Context, d *Doctor, r *report) error {
	cure := "helm upgrade --install kruise charts/kruise; or name the namespace that it is in by --fairlead-namespace"
	elsewhere, err := d.elsewhere(ctx)
	if err == nil && len(elsewhere) > 0 { // who may not look there has to know himself
		cure = "it is in " + strings.Join(elsewhere, " and in ") + ": fairlead doctor --fairlead-namespace " + elsewhere[0]
	}
	r.add(Error, "Namespace "+d.config.Namespace, fmt.Sprintf("Fairlead is not installed in namespace %s (there is neither Deployment %s nor %s, nor Service %s)",
		d.config.Namespace, terminal.WebhookDeployment, managerDeployment, d.config.Service), "nothing is injected, protected or reconciled", cure)
	if len(elsewhere) > 0 {
		return nil
	}
	return d.leftOurs(ctx, r)
}

// elsewhere are the other namespaces in which an admission service of ours runs.
func (d *Doctor) elsewhere(ctx context.Context) (namespaces []string, err error) {
	list, err := d.cluster.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + terminal.WebhookDeployment})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if found := &list.Items[i]; found.Name == terminal.WebhookDeployment && runsFairlead(found) {
			namespaces = append(namespaces, found.Namespace)
		}
	}
	return namespaces, nil
}

// leftOurs are configurations that nobody answers any more: with failure policy Fail they refuse what they match.
func (d *Doctor) leftOurs(ctx context.Context, r *report) error {
	configurations, err := d.configurations(ctx)
	for _, left := range configurations {
		if len(left.Webhooks) > 0 {
			r.add(Error, left.Kind()+" "+left.Name, "it is still registered, and nobody answers", "what it matches is refused or let through by failure policy",
				fmt.Sprintf("kubectl delete %s %s", strings.ToLower(left.Kind()), left.Name))
		}
	}
	return err
}

// unanswered says that no replica of the admission service is ready, as far as is known.
func (d *Doctor) unanswered() bool {
	deployment := d.installation.Deployment
	return deployment != nil && runsFairlead(deployment) && deployment.Status.ReadyReplicas == 0
}

// judgeReplicas says what does not work while no replica is ready, whatever the check finds beside it.
func (d *Doctor) judgeReplicas(r *report, message, means string) {
	if d.unanswered() {
		r.add(Error, fmt.Sprintf("Deployment %s/%s", d.config.Namespace, terminal.WebhookDeployment), "none of its replicas is ready: "+message, means, "see the finding of deployments")
	}
}
