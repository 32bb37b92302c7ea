package userpolicy

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Exemption says whom rules do not concern. All of what it names must hold, and of each list one element. It can come from
// settings in the release namespace alone: nothing that a request's object has counts.
type Exemption struct {
	// Users, Groups and ServiceAccounts, as namespace:name, are who sends a request; one of them all must match.
	Users           []string `json:"users,omitempty"`
	Groups          []string `json:"groups,omitempty"`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	// Namespaces are where the object is.
	Namespaces []string `json:"namespaces,omitempty"`
	// Rules are ids; none is all rules of the set.
	Rules []string `json:"rules,omitempty"`
	// Reason is for people.
	Reason string `json:"reason,omitempty"`
	// Until is when it ends, in RFC 3339; "" is never.
	Until string `json:"until,omitempty"`
}

func (e Exemption) check(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(e.Users)+len(e.Groups)+len(e.ServiceAccounts)+len(e.Namespaces)+len(e.Rules) == 0 {
		errs = append(errs, field.Required(at, "it exempts everything: name users, groups, serviceAccounts, namespaces or rules, or leave the rules out"))
	}
	for i, account := range e.ServiceAccounts {
		if namespace, name, ok := strings.Cut(account, ":"); !ok || namespace == "" || name == "" {
			errs = append(errs, field.Invalid(at.Child("serviceAccounts").Index(i), account, "must be namespace:name"))
		}
	}
	if e.Until != "" {
		if _, err := parseTime(e.Until); err != nil {
			errs = append(errs, field.Invalid(at.Child("until"), e.Until, "must be a time as 2026-01-31T18:00:00Z"))
		}
	}
	return errs
}

// concerns says whether a request is exempt at a time, from some rule at least.
func (e Exemption) concerns(req *admission.Request, now time.Time) bool {
	if e.Until != "" {
		if end, err := parseTime(e.Until); err != nil || !now.Before(end) {
			return false
		}
	}
	if len(e.Namespaces) > 0 && (req.Namespace == "" || !slices.Contains(e.Namespaces, req.Namespace)) {
		return false
	}
	if len(e.Users)+len(e.Groups)+len(e.ServiceAccounts) == 0 {
		return true
	}
	return slices.Contains(e.Users, req.UserInfo.Username) ||
		slices.ContainsFunc(e.Groups, func(group string) bool { return slices.Contains(req.UserInfo.Groups, group) }) ||
		slices.ContainsFunc(e.ServiceAccounts, func(account string) bool { return "system:serviceaccount:"+account == req.UserInfo.Username })
}

// exemptions are those that concern a request.
type exemptions []Exemption

func (s Settings) exemptionsFor(req *admission.Request, now time.Time) exemptions {
	var found exemptions
	for _, exemption := range s.Exemptions {
		if exemption.concerns(req, now) {
			found = append(found, exemption)
		}
	}
	return found
}

// whole says whether no rule of the set concerns the request.
func (e exemptions) whole() bool {
	return slices.ContainsFunc(e, func(exemption Exemption) bool { return len(exemption.Rules) == 0 })
}

func (e exemptions) rule(id string) bool {
	return slices.ContainsFunc(e, func(exemption Exemption) bool { return slices.Contains(exemption.Rules, id) })
}
