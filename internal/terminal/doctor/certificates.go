package doctor

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/fairlead-io/fairlead/certs/certmanager"
	"github.com/fairlead-io/fairlead/internal/features"
)

const (
	// caSoon is when a CA should have been replaced by the service, which does so a month before it is due, or by whoever
	// makes certificates.
	caSoon = 7 * 24 * time.Hour
	// injectFrom is cert-manager's annotation that names the Certificate whose CA is injected.
	injectFrom = "cert-manager.io/inject-ca-from"
)

// checkCertificates looks at the CA and at whether everything that leads to the service trusts it.
func checkCertificates(ctx context.Context, d *Doctor, r *report) error {
	settings := d.installation.Settings
	key, cure := "ca-cert.pem", fmt.Sprintf("kubectl -n %s delete secret %s: a new CA is made and distributed without a failed request", d.config.Namespace, settings.Secret)
	if settings.Gates.Enabled(features.EnableExternalCerts) {
		key, cure = "ca.crt", "renew the certificate where it is made"
		d.checkManager(ctx, r)
	}
	object := fmt.Sprintf("Secret %s/%s", d.config.Namespace, settings.Secret)
	secret, err := d.cluster.Client.CoreV1().Secrets(d.config.Namespace).Get(ctx, settings.Secret, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.add(Error, object, "it does not exist", "no replica has a certificate to serve", fmt.Sprintf("kubectl -n %s logs deploy/kruise-webhook", d.config.Namespace))
		return nil
	case err != nil:
		return err
	}
	authority := judgeSecret(r, object, cure, key, secret, d.now())
	if authority == nil {
		return nil
	}
	if err := d.checkBundles(ctx, r, authority); err != nil {
		return err
	}
	return d.checkDefinitionBundles(ctx, r, authority)
}

func (d *Doctor) checkManager(ctx context.Context, r *report) {
	namespace, name, ok := strings.Cut(d.installation.Settings.Injection[injectFrom], "/")
	if !ok {
		return
	}
	for _, f := range certmanager.Check(ctx, d.api, namespace, name, d.config.ServerName(), conversionService+"."+d.config.Namespace+".svc") {
		r.add(Error, f.Object, f.Problem, "the certificate of the service is not, or will not be, renewed", f.Cure)
	}
}

// judgeSecret reads the CA; nil if there is none that could be used.
func judgeSecret(r *report, object, cure, key string, secret *corev1.Secret, now time.Time) *x509.Certificate {
	if len(secret.Data[key]) == 0 {
		r.add(Error, object, "it has no "+key, "no replica has a certificate to serve", cure)
		return nil
	}
	found, err := cert.ParseCertsPEM(secret.Data[key])
	if err != nil {
		r.add(Error, object, fmt.Sprintf("%s cannot be read: %v", key, err), "no replica has a certificate to serve", cure)
		return nil
	}
	authority := found[0]
	switch left := authority.NotAfter.Sub(now); {
	case left <= 0:
		r.add(Error, object, "its CA expired at "+authority.NotAfter.UTC().Format(time.RFC3339), "the API server trusts no replica", cure)
	case left < caSoon:
		r.add(Warning, object, "its CA expires at "+authority.NotAfter.UTC().Format(time.RFC3339), "it should have been replaced by now", cure)
	}
	return authority
}

// checkBundles looks whether every webhook that leads to the service trusts the CA.
func (d *Doctor) checkBundles(ctx context.Context, r *report, authority *x509.Certificate) error {
	configurations, err := d.configurations(ctx) // of one that is not there another check says so
	for _, live := range configurations {
		var distrusting []string
		for _, w := range live.Webhooks {
			if d.config.ReachesUs(w.ClientConfig) && !trusts(w.ClientConfig.CABundle, authority) {
				distrusting = append(distrusting, w.Name)
			}
		}
		if len(distrusting) > 0 {
			r.add(Error, live.Kind()+" "+live.Name, "caBundle lacks the CA of the service: "+strings.Join(distrusting, ", "),
				"the API server does not trust the service, and refuses or ignores by failure policy", d.bundleCure())
		}
	}
	return err
}

func (d *Doctor) bundleCure() string {
	switch {
	case d.installation.Settings.Gates.Enabled(features.EnableExternalCerts):
		return "look whether cert-manager's cainjector runs: kubectl get pods -A -l app.kubernetes.io/name=cainjector"
	default:
		return d.registerCure()
	}
}

func trusts(bundle []byte, authority *x509.Certificate) bool {
	found, _ := cert.ParseCertsPEM(bundle) // one that cannot be read has none
	return slices.ContainsFunc(found, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, authority.Raw) })
}
