package admissionlive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/webhook/table"
)

var entries = []table.Entry{
	{Name: "mpod.kb.io", Mutating: true}, {Name: "msidecarset.kb.io", Mutating: true}, {Name: "vsidecarset.kb.io"},
}

// api is an API server in which each thing that can be missing can be.
type api struct {
	client.Client
	mu                   sync.Mutex
	mutating, validating []string // entries; nil: the configuration does not exist
	readErr, createErr   error
	noGate, noAnchor     bool
	policy               admissionv1.FailurePolicyType // of the mutating entries
	probed               *corev1.Pod
	options              client.CreateOptions
	looks                int
}

func newAPI() *api {
	a := &api{mutating: []string{"mpod.kb.io", "msidecarset.kb.io"}, validating: []string{"vsidecarset.kb.io"}}
	a.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			return a.get(key.Name, obj)
		},
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return a.create(obj.(*corev1.Pod), opts)
		},
	}).Build()
	return a
}

// set changes what is missing.
func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *api) get(name string, obj client.Object) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	missing := apierrors.NewNotFound(schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "webhookconfigurations"}, name)
	switch configuration := obj.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		if a.mutating == nil || name != "kruise-mutating-webhook-configuration" {
			return missing
		}
		for _, entry := range a.mutating {
			configuration.Webhooks = append(configuration.Webhooks, admissionv1.MutatingWebhook{Name: entry, FailurePolicy: &a.policy})
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		if name == "kruise-anchor" && !a.noAnchor {
			return nil
		}
		if a.validating == nil || name != "kruise-validating-webhook-configuration" {
			return missing
		}
		for _, entry := range a.validating {
			configuration.Webhooks = append(configuration.Webhooks, admissionv1.ValidatingWebhook{Name: entry})
		}
	}
	return a.readErr
}

func (a *api) create(pod *corev1.Pod, opts []client.CreateOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probed = pod.DeepCopy()
	a.options.ApplyOptions(opts)
	if a.createErr == nil && !a.noGate {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}}
	}
	return a.createErr
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	const noEndpoints = `Internal error occurred: failed calling webhook "mpod.kb.io": no endpoints available for service "kruise-admission"`
	tests := []struct {
		name   string
		broken func(*api)
		want   string // "" is nothing
	}{
		{"nothing", func(*api) {}, ""},
		{"the mutating configuration", func(a *api) { a.mutating = nil }, "kruise-mutating-webhook-configuration does not exist"},
		{"the validating configuration", func(a *api) { a.validating = nil }, "kruise-validating-webhook-configuration does not exist"},
		{"entries", func(a *api) { a.mutating = []string{"other"} }, "kruise-mutating-webhook-configuration lacks mpod.kb.io, msidecarset.kb.io"},
		{"a validating entry", func(a *api) { a.validating = []string{} }, "kruise-validating-webhook-configuration lacks vsidecarset.kb.io"},
		{"more entries than ours", func(a *api) { a.mutating = append(a.mutating, "next.kb.io") }, ""},
		{"the right to read", func(a *api) { a.readErr = errors.New("forbidden: cannot get") }, "reading kruise-mutating-webhook-configuration: forbidden: cannot get"},
		{"endpoints", func(a *api) { a.createErr = errors.New(noEndpoints) }, "creating a dry-run Pod in namespace probes: " + noEndpoints},
		{"the gate", func(a *api) { a.noGate = true }, "without the readiness gate KruisePodReady"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI()
			tt.broken(a)
			err := New(a, "probes", entries, logr.Discard()).look(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("missing is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAConfigurationWithoutExpectedEntriesNeedNotExist(t *testing.T) {
	a := newAPI()
	a.validating = nil
	if err := New(a, "probes", entries[:2], logr.Discard()).look(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheProbeIsADryRunOfAPodOfOurs(t *testing.T) {
	a := newAPI()
	if err := New(a, "probes", entries, logr.Discard()).look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{metav1.DryRunAll}, a.options.DryRun); diff != "" {
		t.Errorf("the Pod would be created: %s", diff)
	}
	owner := metav1.GetControllerOf(a.probed)
	if a.probed.Namespace != "probes" || owner == nil || owner.APIVersion != "apps.kruise.io/v1beta1" || owner.Kind != "CloneSet" {
		t.Errorf("the Pod is in namespace %q and controlled by %+v", a.probed.Namespace, owner)
	}
	if len(a.probed.Spec.ReadinessGates) > 0 {
		t.Error("the Pod has the gate before admission saw it")
	}
}

// journal is the lines of a log.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

func TestItLooksUntilAdmissionWorksAndNeverAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.mutating = nil
		var lines journal
		log := funcr.New(func(_, args string) { lines.add(args) }, funcr.Options{})
		c := New(a, "probes", entries, log)
		if err := c.Missing(); err == nil {
			t.Error("ready before it has looked")
		}
		ended := make(chan error)
		go func() { ended <- c.Start(t.Context()) }()

		time.Sleep(59 * time.Second)
		synctest.Wait()
		if err := c.Missing(); err == nil || !strings.Contains(err.Error(), "kruise-mutating-webhook-configuration does not exist") {
			t.Errorf("missing is %v", err)
		}
		if lines := lines.all(); len(lines) != 1 || !strings.Contains(lines[0], "kruise-mutating-webhook-configuration does not exist") {
			t.Errorf("log has %q, want the reason once", lines)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if lines := lines.all(); len(lines) != 2 {
			t.Errorf("log has %q, want the reason again after a minute", lines)
		}
		a.set(func() { a.mutating, a.noGate = []string{"mpod.kb.io", "msidecarset.kb.io"}, true })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if lines := lines.all(); len(lines) != 3 || !strings.Contains(lines[2], "readiness gate") {
			t.Errorf("log has %q, want the new reason at once", lines)
		}
		a.set(func() { a.noGate = false })
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := c.Missing(); err != nil {
			t.Errorf("not ready although admission works: %v", err)
		}
		if lines := lines.all(); len(lines) != 4 || !strings.Contains(lines[3], "admission is live") {
			t.Errorf("log has %q", lines)
		}
		looks := a.looks
		a.mutating = nil
		time.Sleep(time.Hour)
		if err := c.Missing(); err != nil || a.looks != looks {
			t.Errorf("after an outage: missing is %v, %d more looks", err, a.looks-looks)
		}
	})
}

func TestStoppingEndsTheLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.createErr = context.Canceled
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		c := New(a, "probes", entries, logr.Discard())
		go func() { ended <- c.Start(ctx) }()
		time.Sleep(5 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stopping is an error: %v", err)
		}
		if c.Missing() == nil {
			t.Error("stopping makes it ready")
		}
	})
}

func TestALookEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		start := time.Now()
		err := New(slow, "probes", entries, logr.Discard()).look(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 35*time.Second {
			t.Errorf("error %v after %s", err, time.Since(start))
		}
	})
}
