package certificates

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiconversion "github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const injected = "agent web"

var errUninjected = errors.New("a Pod lacks its sidecar")

// An installed chart is switched to cert-manager and back, replicas and all, while Pods are created and objects converted:
// no request fails, and with the tag load none does while cert-manager renews the certificate and its CA, or makes a deleted
// Secret anew.
func TestSwitchingModesFailsNoRequest(t *testing.T) {
	w := newWorld(t)
	w.certManager()
	w.install()
	for range replicas {
		w.start()
	}
	w.until("a SidecarSet is accepted", func() bool {
		_, err := w.KubectlInput(w.Context(), strings.NewReader(sidecarSet), "apply", "-f", "-")
		return err == nil
	})
	w.until("Pods are injected", func() bool { got, err := w.admit(); return err == nil && got == injected })
	load := w.traffic()

	w.install("certManager.enabled=true")
	w.until("cert-manager has made the certificate", func() bool { return len(w.secret()["tls.crt"]) > 0 })
	w.roll()
	w.until("every replica serves cert-manager's certificate", func() bool { return w.allServe(w.secret()["ca.crt"]) })
	w.until("cert-manager has written every bundle", func() bool { return w.everywhere(injectedBundle(w.secret()["ca.crt"])) })
	w.Logf("%d Pods, %d conversions", load.pods.Load(), load.conversions.Load())

	if renews {
		w.renewals()
	}

	w.install("certManager.enabled=false")
	w.roll()
	w.until("every replica serves the service's own certificate", func() bool { return w.allServe(w.secret()["ca-cert.pem"]) })
	w.until("the service has written every bundle, with its CA alone", func() bool {
		return w.everywhere(ownBundle(w.secret()["ca-cert.pem"]))
	})
	load.stop()
	w.Logf("%d Pods, %d conversions, %d failed", load.pods.Load(), load.conversions.Load(), load.failed.Load())
	if load.pods.Load() < leastPods || load.conversions.Load() < leastConversions {
		t.Error("there was hardly any traffic")
	}
}

func (w *world) renewals() {
	w.Helper()
	another := func(what string) {
		before := w.serials()
		w.Helper()
		w.until(what, func() bool {
			for serial := range w.serials() {
				if before[serial] {
					return false
				}
			}
			return true
		})
	}
	w.renew("kruise-webhook")
	another("every replica serves the renewed certificate")
	ca := w.secretOf("kruise-webhook-ca")
	w.renew("kruise-webhook-ca")
	w.until("the CA is renewed", func() bool { return !bytes.Equal(ca, w.secretOf("kruise-webhook-ca")) })
	w.renew("kruise-webhook")
	another("every replica serves a certificate of the renewed CA")
	w.check(w.client.CoreV1().Secrets(namespace).Delete(w.Context(), secret, metav1.DeleteOptions{}))
	another("every replica serves the certificate of a Secret that was made anew")
	time.Sleep(mountLag)
}

func (w *world) serials() map[string]bool {
	serials := map[string]bool{}
	for _, one := range w.served() {
		serials[one.SerialNumber.String()] = true
	}
	return serials
}

func (w *world) secretOf(name string) []byte {
	w.Helper()
	live, err := w.client.CoreV1().Secrets(namespace).Get(w.Context(), name, metav1.GetOptions{})
	w.check(err)
	return live.Data["tls.crt"]
}

// registered is what a webhook configuration or a definition says about CAs.
type registered struct {
	metav1.ObjectMeta `json:"metadata"`
	Webhooks          []struct {
		ClientConfig struct {
			CABundle []byte `json:"caBundle"`
		} `json:"clientConfig"`
	} `json:"webhooks"`
	Spec struct {
		Conversion struct {
			Webhook struct {
				ClientConfig struct {
					CABundle []byte `json:"caBundle"`
				} `json:"clientConfig"`
			} `json:"webhook"`
		} `json:"conversion"`
	} `json:"spec"`
}

func (r registered) bundles() [][]byte {
	if len(r.Webhooks) == 0 {
		return [][]byte{r.Spec.Conversion.Webhook.ClientConfig.CABundle}
	}
	var all [][]byte
	for _, webhook := range r.Webhooks {
		all = append(all, webhook.ClientConfig.CABundle)
	}
	return all
}

// managers says who owns bundles.
func (r registered) managers() string {
	var names []string
	for _, entry := range r.ManagedFields {
		if strings.Contains(entry.FieldsV1.GetRawString(), "f:caBundle") {
			names = append(names, entry.Manager)
		}
	}
	return strings.Join(names, " ")
}

// injectedBundle: cert-manager was asked, has acted, and nobody else owns the field. It keeps what was there.
func injectedBundle(ca []byte) func(registered) bool {
	return func(r registered) bool {
		for _, bundle := range r.bundles() {
			if !bytes.Contains(bundle, bytes.TrimSpace(ca)) {
				return false
			}
		}
		return r.Annotations["cert-manager.io/inject-ca-from"] == namespace+"/kruise-webhook" && r.managers() == "cert-manager-cainjector"
	}
}

func ownBundle(ca []byte) func(registered) bool {
	return func(r registered) bool {
		for _, bundle := range r.bundles() {
			if !bytes.Equal(bytes.TrimSpace(bundle), bytes.TrimSpace(ca)) {
				return false
			}
		}
		_, asks := r.Annotations["cert-manager.io/inject-ca-from"]
		return !asks && strings.Contains(r.managers(), "fairlead-registration")
	}
}

// everywhere says whether something holds for both configurations and all definitions that convert.
func (w *world) everywhere(holds func(registered) bool) bool {
	w.Helper()
	const admission, extensions = "/apis/admissionregistration.k8s.io/v1/", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	paths := []string{
		admission + "mutatingwebhookconfigurations/" + table.MutatingName, admission + "validatingwebhookconfigurations/" + table.ValidatingName,
	}
	for _, resource := range apiconversion.Resources() {
		if resource.Differs {
			paths = append(paths, extensions+resource.Definition())
		}
	}
	for _, path := range paths {
		raw, err := w.client.RESTClient().Get().AbsPath(path).DoRaw(w.Context())
		w.check(err)
		var r registered
		w.check(json.Unmarshal(raw, &r))
		if !holds(r) {
			return false
		}
	}
	return true
}
