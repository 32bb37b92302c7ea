package certs

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/bell"
)

const (
	// resync bounds how long a missed event, or a next CA that is due but not published, goes unnoticed. It must be well
	// below leafLifetime/2, after which a replica distrusts what it knows.
	resync = 10 * time.Minute
	// unpublishedCheck is how often the configurations are looked at while a next CA is due but not in them.
	unpublishedCheck = time.Minute
	// unconfirmedCheck is how often a starting replica that is otherwise ready looks.
	unconfirmedCheck = time.Second
	// pause before each further look at the Secret keeps replicas of different minds from writing it as fast as they can,
	// and one that is about to be told to stop, or loses its rights, from making a Secret that was just uninstalled.
	pause = 500 * time.Millisecond
	// attempts at one write: each conflict is another replica's write, after which mostly nothing is left to write.
	attempts = 5
)

// Prepare does once what Run goes on doing, so that there is a certificate before anyone can ask for it.
func (a *Authority) Prepare(ctx context.Context) error {
	_, err := a.sync(ctx)
	return err
}

// Run keeps the certificate and the bundle as the Secret says, and the Secret as it should be, until ctx ends. Errors
// of the API are logged and tried again; what was served goes on being served.
func (a *Authority) Run(ctx context.Context) error {
	changes := bell.New()
	if err := a.watch(ctx, changes); err != nil {
		return err
	}
	retry := newRetry()
	for {
		idle, err := a.sync(ctx)
		if err == nil {
			retry = newRetry()
		} else if ctx.Err() == nil {
			idle = retry.Step()
			klog.FromContext(ctx).Error(err, "Cannot keep the webhook CA", "retryIn", idle)
		}
		if !a.sleep(ctx, idle, changes) || !a.sleep(ctx, pause, nil) {
			return nil
		}
	}
}

func newRetry() *wait.Backoff {
	// Half a minute at most, so that service resumes soon after the API server does.
	return &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 9, Cap: 30 * time.Second}
}

// sleep waits for a time or until the bell rings, and says whether ctx still goes on.
func (a *Authority) sleep(ctx context.Context, d time.Duration, until bell.Bell) bool {
	timer := a.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	case <-until:
	}
	return true
}

// watch rings at every change of the Secret. Only this one is watched, by name: we may read no other.
func (a *Authority) watch(ctx context.Context, changes bell.Bell) error {
	informer := informers.NewFilteredSecretInformer(a.options.Client, a.options.Namespace, 0, cache.Indexers{},
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, a.options.Secret).String()
		})
	if _, err := informer.AddEventHandler(changes.OnEvents()); err != nil {
		return fmt.Errorf("watching Secret %s/%s: %w", a.options.Namespace, a.options.Secret, err)
	}
	go informer.RunWithContext(ctx)
	return nil
}

// sync reads the Secret, writes it if it must be another, and adopts it. It returns how long nothing will be to do
// unless the Secret changes.
func (a *Authority) sync(ctx context.Context) (time.Duration, error) {
	if a.options.ReadOnly {
		return resync, a.observe(ctx)
	}
	var err error
	for range attempts {
		var planned state
		var secret *corev1.Secret
		planned, secret, err = a.settle(ctx)
		if err == nil {
			err = a.adopt(planned, secret)
			return a.idle(planned, a.confirm(ctx, planned)), err
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	return 0, err
}

// observe adopts what the Secret says, if that can be signed with.
func (a *Authority) observe(ctx context.Context) error {
	live, err := a.read(ctx)
	if err != nil {
		return err
	}
	found, _ := decode(live.Data) // what is not usable is not our concern
	found = found.usable(a.options.Clock.Now())
	if found.current == nil {
		return nil
	}
	a.confirm(ctx, found)
	return a.adopt(found, live)
}

// settle reads the Secret once and brings it in line. A conflict, AlreadyExists or NotFound means that someone was
// quicker.
func (a *Authority) settle(ctx context.Context) (state, *corev1.Secret, error) {
	live, err := a.read(ctx)
	if err != nil {
		return state{}, nil, err
	}
	found, complaints := decode(live.Data)
	for _, complaint := range complaints {
		klog.FromContext(ctx).Error(complaint, "The webhook Secret is damaged; what is not usable is replaced",
			"secret", klog.KObj(live))
	}
	planned, err := plan(found, a.known(), a.due(ctx, found), a.options.Clock.Now(), newCA)
	if err != nil {
		return state{}, nil, fmt.Errorf("planning the webhook CA: %w", err)
	}
	ours, err := planned.encode()
	if err != nil {
		return state{}, nil, err
	}
	merged, changed := merge(live.Data, ours)
	if !changed {
		return planned, live, nil
	}
	live.Data = merged
	written, err := a.write(ctx, live)
	if err != nil {
		return state{}, nil, err
	}
	klog.FromContext(ctx).Info("Wrote the webhook CA", "secret", klog.KObj(live), "expires", planned.expiry(),
		"staged", planned.next != nil, "previous", len(planned.previous))
	return planned, written, nil
}

// read returns the live Secret, or one to be created, told by its empty resourceVersion.
func (a *Authority) read(ctx context.Context) (*corev1.Secret, error) {
	live, err := a.options.Client.CoreV1().Secrets(a.options.Namespace).Get(ctx, a.options.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: *a.metadata.DeepCopy(), Type: corev1.SecretTypeOpaque}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", a.options.Namespace, a.options.Secret, err)
	}
	return live, nil
}

// write fails if anyone wrote since the Secret was read: the API server compares the resourceVersion.
func (a *Authority) write(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	secrets := a.options.Client.CoreV1().Secrets(secret.Namespace)
	var written *corev1.Secret
	var err error
	if secret.ResourceVersion == "" {
		written, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		written, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("writing Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return written, nil
}

// idle is the time until there may be something to do although nobody touched the Secret.
func (a *Authority) idle(s state, confirmed bool) time.Duration {
	if !confirmed {
		return unconfirmedCheck
	}
	idle := s.wake().Sub(a.options.Clock.Now())
	if idle <= 0 {
		return unpublishedCheck
	}
	return min(idle, resync)
}
