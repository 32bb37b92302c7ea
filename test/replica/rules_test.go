package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/webhook/replica"
)

const (
	// swaps is how often the rules change, once a second.
	swaps = 4
	// broken does not compile.
	broken = "package fairlead.apps.sidecarset\n\ndeny contains v if {"

	goodSet = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":"good"},"spec":{
		"selector":{"matchLabels":{"app":"good"}},"containers":[{"name":"good","image":"bank.test/tool:v1"}]}}`
	badSet = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":"bad"},"spec":{
		"selector":{"matchLabels":{"app":"bad"}},"containers":[{"name":"bad","image":"bank.test/tool:v1"},{"name":"bad","image":"bank.test/tool:v1"}]}}`
)

// swapping puts the embedded rules into force again each second, and after each time rules that do not compile.
type swapping struct{ done atomic.Int64 }

func (s *swapping) run(ctx context.Context, engine *validators.Engine) error {
	embedded, err := validators.Modules()
	if err != nil {
		return err
	}
	useless := maps.Clone(embedded)
	useless["apps/broken.rego"] = broken
	for ctx.Err() == nil {
		if err := engine.Load(ctx, useless); err == nil {
			return errors.New("rules that do not compile were put into force")
		}
		if err := engine.Load(ctx, embedded); err != nil {
			return fmt.Errorf("loading the embedded rules: %w", err)
		}
		s.done.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// swappedRules: no verdict is missing, wrong or late while rules change.
func swappedRules(w *world) {
	var rules swapping
	only := w.start(func(c *replica.Cluster) { c.Rules = rules.run })
	for _, r := range w.replicas {
		if r != only {
			r.stop()
		}
	}
	w.Until("the rules are registered", func() bool { return isInvalid(w.createSet(badSet)) })
	asked := 0
	for until := rules.done.Load() + swaps; rules.done.Load() < until; time.Sleep(50 * time.Millisecond) {
		asked++
		if err := w.createSet(goodSet); err != nil {
			w.Errorf("a good SidecarSet: %v", err)
		}
		if err := w.createSet(badSet); !isInvalid(err) {
			w.Errorf("a bad SidecarSet: %v, want 422", err)
		}
		if got, err := w.admit("shop"); err != nil || !slices.Equal(got, injected) {
			w.Errorf("a Pod has %v (%v), want %v", got, err, injected)
		}
	}
	w.Logf("%d SidecarSets of each kind were judged while the rules changed %d times", asked, swaps)
}

func isInvalid(err error) bool { return apierrors.IsInvalid(err) }

// createSet asks for a SidecarSet as a dry run.
func (w *world) createSet(body string) error {
	return w.client.RESTClient().Post().AbsPath("/apis/apps.kruise.io/v1beta1/sidecarsets").Param("dryRun", "All").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(w.Context()).Error()
}
