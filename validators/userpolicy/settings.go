package userpolicy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Settings are what settings.yaml says. Its zero value is a set that may do what its rules say, to everyone.
type Settings struct {
	// Enforcement is the most that rules of the set may do; "" is deny.
	Enforcement Action `json:"enforcement,omitempty"`
	// Parameters are data.parameters.
	Parameters map[string]any `json:"parameters,omitempty"`
	// FailurePolicy is what happens to requests while there is no verdict; "" is Ignore.
	FailurePolicy admissionv1.FailurePolicyType `json:"failurePolicy,omitempty"`
	// TimeoutSeconds, 1 to 30, is how long the API server waits; 0 is the time of all webhooks of the installation.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// NamespaceSelector and ObjectSelector narrow what the API server asks about; nil is everything.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ObjectSelector    *metav1.LabelSelector `json:"objectSelector,omitempty"`
	Exemptions        []Exemption           `json:"exemptions,omitempty"`
	Inventory         []InventoryResource   `json:"inventory,omitempty"`
	// Audit says whether what exists already is looked at now and then; nil is true.
	Audit *bool `json:"audit,omitempty"`
}

// Audited says whether what exists already is looked at.
func (s Settings) Audited() bool { return s.Audit == nil || *s.Audit }

// InventoryResource is a resource whose objects a set wants to see in data.inventory.
type InventoryResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	// Namespaces narrow it; none is all of them, and what is in no namespace.
	Namespaces []string `json:"namespaces,omitempty"`
}

// maxTimeoutSeconds is the API server's own bound.
const maxTimeoutSeconds = 30

// ParseSettings reads settings.yaml; an empty one is the zero value. What it does not know is an error that names the field.
func ParseSettings(text string) (Settings, error) {
	var settings Settings
	if strings.TrimSpace(text) == "" {
		return settings, nil
	}
	if err := unfolds([]byte(text)); err != nil {
		return settings, fmt.Errorf("%s: %w", SettingsFile, err)
	}
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return settings, fmt.Errorf("%s: %w", SettingsFile, err)
	}
	if err := json.Unmarshal(raw, &settings, json.RejectUnknownMembers(true)); err != nil {
		return settings, fmt.Errorf("%s: %w", SettingsFile, explained(err))
	}
	if errs := settings.check(); len(errs) > 0 {
		return settings, fmt.Errorf("%s: %w", SettingsFile, errs.ToAggregate())
	}
	return settings, nil
}

// explained says of a mistake in JSON where it is as people write paths.
func explained(err error) error {
	var mistake *json.SemanticError
	if !errors.As(err, &mistake) || mistake.JSONPointer == "" {
		return err
	}
	at := pathOf(string(mistake.JSONPointer))
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%s: there is no such field", at)
	case mistake.Err != nil:
		return fmt.Errorf("%s: %w", at, mistake.Err)
	default:
		return fmt.Errorf("%s: a JSON %v does not fit here", at, mistake.JSONKind)
	}
}

var element = regexp.MustCompile(`(^|\.)(\d+)\b`)

// pathOf makes exemptions[0].users of /exemptions/0/users.
func pathOf(pointer string) string {
	dotted := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	return element.ReplaceAllString(dotted, "[$2]")
}

func (s Settings) check() field.ErrorList {
	var errs field.ErrorList
	if s.Enforcement != "" && s.Enforcement.rank() == 0 {
		errs = append(errs, field.NotSupported(field.NewPath("enforcement"), s.Enforcement, actions))
	}
	policies := []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}
	if s.FailurePolicy != "" && s.FailurePolicy != admissionv1.Fail && s.FailurePolicy != admissionv1.Ignore {
		errs = append(errs, field.NotSupported(field.NewPath("failurePolicy"), s.FailurePolicy, policies))
	}
	if s.TimeoutSeconds < 0 || s.TimeoutSeconds > maxTimeoutSeconds {
		errs = append(errs, field.Invalid(field.NewPath("timeoutSeconds"), s.TimeoutSeconds, "must be between 1 and 30"))
	}
	// The API server would refuse all sets' entries for one that is not valid.
	selectors := validation.LabelSelectorValidationOptions{}
	errs = append(errs, validation.ValidateLabelSelector(s.NamespaceSelector, selectors, field.NewPath("namespaceSelector"))...)
	errs = append(errs, validation.ValidateLabelSelector(s.ObjectSelector, selectors, field.NewPath("objectSelector"))...)
	for i, exemption := range s.Exemptions {
		errs = append(errs, exemption.check(field.NewPath("exemptions").Index(i))...)
	}
	for i, resource := range s.Inventory {
		at := field.NewPath("inventory").Index(i)
		errs = append(errs, resource.check(at)...)
		// What a set would see twice does not fit into one document.
		if slices.ContainsFunc(s.Inventory[:i], resource.same) {
			errs = append(errs, field.Duplicate(at, resource.Resource))
		}
	}
	return errs
}

func (r InventoryResource) check(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Version == "" {
		errs = append(errs, field.Required(at.Child("version"), "such as v1"))
	}
	if r.Resource == "" {
		errs = append(errs, field.Required(at.Child("resource"), "the plural, such as pods"))
	}
	// They become parts of a path.
	for _, part := range []struct{ name, value string }{{"group", r.Group}, {"version", r.Version}, {"resource", r.Resource}} {
		if part.value != "" && len(utilvalidation.IsDNS1123Subdomain(part.value)) > 0 {
			errs = append(errs, field.Invalid(at.Child(part.name), part.value, "must name one, without / and *"))
		}
	}
	for i, namespace := range r.Namespaces {
		switch where := at.Child("namespaces").Index(i); {
		case len(utilvalidation.IsDNS1123Label(namespace)) > 0:
			errs = append(errs, field.Invalid(where, namespace, "must be the name of a namespace"))
		case slices.Contains(r.Namespaces[:i], namespace):
			errs = append(errs, field.Duplicate(where, namespace))
		}
	}
	return errs
}

// same says whether another is of the same resource, in whatever namespaces.
func (r InventoryResource) same(other InventoryResource) bool {
	return r.Group == other.Group && r.Version == other.Version && r.Resource == other.Resource
}

// parseTime reads RFC 3339.
func parseTime(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }
