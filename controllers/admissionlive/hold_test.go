package admissionlive

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// started is a checker that looks until the test ends.
func started(t *testing.T, a *api) (*Checker, *journal) {
	t.Helper()
	var lines journal
	c := New(a, "probes", entries, funcr.New(func(_, args string) { lines.add(args) }, funcr.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c, &lines
}

func TestPodsWaitForAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.mutating = nil
		c, _ := started(t, a)
		if c.MayCreate() == nil {
			t.Error("Pods may be created before anything was looked at")
		}
		time.Sleep(time.Hour)
		if err := c.MayCreate(); err == nil || !strings.Contains(err.Error(), "kruise-mutating-webhook-configuration does not exist") {
			t.Errorf("after an hour without admission: %v", err)
		}
		a.set(func() { a.mutating = []string{"mpod.kb.io", "msidecarset.kb.io"} })
		time.Sleep(3 * time.Second)
		if err := c.MayCreate(); err != nil {
			t.Errorf("admission is live: %v", err)
		}
		a.set(func() { a.mutating = nil })
		time.Sleep(time.Hour)
		if err := c.MayCreate(); err != nil {
			t.Errorf("admission went after it was live: %v", err)
		}
	})
}

// TestPodsDoNotWaitWhereAdmissionIsNotWanted is about a process that starts while somebody has let Pods through.
func TestPodsDoNotWaitWhereAdmissionIsNotWanted(t *testing.T) {
	for name, unwanted := range map[string]func(*api){
		"the anchor was deleted": func(a *api) { a.mutating, a.validating, a.noAnchor = nil, nil, true },
		"failure policy Ignore": func(a *api) {
			a.policy, a.noGate = admissionv1.Ignore, true
		},
		"somebody's policy refuses the dry-run Pod": func(a *api) {
			a.policy, a.createErr = admissionv1.Fail, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "kruise-admission-probe", errors.New("no team"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI()
				unwanted(a)
				c, lines := started(t, a)
				time.Sleep(25 * time.Second)
				if c.MayCreate() == nil {
					t.Error("an installation looks like that for a moment")
				}
				time.Sleep(10 * time.Second)
				if err := c.MayCreate(); err != nil {
					t.Error(err)
				}
				if c.Missing() == nil {
					t.Error("it is ready although admission is not live")
				}
				told := 0
				for _, line := range lines.all() {
					if strings.Contains(line, "create Pods although") {
						told++
					}
				}
				if told != 1 {
					t.Errorf("it is told %d times: %q", told, lines.all())
				}
			})
		})
	}
}

func TestTheAnchorComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.mutating, a.noAnchor = nil, true
		c, _ := started(t, a)
		time.Sleep(20 * time.Second)
		a.set(func() { a.noAnchor = false })
		time.Sleep(time.Hour)
		if c.MayCreate() == nil {
			t.Error("Pods may be created although the anchor is there and admission is not live")
		}
	})
}

func TestPodsWaitForRegisteredWebhooksThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.policy, a.createErr = admissionv1.Fail, errors.New("no endpoints available for service")
		c, _ := started(t, a)
		time.Sleep(time.Hour)
		if c.MayCreate() == nil {
			t.Error("Pods may be created that the API server refuses")
		}
	})
}
