package dryrun

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
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

// question is an object to try.
type question interface {
	// kind and resource are what the API server calls such objects.
	kind() string
	resource() string
	// body is the object.
	body(namespace string) ([]byte, error)
	// problems are the causes of a refusal; decided is false if something else than the object is the reason.
	problems(refused metav1.Status) (problems []Problem, decided bool)
}

// answer is a verdict.
type answer struct {
	problems []Problem
	// made is what the API server would have stored; nil if it refused, or if that is too long to be kept.
	made []byte
}

// maxKept bounds the memory of what is kept of an object: with fewer than maxAnswers such objects it is seldom reached.
const maxKept = 16 << 10

// key is the content of a question and the version that answers it.
type key struct {
	content [sha256.Size]byte
	version string
}

// keyOf is the same for two spellings of one object.
func keyOf(q question, body []byte, version string) key {
	canonical := jsontext.Value(body).Clone()
	if canonical.Canonicalize() != nil { // not JSON: the API server will say so
		canonical = body
	}
	return key{sha256.Sum256(append([]byte(q.resource()), canonical...)), version}
}

// Problems says what is wrong with a Pod. An error means that the API server gave no verdict: it could not be reached, was
// overloaded, forbids us to ask, or does not support dry runs.
func (a *Asker) Problems(ctx context.Context, pod Pod) ([]Problem, error) {
	found, err := a.answer(ctx, pod, false)
	return found.problems, err
}

// TemplateProblems says what is wrong with a template, at fields below it, as Problems does.
func (a *Asker) TemplateProblems(ctx context.Context, t Template) ([]Problem, error) {
	found, err := a.answer(ctx, t, false)
	return found.problems, err
}

// ClaimProblems says what is wrong with a claim template, at fields below it, as Problems does.
func (a *Asker) ClaimProblems(ctx context.Context, c Claim) ([]Problem, error) {
	found, err := a.answer(ctx, c, false)
	return found.problems, err
}

// ObjectProblems says what is wrong with an object, as Problems does.
func (a *Asker) ObjectProblems(ctx context.Context, o Object) ([]Problem, error) {
	found, err := a.answer(ctx, o, false)
	return found.problems, err
}

// Defaulted is a template as the API server would store it, with its defaults and whatever else somebody makes of it; nil if
// the API server refuses the template. An error means that nobody can tell.
func (a *Asker) Defaulted(ctx context.Context, t Template) (jsontext.Value, error) {
	found, err := a.answer(ctx, t, true)
	if err != nil || found.made == nil {
		return nil, err
	}
	var made struct {
		Template jsontext.Value `json:"template"`
	}
	if err := json.Unmarshal(found.made, &made); err != nil {
		return nil, fmt.Errorf("reading a PodTemplate: %w", err)
	}
	return made.Template, nil
}

// Vouch remembers that a template is right, for who has made it of one that is and the defaults that it got.
func (a *Asker) Vouch(t Template) {
	known := a.version.Load()
	body, err := t.body(a.namespace)
	if err != nil || known == nil {
		return
	}
	a.answers.Add(keyOf(t, body, known.version), answer{problems: []Problem{}}, answersFor)
}

// answer is remembered or asked for; made says that what was made is wanted.
func (a *Asker) answer(ctx context.Context, q question, made bool) (answer, error) {
	body, err := q.body(a.namespace)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	version, err := a.serverVersion(ctx)
	if err != nil {
		a.observe(Failed)
		return answer{}, err
	}
	k := keyOf(q, body, version)
	if known, ok := a.answers.Get(k); ok {
		if known := known.(answer); !made || len(known.problems) > 0 || known.made != nil {
			a.observe(Remembered)
			return known, nil
		}
	}
	found, err := a.ask(ctx, q, body)
	switch {
	case err != nil:
		a.observe(Failed)
		return answer{}, err
	case len(found.problems) > 0:
		a.observe(Refused)
	default:
		a.observe(Accepted)
	}
	kept := found
	if len(kept.made) > maxKept || !made {
		kept.made = nil
	}
	a.answers.Add(k, kept, answersFor)
	return found, nil
}

func (a *Asker) ask(ctx context.Context, q question, body []byte) (answer, error) {
	result := a.client.CoreV1().RESTClient().Post().Namespace(a.namespace).Resource(q.resource()).
		Param("dryRun", "All").Param("fieldValidation", "Ignore").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		MaxRetries(0).WarningHandler(rest.NoWarnings{}).Body(body).Do(ctx)
	err := result.Error()
	if err == nil {
		made, err := result.Raw()
		return answer{problems: []Problem{}, made: made}, err
	}
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) {
		if problems, decided := q.problems(refused.Status()); decided {
			return answer{problems: problems}, nil
		}
	}
	return answer{}, fmt.Errorf("trying a %s: %w", q.kind(), err)
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
