package doctor

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/terminal"
)

// managerDeployment is that of the controllers, which OpenKruise's manager has the same name as.
const managerDeployment = "kruise-controller-manager"

func checkDeployments(ctx context.Context, d *Doctor, r *report) error {
	for _, c := range []struct{ name, means string }{
		{terminal.WebhookDeployment, "admission is not answered; with failure policy Fail no Pod is created"},
		{managerDeployment, "Pods with the gate KruisePodReady do not turn Ready, and ordered containers do not start"},
	} {
		object := fmt.Sprintf("Deployment %s/%s", d.installation.Namespace, c.name)
		found, err := d.cluster.Client.AppsV1().Deployments(d.installation.Namespace).Get(ctx, c.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			r.add(Error, object, "it does not exist", c.means, "helm upgrade --install kruise charts/kruise; or name its namespace by --fairlead-namespace")
		case err != nil:
			return err
		default:
			judgeDeployment(r, object, found, c.means)
		}
	}
	return nil
}

func judgeDeployment(r *report, object string, found *appsv1.Deployment, means string) {
	wanted := int32(1)
	if found.Spec.Replicas != nil {
		wanted = *found.Spec.Replicas
	}
	ready := found.Status.ReadyReplicas
	scale := fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", found.Namespace, found.Name)
	look := fmt.Sprintf("kubectl -n %s describe pods -l control-plane=%s", found.Namespace, found.Spec.Selector.MatchLabels["control-plane"])
	switch {
	case !runsFairlead(found):
		r.add(Error, object, "it does not run fairlead", "another program has the name", "see the finding of leftovers")
	case wanted == 0:
		r.add(Error, object, "it is scaled to 0 replicas, which what else is wrong may come from", means, scale)
	case ready == 0:
		r.add(Error, object, fmt.Sprintf("none of its %d replicas is ready", wanted), means, look)
	case ready < wanted:
		r.add(Warning, object, fmt.Sprintf("%d of %d replicas are ready", ready, wanted), "there is less to spare when a node goes", look)
	case wanted == 1:
		r.add(Warning, object, "it has a single replica", "while that moves to another node: "+means, scale)
	}
}

// runsFairlead tells our programs from those of other installations by their subcommands.
func runsFairlead(d *appsv1.Deployment) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		if slices.Contains(c.Args, "webhook") || slices.Contains(c.Args, "controllers") {
			return true
		}
	}
	return false
}
