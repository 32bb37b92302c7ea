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
		{Name: "fairlead.pod_spec_differences", Arity: 2, Call: podSpecDifferences},
		{Name: "fairlead.strategic_merge", Arity: 2, Call: strategicMerge},
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

func listed(errs field.ErrorList) (*ast.Term, error) {
	found := make([]map[string]any, 0, len(errs))
	for _, e := range errs {
		found = append(found, problem(e.Field, string(e.Type), e.ErrorBody()))
	}
	return term(found)
}

// strategicMerge takes a Pod template and a patch, and answers {"template", "error"}.
func strategicMerge(_ context.Context, args []*ast.Term) (*ast.Term, error) {
	template, err := encode(args[0])
	if err != nil {
		return nil, err
	}
	patch, err := encode(args[1])
	if err != nil {
		return nil, err
	}
	merged, err := merge(template, patch, elements(args[0].Value), elements(args[1].Value))
	if err == nil {
		err = decoding.Into(new(corev1.PodTemplateSpec), "", merged) // the merge takes lists and objects as they come
	}
	if err != nil {
		return term(map[string]any{"error": err.Error()})
	}
	var result any
	if err := json.Unmarshal(merged, &result); err != nil {
		return term(map[string]any{"error": err.Error()})
	}
	return term(map[string]any{"template": result, "error": ""})
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
