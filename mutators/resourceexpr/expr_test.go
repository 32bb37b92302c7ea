package resourceexpr_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/mutators/resourceexpr"
)

func TestEvaluate(t *testing.T) {
	for _, tc := range []struct {
		expr     string
		resource resourceexpr.Resource
		value    string
		want     string
	}{
		{"max(cpu*50%, 50m)", resourceexpr.CPU, "600m", "300m"},
		{"max(cpu*50%, 50m)", resourceexpr.CPU, "400m", "200m"},
		{"max(cpu*50%, 50m)", resourceexpr.CPU, "20m", "50m"},
		{"MIN(CPU, 1)", resourceexpr.CPU, "1500m", "1"},
		{"cpu", resourceexpr.CPU, "250m", "250m"},
		{"0.5", resourceexpr.CPU, "1", "500m"},
		{".5", resourceexpr.CPU, "1", "500m"},
		{"1e-1", resourceexpr.CPU, "1", "100m"},
		{"2", resourceexpr.CPU, "1", "2"},
		{"1e3", resourceexpr.Memory, "1", "1000"},
		{"100", resourceexpr.Memory, "1", "100"},
		{"memory / 2 + 10Mi", resourceexpr.Memory, "100Mi", "60Mi"},
		{"memory - 10Mi - 20Mi", resourceexpr.Memory, "100Mi", "70Mi"},
		{"2 + 3 * 4", resourceexpr.Memory, "1", "14"},
		{"(2 + 3) * 4", resourceexpr.Memory, "1", "20"},
		{"8 / 2 / 2", resourceexpr.Memory, "1", "2"},
		{"-(-5)", resourceexpr.Memory, "1", "5"},
		{"3 - -2", resourceexpr.Memory, "1", "5"},
		{"cpu + 1", resourceexpr.CPU, "500m", "1500m"},
		{"0.1 * cpu", resourceexpr.CPU, "3", "300m"},
		{"1k", resourceexpr.Memory, "1", "1000"},
		{"1Ki+1M+1G+1T+1P", resourceexpr.Memory, "1", "1001001001001024"},
		{"1Ti", resourceexpr.Memory, "1", "1Ti"},
		{"1Pi", resourceexpr.Memory, "1", "1Pi"},
		{"cpu/3", resourceexpr.CPU, "100m", "34m"},
		{"memory/3", resourceexpr.Memory, "100", "34"},
		{"max(min(cpu, 2), 1)", resourceexpr.CPU, "5", "2"},
		{"memory*33%", resourceexpr.Memory, "9007199254740993", "2972375754064528"},
	} {
		t.Run(tc.expr, func(t *testing.T) {
			expr, err := resourceexpr.Parse(tc.expr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := expr.Evaluate(tc.resource, resource.MustParse(tc.value))
			if err != nil {
				t.Fatal(err)
			}
			if want := resource.MustParse(tc.want); got.Cmp(want) != 0 {
				t.Errorf("%s with %s=%s is %s, want %s", tc.expr, tc.resource, tc.value, &got, tc.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                              "ends",
		"cpu +":                         "ends",
		"disk*2":                        `unknown variable "disk"`,
		"avg(cpu, 1)":                   `unknown function "avg"`,
		"max(cpu)":                      "two arguments",
		"max(cpu, 1, 2)":                "two arguments",
		"1E":                            "exponent",
		"1Ei":                           `unknown unit "Ei"`,
		"1e99":                          "exponent",
		"1e999999999":                   "exponent",
		"5x":                            `unknown unit "x"`,
		"(cpu":                          `")" was expected`,
		"cpu 2":                         "operator",
		"cpu ? 1":                       "operator",
		".":                             "no number",
		strings.Repeat("(", 100):        "deep",
		strings.Repeat("-", 100):        "deep",
		strings.Repeat("1+", 600):       "characters",
		"cpu*50%%":                      "operator",
		"max" + strings.Repeat("(", 90): "deep",
	} {
		if _, err := resourceexpr.Parse(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q) = %v, want an error with %q", expr, err, want)
		}
	}
}

func TestEvaluateRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"cpu - 2":      "negative",
		"cpu*cpu":      "multiplied",
		"cpu*50m":      "multiplied",
		"1/cpu":        "divisor",
		"cpu/1m":       "divisor",
		"cpu/0":        "zero",
		"cpu/(1-1)":    "zero",
		"memory":       `only "cpu"`,
		"cpu*1e30":     "larger",
		"max(cpu/0,1)": "zero",
		"-cpu":         "negative",
	} {
		parsed, err := resourceexpr.Parse(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if _, err := parsed.Evaluate(resourceexpr.CPU, resource.MustParse("1")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want an error with %q", expr, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("max(cpu*50%, 50m)")
	f.Add("-(1e3 + .5Gi)/memory")
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := resourceexpr.Parse(text)
		if err != nil {
			return
		}
		for _, r := range []resourceexpr.Resource{resourceexpr.CPU, resourceexpr.Memory} {
			if got, err := expr.Evaluate(r, resource.MustParse("1")); err == nil && got.Sign() < 0 {
				t.Errorf("%q is %s", text, &got)
			}
		}
	})
}
