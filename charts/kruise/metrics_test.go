package kruise

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// target are labels that Prometheus adds to what it scrapes.
var target = []string{"namespace", "pod", "job", "instance", "service"}

// foreign are metrics of Prometheus itself and of its client library.
var foreign = regexp.MustCompile(`^(up|process_[a-z_]+|go_[a-z_]+)$`)

// metric is one that a program of ours exports.
type metric struct {
	labels []string
	// literals are the strings of the package that makes it, of which the values of labels are some.
	literals map[string]bool
}

// The alerts and the dashboard are PromQL, and ask for metrics and labels that our programs export, with values that occur.
func TestAlertsAndDashboardUseWhatIsExported(t *testing.T) {
	known := exported(t)
	if len(known) < 20 {
		t.Fatalf("found only %d metrics in the sources", len(known))
	}
	for _, use := range inspect(t, append(alerts(t), panels(t)...)) {
		available := slices.Clone(target)
		for _, selected := range use.Selected {
			if foreign.MatchString(selected.Metric) {
				continue
			}
			m, found := known[selected.Metric]
			if !found {
				t.Errorf("%s\nasks for %s, which nothing exports", use.Expression, selected.Metric)
				continue
			}
			available = append(available, m.labels...)
			for _, label := range selected.Labels {
				if !slices.Contains(append(target, m.labels...), label) {
					t.Errorf("%s\n%s has no label %s, only %v", use.Expression, selected.Metric, label, m.labels)
				}
				for _, value := range selected.Values[label] {
					if !slices.Contains(target, label) && !m.literals[value] {
						t.Errorf("%s\n%s never is %q", use.Expression, label, value)
					}
				}
			}
		}
		for _, label := range use.Grouped {
			if !slices.Contains(available, label) {
				t.Errorf("%s\ngroups by %s, which its metrics do not have", use.Expression, label)
			}
		}
	}
}

// What our programs export is in the docs: that of the admission service word for word, which is tested there, and the rest by name.
func TestMetricsAreDocumented(t *testing.T) {
	operations, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range exported(t) {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if name != "" && !strings.Contains(string(operations), "| `"+name+"` |") {
			t.Errorf("docs/operations.md does not have %s", name)
		}
	}
}

// use is what internal/tools/promql says about an expression.
type use struct {
	Expression string
	Selected   []struct {
		Metric string
		Labels []string
		Values map[string][]string
	}
	Grouped []string
}

func inspect(t *testing.T, expressions []string) []use {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join(root, "internal/tools/promql"), ".")
	command.Stdin = strings.NewReader(strings.Join(expressions, "\n"))
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatalf("parsing PromQL: %v", err)
	}
	var uses []use
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var u use
		if err := decoder.Decode(&u); err != nil {
			t.Fatal(err)
		}
		uses = append(uses, u)
	}
	if len(uses) != len(expressions) {
		t.Fatalf("%d of %d expressions were parsed", len(uses), len(expressions))
	}
	return uses
}

// alerts are the expressions of the alerting rules, which must have all that a person needs.
func alerts(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("files/rules/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		t.Fatal(err)
	}
	operations, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for _, rule := range rules {
		expressions = append(expressions, strings.Join(strings.Fields(rule.Expr), " "))
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has severity %q", rule.Alert, severity)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s does not say what it means", rule.Alert)
		}
		if !strings.Contains(string(operations), "`"+rule.Alert+"`") {
			t.Errorf("docs/operations.md does not say what to do about %s", rule.Alert)
		}
	}
	return expressions
}

// panels are the expressions of the dashboard, with Grafana's variables filled in.
func panels(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("files/dashboards/admission.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, strings.NewReplacer("$__rate_interval", "5m", "$namespace", "ns").Replace(target.Expr))
		}
	}
	return expressions
}

// exported reads from the sources of our programs which metrics they export: one whose labels nobody has used yet is shown
// by no running program.
func exported(t *testing.T) map[string]metric {
	t.Helper()
	known := map[string]metric{}
	for _, folder := range []string{"certs", "controllers", "daemon", "mutators", "protection", "validators", "webhook"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) || err == nil && !entry.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			return readPackage(path, known)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return known
}

func readPackage(folder string, known map[string]metric) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	literals, found := map[string]bool{}, map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					literals[text] = true
				}
			case *ast.CallExpr:
				readMetric(n, found)
			}
			return true
		})
	}
	for name, labels := range found {
		known[name] = metric{labels: labels, literals: literals}
	}
	return nil
}

// readMetric recognizes prometheus.NewXxx(prometheus.XxxOpts{Name: ".."}, []string{labels}) and those of package gauge.
func readMetric(call *ast.CallExpr, found map[string][]string) {
	constructor, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	if from, is := constructor.X.(*ast.Ident); is && from.Name == "gauge" && slices.Contains([]string{"One", "By"}, constructor.Sel.Name) {
		labels := []string{}
		for _, label := range call.Args[2:] {
			labels = append(labels, text(label))
		}
		found[text(call.Args[0])] = labels
		return
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if _, ours := constructor.X.(*ast.Ident); !ok || !ours || constructor.X.(*ast.Ident).Name != "prometheus" {
		return
	}
	name := ""
	for _, element := range options.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Name" {
			name = text(pair.Value)
		}
	}
	labels := []string{}
	if list, ok := call.Args[len(call.Args)-1].(*ast.CompositeLit); ok && strings.HasSuffix(constructor.Sel.Name, "Vec") {
		for _, element := range list.Elts {
			labels = append(labels, text(element))
		}
	}
	if !strings.Contains(constructor.Sel.Name, "Histogram") {
		found[name] = labels
		return
	}
	found[name+"_count"], found[name+"_sum"], found[name+"_bucket"] = labels, labels, append(slices.Clone(labels), "le")
}

func text(expression ast.Expr) string {
	literal, ok := expression.(*ast.BasicLit)
	if !ok {
		return ""
	}
	unquoted, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return unquoted
}
