package policy

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/lineage"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// Outcomes of a test.
const (
	passed  = "pass"
	failed  = "fail"
	erred   = "error"
	skipped = "skip"
)

// Test is a test that was run.
type Test struct {
	// Name has its package before it.
	Name string `json:"name"`
	// Where is file:line in the set.
	Where string `json:"where"`
	// Outcome is pass, fail, error or skip.
	Outcome  string  `json:"outcome"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"`
	FailedAt string  `json:"failedAt,omitempty"`
	// Trace is how a test that did not pass went, a line an element, and Output what its print() calls said.
	Trace  []string `json:"trace,omitempty"`
	Output string   `json:"output,omitempty"`
}

// Result is that of a set.
type Result struct {
	Set      string   `json:"set"`
	Where    string   `json:"where"`
	Revision string   `json:"revision,omitempty"`
	Error    string   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Tests    []Test   `json:"tests"`
	// Coverage of the rules by the tests, in percent of lines, and what is not covered, as file:line.
	Coverage  float64  `json:"coverage"`
	Uncovered []string `json:"uncovered,omitempty"`
}

// ok says whether all is well.
func (r *Result) ok() bool {
	return r.Error == "" && !slices.ContainsFunc(r.Tests, func(t Test) bool { return t.Outcome == failed || t.Outcome == erred })
}

// runner runs tests.
type runner struct {
	// only is which tests, by name; nil is all.
	only    *regexp.Regexp
	timeout time.Duration
}

// run compiles a set as the service does, and runs its tests.
func (r runner) run(ctx context.Context, f found) (*Result, error) {
	result := &Result{Set: f.name, Where: f.where, Tests: []Test{}}
	source, set, err := compile(ctx, f)
	if err == nil {
		result.Revision, result.Warnings = set.Revision(), set.Warnings()
		err = r.test(ctx, source, result)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result, nil
}

func compile(ctx context.Context, f found) (*userpolicy.Source, *userpolicy.Set, error) {
	if err := userpolicy.CheckName(f.name); err != nil {
		return nil, nil, err
	}
	source, err := userpolicy.Parse(f.name, f.files)
	if err == nil && f.data != nil {
		source, err = source.WithData(f.data)
	}
	if err != nil {
		return nil, nil, err
	}
	set, err := userpolicy.Compile(ctx, source)
	return source, set, err
}

// test runs the tests of a set that compiles. They see its parameters; what is in data.inventory they say themselves.
func (r runner) test(ctx context.Context, source *userpolicy.Source, result *Result) error {
	rules, err := userpolicy.ParseModules(source.Modules)
	if err != nil {
		return err
	}
	all, err := userpolicy.ParseModules(source.Tests)
	if err != nil {
		return err
	}
	maps.Copy(all, rules)
	parameters := source.Settings.Parameters
	if parameters == nil {
		parameters = map[string]any{}
	}
	data := map[string]any{"parameters": parameters, "inventory": map[string]any{}}
	maps.Copy(data, source.Data)
	store := inmem.NewFromObject(data)
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return fmt.Errorf("making the data of tests: %w", err)
	}
	defer store.Abort(ctx, txn)
	covered := cover.New()
	run := tester.NewRunner().SetStore(store).SetModules(all).SetTimeout(r.timeout).EnableTracing(true).CapturePrintOutput(true).
		SetCoverageQueryTracer(covered).SetCompiler(ast.NewCompiler().WithCapabilities(userpolicy.Capabilities()).WithEnablePrintStatements(true))
	if r.only != nil {
		run.Filter(r.only.String())
	}
	results, err := run.RunTests(ctx, txn)
	if err != nil {
		return fmt.Errorf("compiling the tests: %w", err)
	}
	var ended []*tester.Result
	for one := range results {
		ended = append(ended, one)
	}
	slices.SortFunc(ended, func(a, b *tester.Result) int { return a.Location.Compare(b.Location) }) // they run side by side
	for _, one := range ended {
		result.Tests = append(result.Tests, testOf(one))
	}
	result.cover(covered.Report(rules))
	return nil
}

// longestTrace is how many lines of a trace are kept: its end says what failed.
const longestTrace = 200

func testOf(one *tester.Result) Test {
	t := Test{
		Name: strings.TrimPrefix(one.Package, "data.") + "." + one.Name, Outcome: passed, Seconds: one.Duration.Seconds(),
		Where: fmt.Sprintf("%s:%d", one.Location.File, one.Location.Row), Output: string(one.Output),
	}
	switch {
	case one.Skip:
		t.Outcome = skipped
	case one.Error != nil:
		t.Outcome, t.Error = erred, one.Error.Error()
	case one.Fail:
		t.Outcome = failed
	}
	if t.Outcome != failed && t.Outcome != erred {
		return t
	}
	t.FailedAt = failedAt(one)
	var text strings.Builder
	topdown.PrettyTraceWithLocation(&text, lineage.Fails(one.Trace))
	if lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n"); text.Len() > 0 {
		t.Trace = lines[max(0, len(lines)-longestTrace):]
	}
	return t
}

// failedAt is the line of the test itself that did not hold: the last one that failed.
func failedAt(one *tester.Result) string {
	for _, event := range slices.Backward(one.Trace) {
		if expr, ok := event.Node.(*ast.Expr); ok && event.Op == topdown.FailOp && event.Location != nil && event.Location.File == one.Location.File {
			return fmt.Sprintf("%s:%d: %s", event.Location.File, event.Location.Row, expr.Location.Text)
		}
	}
	return ""
}

func (r *Result) cover(report cover.Report) {
	r.Coverage = report.Coverage
	for _, file := range slices.Sorted(maps.Keys(report.Files)) {
		for _, span := range report.Files[file].NotCovered {
			if span.Start.Row == span.End.Row {
				r.Uncovered = append(r.Uncovered, fmt.Sprintf("%s:%d", file, span.Start.Row))
				continue
			}
			r.Uncovered = append(r.Uncovered, fmt.Sprintf("%s:%d-%d", file, span.Start.Row, span.End.Row))
		}
	}
	r.Uncovered = slices.Compact(r.Uncovered) // a head and a body may share a line
}
