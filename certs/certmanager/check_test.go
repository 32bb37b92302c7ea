package certmanager

import (
	"context"
	"strings"
	"testing"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const host = "kruise-admission.ns.svc"

func certificate(change func(*cmv1.Certificate)) *cmv1.Certificate {
	c := &cmv1.Certificate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cert"},
		Spec:       cmv1.CertificateSpec{DNSNames: []string{host}, IssuerRef: cmmeta.IssuerReference{Name: "ca"}},
		Status: cmv1.CertificateStatus{Conditions: []cmv1.CertificateCondition{
			{Type: cmv1.CertificateConditionReady, Status: cmmeta.ConditionTrue},
		}},
	}
	change(c)
	return c
}

func notReady(reason, message string) func(*cmv1.Certificate) {
	return func(c *cmv1.Certificate) {
		c.Status.Conditions = []cmv1.CertificateCondition{
			{Type: cmv1.CertificateConditionReady, Status: cmmeta.ConditionFalse, Reason: reason, Message: message},
		}
	}
}

func issuer(status cmmeta.ConditionStatus, message string) *cmv1.Issuer {
	return &cmv1.Issuer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"},
		Status: cmv1.IssuerStatus{Conditions: []cmv1.IssuerCondition{
			{Type: cmv1.IssuerConditionReady, Status: status, Reason: "Because", Message: message},
		}},
	}
}

func TestCheck(t *testing.T) {
	past := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(-ago)} }
	for name, test := range map[string]struct {
		objects []client.Object
		// want are the beginnings of the findings.
		want []string
	}{
		"all is well": {
			objects: []client.Object{certificate(func(*cmv1.Certificate) {}), issuer(cmmeta.ConditionTrue, "")},
		},
		"no certificate": {want: []string{"Certificate ns/cert: does not exist"}},
		"the issuer is why": {
			objects: []client.Object{certificate(notReady("DoesNotExist", "no Secret")), issuer(cmmeta.ConditionFalse, "no CA")},
			want: []string{
				"Issuer ns/ca: is not ready: Because: no CA", "Certificate ns/cert: is not ready: DoesNotExist: no Secret",
			},
		},
		"no issuer": {
			objects: []client.Object{certificate(notReady("DoesNotExist", ""))},
			want:    []string{"Issuer ns/ca: does not exist", "Certificate ns/cert: is not ready: DoesNotExist"},
		},
		"an issuer that nobody has looked at": {
			objects: []client.Object{
				certificate(func(c *cmv1.Certificate) { c.Status.Conditions = nil }),
				&cmv1.Issuer{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"}},
			},
			want: []string{"Issuer ns/ca: has no status yet", "Certificate ns/cert: is not ready: it has no status yet; look whether cert-manager is running"},
		},
		"a cluster's issuer": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) {
				notReady("DoesNotExist", "")(c)
				c.Spec.IssuerRef.Kind = "ClusterIssuer"
			}), issuer(cmmeta.ConditionTrue, "")},
			want: []string{"ClusterIssuer ca: does not exist", "Certificate ns/cert: is not ready"},
		},
		"an issuer of another kind": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) {
				notReady("DoesNotExist", "")(c)
				c.Spec.IssuerRef.Group = "awspca.cert-manager.io"
			})},
			want: []string{"Certificate ns/cert: is not ready"},
		},
		"a name is missing": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) { c.Spec.DNSNames = []string{"other"} })},
			want:    []string{"Certificate ns/cert: does not ask for kruise-admission.ns.svc; add"},
		},
		"the last try failed": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) {
				notReady("Expired", "too old")(c)
				c.Status.LastFailureTime = past(time.Minute)
				c.Status.Conditions = append(c.Status.Conditions, cmv1.CertificateCondition{
					Type: cmv1.CertificateConditionIssuing, Status: cmmeta.ConditionFalse, Reason: "Failed", Message: "denied",
				})
			}), issuer(cmmeta.ConditionTrue, "")},
			want: []string{"Certificate ns/cert: is not ready: Expired: too old; Failed: denied"},
		},
		"ready, but expired": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) { c.Status.NotAfter = past(time.Second) })},
			want:    []string{"Certificate ns/cert: expired at "},
		},
		"ready, but not renewed": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) { c.Status.RenewalTime = past(2 * time.Hour) })},
			want:    []string{"Certificate ns/cert: was to be renewed at "},
		},
		"about to be renewed": {
			objects: []client.Object{certificate(func(c *cmv1.Certificate) { c.Status.RenewalTime = past(time.Minute) })},
		},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, test.want, Check(t.Context(), reader(t, test.objects...).Build(), "ns", "cert", host))
		})
	}
}

func TestCheckWithoutCertManager(t *testing.T) {
	api := reader(t).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}}
		},
	}).Build()
	compare(t, []string{"Certificate ns/cert: the cluster does not know cert-manager's kinds; install cert-manager"},
		Check(t.Context(), api, "ns", "cert"))
}

func reader(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

// compare cuts each finding to the length of what is wanted.
func compare(t *testing.T, want []string, found []Finding) {
	t.Helper()
	var got []string
	for i, finding := range found {
		line := finding.String()
		if i < len(want) && strings.HasPrefix(line, want[i]) {
			line = want[i]
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
