package admissionlive

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	// podEntry is the webhook that makes Pods what they should be.
	podEntry = "mpod.kb.io"
	// sureAfter is how long a cluster must be one that wants Pods without admission. Helm creates the anchor after the Deployment,
	// so that an installation looks like that for a moment.
	sureAfter = 30 * time.Second
)

// MayCreate says why a controller must not create Pods yet, or nil. An installation's controllers can be quicker than its webhooks,
// and would give objects that were there before it Pods without sidecars.
//
// It holds until admission works for the first time, however long that takes: the API server would refuse the Pods anyway, once the
// webhooks are registered. But it does not hold where Pods are wanted without admission: where the anchor was deleted to let Pods
// through, or Pods' webhook has the failure policy Ignore. Nor does it hold where the webhook is registered and something else refuses
// the dry-run Pod.
func (c *Checker) MayCreate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waived() {
		return nil
	}
	return c.missing
}

func (c *Checker) waived() bool {
	return !c.dispensable.IsZero() && time.Since(c.dispensable) >= sureAfter
}

// weigh looks whether Pods are wanted although admission is not live.
func (c *Checker) weigh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	why := c.dispensableBecause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case why == "":
		c.dispensable = time.Time{}
	case c.dispensable.IsZero():
		c.dispensable = time.Now()
	}
	if c.waived() && !c.told {
		c.log.Info("controllers create Pods although admission is not live", "because", why)
	}
	c.told = c.waived()
}

func (c *Checker) dispensableBecause(ctx context.Context) string {
	anchor := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.api.Get(ctx, client.ObjectKey{Name: table.AnchorName}, anchor); apierrors.IsNotFound(err) {
		return table.AnchorName + " does not exist"
	}
	configuration, err := c.configuration(ctx, true)
	if err != nil {
		return ""
	}
	entry := configuration.Entry(podEntry)
	switch {
	case entry == nil:
		return ""
	case entry.FailurePolicy != nil && *entry.FailurePolicy == admissionv1.Ignore:
		return podEntry + " has failure policy Ignore"
	case c.refused():
		return podEntry + " is registered, and the dry-run Pod is refused for another reason"
	default:
		return ""
	}
}

// refused says whether the dry-run Pod is one that may not be created: for a policy or a quota of its namespace, or a right that is
// not there. None of that says anything about admission, without which the API server creates no Pod where its failure policy is
// Fail; and none may keep all CloneSets of a cluster from getting Pods.
func (c *Checker) refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return apierrors.IsForbidden(c.missing) || apierrors.IsInvalid(c.missing)
}
