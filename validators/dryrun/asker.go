package dryrun

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

const (
	// maxAnswers bounds the memory: an answer is a hash, or a few lines of text.
	maxAnswers = 1024
	// answersFor is how long an answer serves: what the API server says of a Pod depends, besides its version, on
	// feature gates, which change with a restart.
	answersFor = 10 * time.Minute
	// versionFor is how long the server's version is believed.
	versionFor = time.Minute
	// patience is for one call: the request that waits for it has five seconds in all.
	patience = 2 * time.Second
)

// Asker asks the API server, and remembers what it said. It is safe for concurrent use.
type Asker struct {
	client    kubernetes.Interface
	namespace string
	clock     clock.PassiveClock
	observe   func(outcome string)
	answers   *cache.LRUExpireCache
	version   atomic.Pointer[believed]
}

// believed is the API server's version as it was read last.
type believed struct {
	version string
	until   time.Time
}

// Outcomes of a question, for metrics.
const (
	Remembered = "remembered"
	Accepted   = "accepted"
	Refused    = "refused"
	Failed     = "failed"
)

// New makes an asker. namespace is the release namespace, where a Role allows to create PodTemplates; observe is told of
// every outcome.
func New(client kubernetes.Interface, namespace string, clock clock.PassiveClock, observe func(outcome string)) *Asker {
	return &Asker{
		client: client, namespace: namespace, clock: clock, observe: observe,
		answers: cache.NewLRUExpireCacheWithClock(maxAnswers, clock),
	}
}

// key is the content of a question and the version that answers it.
type key struct {
	content [sha256.Size]byte
	version string
}

// Problems says what is wrong with a Pod. An error means that the API server gave no verdict: it could not be reached, was
// overloaded, forbids us to ask, or does not support dry runs.
func (a *Asker) Problems(ctx context.Context, pod Pod) ([]Problem, error) {
	template, err := pod.template(a.namespace)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	version, err := a.serverVersion(ctx)
	if err != nil {
		a.observe(Failed)
		return nil, err
	}
	k := key{sha256.Sum256(template), version}
	if known, ok := a.answers.Get(k); ok {
		a.observe(Remembered)
		return known.([]Problem), nil
	}
	problems, err := a.ask(ctx, pod, template)
	switch {
	case err != nil:
		a.observe(Failed)
		return nil, err
	case len(problems) > 0:
		a.observe(Refused)
	default:
		a.observe(Accepted)
	}
	a.answers.Add(k, problems, answersFor)
	return problems, nil
}

func (a *Asker) ask(ctx context.Context, pod Pod, template []byte) ([]Problem, error) {
	err := a.client.CoreV1().RESTClient().Post().Namespace(a.namespace).Resource("podtemplates").
		Param("dryRun", "All").Param("fieldValidation", "Ignore").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		MaxRetries(0).Body(template).Do(ctx).Error()
	if err == nil {
		return []Problem{}, nil
	}
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) && refused.Status().Code == http.StatusUnprocessableEntity {
		if problems := pod.problems(refused.Status()); len(problems) > 0 {
			return problems, nil
		}
	}
	return nil, fmt.Errorf("trying a PodTemplate: %w", err)
}

// serverVersion is read by whoever finds that it is too old: several may at once, which costs less than to wait for one that
// got no answer.
func (a *Asker) serverVersion(ctx context.Context) (string, error) {
	if known := a.version.Load(); known != nil && a.clock.Now().Before(known.until) {
		return known.version, nil
	}
	raw, err := a.client.Discovery().RESTClient().Get().AbsPath("/version").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("reading the API server's version: %w", err)
	}
	a.version.Store(&believed{version: string(raw), until: a.clock.Now().Add(versionFor)})
	return string(raw), nil
}
