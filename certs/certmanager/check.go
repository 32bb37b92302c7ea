// Package certmanager tells what is wrong with a certificate that cert-manager shall issue.
package certmanager

import (
	"context"
	"fmt"
	"strings"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AddToScheme makes a scheme know cert-manager's kinds; the client.Reader that Check is given needs it.
func AddToScheme(scheme *runtime.Scheme) error { return cmv1.AddToScheme(scheme) }

// Finding is something that keeps a certificate from being what it should be.
type Finding struct {
	// Object is what it is about, such as "Certificate kruise-system/kruise-webhook".
	Object string
	// Problem says what is wrong with it, and Cure what to do.
	Problem, Cure string
}

// String is the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s; %s", f.Object, f.Problem, f.Cure)
}

// Check reads a Certificate and its issuer and says what is wrong with them, nothing if all is well. A failure to read is
// a finding too. hosts are names that the Certificate must ask for.
func Check(ctx context.Context, api client.Reader, namespace, certificate string, hosts ...string) []Finding {
	c := &cmv1.Certificate{}
	object := fmt.Sprintf("Certificate %s/%s", namespace, certificate)
	if err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: certificate}, c); err != nil {
		return []Finding{unread(object, err)}
	}
	found := missingHosts(object, c, hosts)
	if ready, trouble := state(c); !ready {
		// An issuer that cannot issue is why the certificate is not ready, so it is named first.
		found = append(checkIssuer(ctx, api, namespace, c.Spec.IssuerRef), append(found, Finding{
			Object: object, Problem: "is not ready: " + trouble,
			Cure: fmt.Sprintf("see `kubectl -n %s describe certificate,certificaterequest`", namespace),
		})...)
	}
	return append(found, overdue(object, c, time.Now())...)
}

func checkIssuer(ctx context.Context, api client.Reader, namespace string, ref cmmeta.IssuerReference) []Finding {
	if ref.Group != "" && ref.Group != cmv1.SchemeGroupVersion.Group {
		return nil // an issuer of somebody else's kind, which only its own controller understands
	}
	var issuer cmv1.GenericIssuer = &cmv1.Issuer{}
	key, object := client.ObjectKey{Namespace: namespace, Name: ref.Name}, fmt.Sprintf("Issuer %s/%s", namespace, ref.Name)
	if ref.Kind == cmv1.ClusterIssuerKind {
		issuer, key.Namespace, object = &cmv1.ClusterIssuer{}, "", "ClusterIssuer "+ref.Name
	}
	if err := api.Get(ctx, key, issuer); err != nil {
		return []Finding{unread(object, err)}
	}
	for _, condition := range issuer.GetStatus().Conditions {
		if condition.Type != cmv1.IssuerConditionReady {
			continue
		}
		if condition.Status == cmmeta.ConditionTrue {
			return nil
		}
		return []Finding{{
			Object: object, Problem: "is not ready: " + told(condition.Reason, condition.Message),
			Cure: "repair the issuer; certificates follow by themselves",
		}}
	}
	return []Finding{{Object: object, Problem: "has no status yet", Cure: "look whether cert-manager is running"}}
}

// state says whether a certificate is ready, and if not what its conditions say.
func state(c *cmv1.Certificate) (ready bool, trouble string) {
	var said []string
	for _, condition := range c.Status.Conditions {
		switch {
		case condition.Type == cmv1.CertificateConditionReady && condition.Status == cmmeta.ConditionTrue:
			return true, ""
		case condition.Type == cmv1.CertificateConditionReady,
			// A failed issuance is an Issuing condition that is false; one under way is true.
			condition.Type == cmv1.CertificateConditionIssuing && (condition.Status == cmmeta.ConditionTrue || c.Status.LastFailureTime != nil):
			said = append(said, told(condition.Reason, condition.Message))
		}
	}
	if len(said) == 0 {
		return false, "it has no status yet; look whether cert-manager is running"
	}
	return false, strings.Join(said, "; ")
}

func missingHosts(object string, c *cmv1.Certificate, hosts []string) []Finding {
	asked := map[string]bool{}
	for _, name := range append(append([]string{}, c.Spec.DNSNames...), c.Spec.IPAddresses...) {
		asked[name] = true
	}
	var missing []string
	for _, host := range hosts {
		if !asked[host] {
			missing = append(missing, host)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []Finding{{
		Object: object, Problem: "does not ask for " + strings.Join(missing, ", "), Cure: "add the names to spec.dnsNames",
	}}
}

// overdue finds a ready certificate that cert-manager should have renewed: it is perhaps not running.
func overdue(object string, c *cmv1.Certificate, now time.Time) []Finding {
	const patience = time.Hour // of a renewal that takes its time
	switch s := c.Status; {
	case s.NotAfter != nil && now.After(s.NotAfter.Time):
		return []Finding{{object, "expired at " + s.NotAfter.UTC().Format(time.RFC3339), "look whether cert-manager is running"}}
	case s.RenewalTime != nil && now.After(s.RenewalTime.Add(patience)):
		return []Finding{{object, "was to be renewed at " + s.RenewalTime.UTC().Format(time.RFC3339), "look whether cert-manager is running"}}
	default:
		return nil
	}
}

func unread(object string, err error) Finding {
	switch {
	case meta.IsNoMatchError(err):
		return Finding{object, "the cluster does not know cert-manager's kinds", "install cert-manager, with its CustomResourceDefinitions"}
	case apierrors.IsNotFound(err):
		return Finding{object, "does not exist", "create it, or switch certManager.enabled on in the chart, which does"}
	case apierrors.IsForbidden(err):
		return Finding{object, "must not be read: " + err.Error(), "give the right to get it"}
	default:
		return Finding{object, "cannot be read: " + err.Error(), "try again"}
	}
}

func told(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}
