package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no zones of its own

	"github.com/distribution/reference"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/api/decoding"
	"github.com/fairlead-io/fairlead/validators"
)

// words are the builtins that know a notation.
func words() []validators.Builtin {
	return []validators.Builtin{
		judging("fairlead.schedule_error", 1, func(args []*ast.Term) string { return schedule(text(args[0])) }),
		judging("fairlead.time_zone_error", 1, func(args []*ast.Term) string { return timeZone(text(args[0])) }),
		judging("fairlead.image_error", 1, func(args []*ast.Term) string { return image(text(args[0])) }),
		judging("fairlead.dns_label_error", 1, func(args []*ast.Term) string {
			return strings.Join(validation.IsDNS1123Label(text(args[0])), "; ")
		}),
		{Name: "fairlead.labels_errors", Arity: 2, Call: labelsErrors},
		{Name: "fairlead.annotations_errors", Arity: 2, Call: annotationsErrors},
		{Name: "fairlead.pod_spec_differences", Arity: 3, Call: podSpecDifferences},
		{Name: "fairlead.strategic_merge", Arity: 3, Call: strategicMerge},
	}
}

// schedule says what is wrong with a schedule of five fields or a descriptor, with or without a zone before it.
func schedule(text string) (wrong string) {
	defer func() {
		if cause := recover(); cause != nil { // the parser does not survive every zone
			wrong = fmt.Sprintf("must be a schedule such as \"*/5 * * * *\": %v", cause)
		}
	}()
	if strings.TrimSpace(text) == "" {
		return "when to run, for example \"*/5 * * * *\" or \"@hourly\""
	}
	if _, err := cron.ParseStandard(text); err != nil {
		return "must be a schedule such as \"*/5 * * * *\": " + err.Error()
	}
	return ""
}

func timeZone(name string) string {
	switch {
	case name == "":
		return "must not be empty: name a zone such as Europe/Berlin, or leave it out"
	case strings.EqualFold(name, "local"):
		return "must name a zone such as Europe/Berlin: what is local differs from place to place"
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "must name a zone such as Europe/Berlin: " + err.Error()
	}
	return ""
}

// maxImage is more than any image reference has, with its name of at most 255 bytes, its tag of at most 128 and the digest.
const maxImage = 1024

func image(text string) string {
	switch {
	case text == "":
		return "the image to pull"
	case len(text) > maxImage:
		return fmt.Sprintf("must have at most %d characters", maxImage)
	}
	if _, err := reference.ParseNormalizedNamed(text); err != nil {
		return "must be an image such as registry.example.com/team/app:v1: " + err.Error()
	}
	return ""
}

func labelsErrors(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	set, err := decode[map[string]string](args[1])
	if err != nil {
		return nil, err
	}
	return listed(metavalidation.ValidateLabels(set, field.NewPath(text(args[0]))))
}

func annotationsErrors(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	set, err := decode[map[string]string](args[1])
	if err != nil {
		return nil, err
	}
	return listed(apivalidation.ValidateAnnotations(set, field.NewPath(text(args[0]))))
}

// listed are the mistakes that a refusal has room for: a list of a megabyte can have a million, which takes the rules a minute.
func listed(errs field.ErrorList) (*ast.Term, error) {
	errs = errs[:min(len(errs), validators.MostMistakes)]
	found := make([]map[string]any, 0, len(errs))
	for _, e := range errs {
		found = append(found, problem(e.Field, string(e.Type), e.ErrorBody()))
	}
	return term(found)
}

// strategicMerge takes a Pod template, a patch, and how many patches are merged for the same request, and answers {"template", "error",
// "skipped"}; skipped says that it would take more than its share of the request's time.
func strategicMerge(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	have, add := elements(args[0].Value), elements(args[1].Value)
	if n := have + add; add > 0 && n <= mostMerging && n*n*count(args[2]) > mostMerging*mostMerging {
		return term(map[string]any{"error": "", "skipped": true})
	}
	template, err := encode(args[0])
	if err != nil {
		return nil, err
	}
	patch, err := encode(args[1])
	if err != nil {
		return nil, err
	}
	merged, err := merge(template, patch, have, add)
	if err == nil {
		err = decoding.Into(new(corev1.PodTemplateSpec), "", merged) // the merge takes lists and objects as they come
	}
	if err != nil {
		return term(map[string]any{"error": err.Error(), "skipped": false})
	}
	var result any
	if err := json.Unmarshal(merged, &result); err != nil {
		return term(map[string]any{"error": err.Error(), "skipped": false})
	}
	return term(map[string]any{"template": result, "error": "", "skipped": false})
}

// count is a whole number, or 1 for anything else.
func count(t *ast.Term) int {
	if number, is := t.Value.(ast.Number); is {
		if n, whole := number.Int(); whole {
			return n
		}
	}
	return 1
}

// mostMerging is how many elements may be in lists where a patch has some. The merge sorts them by comparing each with each, and ends
// with no context: it takes a second of so many, and minutes of those of an object of half a megabyte.
const mostMerging = 2000

// merge merges what has so many elements in lists. The library panics where it compares what cannot be compared, as a name that is
// an object.
func merge(template, patch []byte, have, add int) (merged []byte, err error) {
	if add > 0 && have+add > mostMerging {
		return nil, fmt.Errorf("its lists have %d elements and those of the template %d: at most %d can be merged", add, have, mostMerging)
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("what elements of lists are merged by must be a text or a number: %v", cause)
		}
	}()
	return strategicpatch.StrategicMergePatch(template, patch, corev1.PodTemplateSpec{})
}

// elements is how many a value has in all its lists.
func elements(value ast.Value) (n int) {
	ast.WalkTerms(ast.NewTerm(value), func(t *ast.Term) bool {
		if list, is := t.Value.(*ast.Array); is {
			n += list.Len()
		}
		return false
	})
	return n
}
