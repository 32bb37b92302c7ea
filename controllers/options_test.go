package controllers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

func TestRetriesGrowToTheirLimit(t *testing.T) {
	o := Options{CacheSyncTimeout: time.Minute, Retries: Retries{BaseDelay: 10 * time.Millisecond, MaxDelay: 30 * time.Millisecond, QPS: 1000, Bucket: 1000}}
	options := o.forController()
	for i, want := range []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond} {
		if got := options.RateLimiter.When(requestFor("a")); got != want {
			t.Errorf("retry %d comes after %s, want %s", i+1, got, want)
		}
	}
	if got := options.RateLimiter.When(requestFor("b")); got != 10*time.Millisecond {
		t.Errorf("the first retry of another object comes after %s", got)
	}
	if options.CacheSyncTimeout != time.Minute || options.ReconciliationTimeout <= 0 {
		t.Errorf("limits are %+v", options)
	}
}

// A quota that was full for a night is not to keep Pods away for a quarter of an hour more.
func TestRetriesComeWithinWhatAControllerSays(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{1000 * time.Second: longestRetry, time.Second: time.Second} {
		o := Options{Retries: Retries{BaseDelay: time.Millisecond, MaxDelay: given, QPS: 1000, Bucket: 1000}}
		limiter := o.retryingWithin(longestRetry).forController().RateLimiter
		var last time.Duration
		for range 30 {
			last = limiter.When(requestFor("a"))
		}
		if last != want || o.Retries.MaxDelay != given {
			t.Errorf("with delays to %s the 30th retry comes after %s, want %s", given, last, want)
		}
	}
}

func TestControllersDoNotShareTheirBuckets(t *testing.T) {
	o := Options{Retries: Retries{BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond, QPS: 1, Bucket: 1}}
	busy, idle := o.forController().RateLimiter, o.forController().RateLimiter
	busy.When(requestFor("a"))
	if got := busy.When(requestFor("b")); got < 900*time.Millisecond {
		t.Errorf("with an empty bucket a retry comes after %s, want about a second", got)
	}
	if got := idle.When(requestFor("a")); got > time.Millisecond {
		t.Errorf("the retry of an idle controller waits %s for a busy one", got)
	}
}
