package doctor

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/table"
)

// otherService is the Service of OpenKruise's webhooks.
const otherService = "kruise-webhook-service"

// checkLeftovers looks for what another installation of these APIs left in the cluster.
func checkLeftovers(ctx context.Context, d *Doctor, r *report) error {
	for _, look := range []func(context.Context, *report) error{d.leftWebhooks, d.leftConversion, d.leftPrograms, d.leftService} {
		if err := look(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// leftWebhooks are entries, in any configuration, that lead to that Service, and entries of ours that lead elsewhere.
func (d *Doctor) leftWebhooks(ctx context.Context, r *report) error {
	var all []*table.Configuration
	mutating, err := d.cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range mutating.Items {
		all = append(all, table.FromMutating(&mutating.Items[i]))
	}
	validating, err := d.cluster.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range validating.Items {
		all = append(all, table.FromValidating(&validating.Items[i]))
	}
	for _, configuration := range all {
		ours := configuration.Name == table.NameOf(configuration.Mutating) || configuration.Name == table.PoliciesName
		var names []string
		for _, w := range configuration.Webhooks {
			if leadsThere(w.ClientConfig) || ours && !d.config.ReachesUs(w.ClientConfig) {
				names = append(names, w.Name)
			}
		}
		if len(names) > 0 {
			r.add(Error, configuration.Kind()+" "+configuration.Name, "these webhooks lead to another service: "+strings.Join(names, ", "),
				"another installation judges the same requests, or nobody does", "uninstall the other installation; entries of its own stay until then, or: kubectl edit "+
					strings.ToLower(configuration.Kind())+" "+configuration.Name)
		}
	}
	return nil
}

func leadsThere(c admissionv1.WebhookClientConfig) bool {
	return c.Service != nil && c.Service.Name == otherService
}

// leftConversion are definitions of our kinds that convert by somebody else.
func (d *Doctor) leftConversion(ctx context.Context, r *report) error {
	for _, resource := range apiconversion.Resources() {
		crd, err := d.definitions.Get(ctx, resource.Definition(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		c := crd.Spec.Conversion
		if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
			continue
		}
		if s := c.Webhook.ClientConfig.Service; s.Name != conversionService || s.Namespace != d.config.Namespace {
			r.add(Error, "CustomResourceDefinition "+crd.Name, fmt.Sprintf("its conversion leads to Service %s/%s", s.Namespace, s.Name),
				"when that goes, objects in another version cannot be read", "a ready replica of kruise-webhook takes it over; see its log if it does not")
		}
	}
	return nil
}

// leftPrograms are workloads that run another installation's programs.
func (d *Doctor) leftPrograms(ctx context.Context, r *report) error {
	deployments, err := d.cluster.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range deployments.Items {
		d.judgeProgram(r, "Deployment", &deployments.Items[i].ObjectMeta, &deployments.Items[i].Spec.Template)
	}
	daemons, err := d.cluster.Client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range daemons.Items {
		d.judgeProgram(r, "DaemonSet", &daemons.Items[i].ObjectMeta, &daemons.Items[i].Spec.Template)
	}
	return nil
}

func (d *Doctor) judgeProgram(r *report, kind string, object *metav1.ObjectMeta, template *corev1.PodTemplateSpec) {
	for _, c := range template.Spec.Containers {
		program := ""
		if len(c.Command) > 0 {
			program = c.Command[0]
		}
		if !strings.Contains(c.Image, "kruise-manager") && (program != "/kruise-daemon" && program != "/manager" || !strings.HasPrefix(object.Name, "kruise-")) {
			continue
		}
		name := object.Namespace + "/" + object.Name
		r.add(Error, kind+" "+name, "it runs another implementation of these APIs ("+c.Image+")", "two act on the same objects",
			fmt.Sprintf("kubectl -n %s delete %s %s, or uninstall its release", object.Namespace, strings.ToLower(kind), object.Name))
		return
	}
}

func (d *Doctor) leftService(ctx context.Context, r *report) error {
	_, err := d.cluster.Client.CoreV1().Services(d.config.Namespace).Get(ctx, otherService, metav1.GetOptions{})
	if err == nil {
		r.add(Warning, "Service "+d.config.Namespace+"/"+otherService, "it is of another installation", "nothing of ours uses it",
			fmt.Sprintf("kubectl -n %s delete service %s, once nothing leads to it", d.config.Namespace, otherService))
	}
	return ignoreNotFound(err)
}
