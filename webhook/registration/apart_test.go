package registration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// Who may not read the configuration of policies, or has one that the API server refuses, fails at it again and again, and waits
// ever longer between. What somebody does to the other configurations meanwhile is repaired at once all the same.
func TestTroubleWithPoliciesDelaysNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistrar(t, prometheus.NewRegistry())
		client := r.options.Client.(*fake.Clientset)
		client.PrependReactor("get", "validatingwebhookconfigurations", func(action clienttesting.Action) (bool, runtime.Object, error) {
			name := action.(clienttesting.GetAction).GetName()
			return name == table.PoliciesName, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), name, errors.New("no"))
		})
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		leading.Go(func() { r.lead(ctx) })
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		before, policiesBefore := looksAt(client, table.MutatingName), looksAt(client, table.PoliciesName)
		r.leadBell.Ring()
		time.Sleep(time.Second)
		synctest.Wait()
		if looksAt(client, table.MutatingName) == before {
			t.Error("nobody looked at the mutating configuration within a second of its change")
		}
		if policiesBefore < 5 || policiesBefore > 40 {
			t.Errorf("%d attempts at that of policies in five minutes", policiesBefore)
		}
		stop()
		leading.Wait()
	})
}

// looksAt is how often a configuration was read.
func looksAt(client *fake.Clientset, name string) (n int) {
	for _, action := range client.Actions() {
		if get, ok := action.(clienttesting.GetAction); ok && get.GetName() == name {
			n++
		}
	}
	return n
}

// unread are policies of which this replica cannot tell what they are.
type unread struct{ known bool }

func (u *unread) Entries() (entries []table.Entry, awaited []string, known bool) {
	return nil, nil, u.known
}
func (u *unread) Notify(func()) {}

// Who cannot read policies does not say that they are registered.
func TestPoliciesThatCannotBeReadAreNotRegistered(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := newRegistrar(t, registry)
	sets := &unread{}
	r.options.Policies = sets
	for _, known := range []bool{false, true} {
		sets.known = known
		r.report(policies, anchorRef("a1"), nil)
		r.report(validating, anchorRef("a1"), nil)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, m := range families[0].GetMetric() {
			got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() == 1
		}
		if diff := cmp.Diff(map[string]bool{table.PoliciesName: known, table.ValidatingName: true}, got); diff != "" {
			t.Errorf("policies known %t: %s", known, diff)
		}
	}
}
