package cloneset

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A quota that was full for a night is not to keep Pods away for a quarter of an hour more.
func TestRetriesComeWithinAMinute(t *testing.T) {
	limiter := retries(workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 1000*time.Second))
	var last time.Duration
	for range 30 {
		last = limiter.When(reconcile.Request{})
	}
	if last != time.Minute {
		t.Errorf("the 30th retry comes after %s, want a minute", last)
	}
}
