package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// progress follows the Pods of a namespace until they are as many as wanted, all ready and of one image.
type progress struct {
	image string
	want  int
	mutex sync.Mutex
	// there are the Pods that are not being deleted, and whether each is as wanted.
	there   map[string]bool
	good    int
	reached chan struct{}
	began   time.Time
	took    time.Duration
	armed   bool
}

// follow begins to watch, before the change whose effect is waited for. Stop it by its context.
func (w *world) follow(ctx context.Context, namespace, image string, want int) (*progress, error) {
	p := &progress{image: image, want: want, there: map[string]bool{}, reached: make(chan struct{})}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(w.core.CoreV1().RESTClient(), "pods", namespace, fields.Everything()),
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { p.see(obj) },
			UpdateFunc: func(_, obj any) { p.see(obj) },
			DeleteFunc: func(obj any) { p.gone(obj) },
		},
	})
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching the Pods of %s: %w", namespace, ctx.Err())
	}
	return p, nil
}

// begin starts the clock.
func (p *progress) begin() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.began, p.armed = time.Now(), true
}

func (p *progress) see(obj any) {
	pod, isPod := obj.(*corev1.Pod)
	if !isPod {
		return
	}
	if pod.DeletionTimestamp != nil {
		p.gone(obj)
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	is := p.asWanted(pod)
	if was := p.there[pod.Name]; was != is {
		if is {
			p.good++
		} else {
			p.good--
		}
	}
	p.there[pod.Name] = is
	p.check()
}

func (p *progress) gone(obj any) {
	name := ""
	switch obj := obj.(type) {
	case *corev1.Pod:
		name = obj.Name
	case cache.DeletedFinalStateUnknown:
		_, name, _ = cache.SplitMetaNamespaceKey(obj.Key)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.there[name] {
		p.good--
	}
	delete(p.there, name)
	p.check()
}

// asWanted tells whether a Pod is ready with a container that runs the image.
func (p *progress) asWanted(pod *corev1.Pod) bool {
	ready := false
	for _, c := range pod.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == "web" {
			return ready && s.Image == p.image && pod.Spec.Containers[0].Image == p.image
		}
	}
	return false
}

func (p *progress) check() {
	if p.armed && p.good == p.want && len(p.there) == p.want {
		p.took, p.armed = time.Since(p.began), false
		close(p.reached)
	}
}

// await returns how long it took.
func (p *progress) await(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.reached:
		return p.took, nil
	case <-ctx.Done():
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return 0, fmt.Errorf("%d Pods are there, %d of them ready with image %s, of %d: %w", len(p.there), p.good, p.image, p.want, ctx.Err())
	}
}

// timed makes a change and returns how long it took until all Pods of the namespace were as wanted.
func (w *world) timed(ctx context.Context, namespace, image string, want int, change func() error) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := w.follow(ctx, namespace, image, want)
	if err != nil {
		return 0, err
	}
	p.begin()
	if err := change(); err != nil {
		return 0, err
	}
	return p.await(ctx)
}
