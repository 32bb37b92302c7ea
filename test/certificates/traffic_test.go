package certificates

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// traffic creates Pods and reads objects in the other version until it is stopped; every request must succeed.
type traffic struct {
	pods, conversions atomic.Int64
	failed            atomic.Int64
	stop              func()
}

func (w *world) traffic() *traffic {
	t := &traffic{}
	ctx, cancel := context.WithCancel(w.Context())
	var group sync.WaitGroup
	t.stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	w.Cleanup(t.stop)
	each := func(every time.Duration, done *atomic.Int64, request func() error) {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := request(); err != nil && ctx.Err() == nil {
					if t.failed.Add(1) <= 10 {
						w.Errorf("at %s: %v", time.Now().Format("15:04:05.000"), err)
					}
				}
				done.Add(1)
				time.Sleep(every)
			}
		})
	}
	for range 2 {
		each(100*time.Millisecond, &t.pods, func() error {
			got, err := w.admit()
			if err == nil && got != injected {
				return errUninjected
			}
			return err
		})
	}
	each(200*time.Millisecond, &t.conversions, func() error {
		return w.client.RESTClient().Get().AbsPath("/apis/apps.kruise.io/v1alpha1/sidecarsets/agents").Do(ctx).Error()
	})
	return t
}
