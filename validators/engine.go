package validators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"k8s.io/klog/v2"
)

// Options are what an Engine is made of.
type Options struct {
	Builtins []Builtin
	// Inventory is what rules see as data.inventory.
	Inventory map[string]any
	Metrics   *Metrics
	Log       klog.Logger
}

// Engine holds the rules in force. It is safe for concurrent use.
type Engine struct {
	builtins []Builtin
	store    storage.Store
	metrics  *Metrics
	log      klog.Logger

	loading sync.Mutex
	current atomic.Pointer[ruleset]
	failure atomic.Pointer[error]
}

// New makes an engine with the embedded rules.
func New(ctx context.Context, o Options) (*Engine, error) {
	sources, err := Modules()
	if err != nil {
		return nil, err
	}
	inventory := o.Inventory
	if inventory == nil {
		inventory = map[string]any{}
	}
	e := &Engine{
		builtins: o.Builtins, metrics: o.Metrics, log: o.Log,
		store: inmem.NewFromObject(map[string]any{"inventory": inventory}),
	}
	return e, e.Load(ctx, sources)
}

// Load puts rules, by file name, into force instead of those before. A set that does not compile changes nothing:
// the old one stays in force, and Failure, a metric and the log say so.
func (e *Engine) Load(ctx context.Context, sources map[string]string) error {
	e.loading.Lock()
	defer e.loading.Unlock()
	set, err := compile(ctx, sources, e.builtins, e.store)
	if err != nil {
		e.failure.Store(&err)
		e.metrics.refused()
		e.log.Error(err, "Rules are not usable; those before stay in force")
		return err
	}
	e.current.Store(set)
	e.failure.Store(nil)
	e.metrics.loaded(len(set.rules), set.revision)
	e.log.V(1).Info("Rules are in force", "rules", len(set.rules), "revision", set.revision.String())
	return nil
}

// Failure says why the rules given last are not in force; nil if they are.
func (e *Engine) Failure() error {
	if err := e.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Ready is nil when rules are in force.
func (e *Engine) Ready() error {
	if e.current.Load() == nil {
		return errors.New("no rules are in force yet")
	}
	return nil
}

// Rules are those in force, in the order of their kinds and files.
func (e *Engine) Rules() []Rule { return slices.Clone(e.current.Load().rules) }

// Verdict is what the rules say of an object.
type Verdict struct {
	Violations []Violation
	Warnings   []string
}

// Judge asks the rules of a kind, such as apps/sidecarset, about an input. It ends with ctx. An error means that there is
// no verdict.
func (e *Engine) Judge(ctx context.Context, kind string, input ast.Value) (verdict Verdict, err error) {
	start := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("judging %s: panic: %v", kind, cause)
		}
		e.metrics.judged(kind, time.Since(start), verdict, err)
	}()
	set := e.current.Load()
	query, known := set.queries[kind]
	if !known {
		return Verdict{}, fmt.Errorf("judging %s: there are no rules for it", kind)
	}
	results, err := query.Eval(ctx, rego.EvalParsedInput(input))
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Verdict{}, fmt.Errorf("judging %s: %w", kind, err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return Verdict{}, fmt.Errorf("judging %s: the rules gave no answer", kind)
	}
	return set.read(results[0].Expressions[0].Value)
}
