package userpolicy

import (
	"context"
	"log/slog"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	// mostLogged and longestLogged bound a line: a rule may say something about each of a thousand containers.
	mostLogged    = 20
	longestLogged = 512
)

// Exempted is the action of lines and counts about violations that exemptions took away.
const Exempted Action = "exempt"

// logged is how a line names a violation.
type logged struct {
	Rule    string `json:"rule"`
	Action  Action `json:"action"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// writeDecision writes the line of a decision that is not plain consent. Its id is the review's uid, which the answer to
// the client has too. Of the object it has the name alone.
func writeDecision(log *slog.Logger, set *Set, req *admission.Request, decision Decision) {
	decision = decision.Masked(set, req)
	found := decision.Violations
	action := Exempted
	if len(found) > 0 {
		action = found[0].Action
	}
	var lines []logged
	add := func(list []Violation, as Action) {
		for _, v := range list {
			if len(lines) == mostLogged {
				return
			}
			line := logged{v.Rule, v.Action, Shortened(v.Field, longestLogged), Shortened(v.Message, longestLogged)}
			if as != "" {
				line.Action = as
			}
			lines = append(lines, line)
		}
	}
	add(found, "")
	add(decision.Exempt, Exempted)
	log.LogAttrs(context.Background(), slog.LevelInfo, "policy",
		slog.String("decision", req.UID),
		slog.String("action", string(action)),
		slog.String("set", set.Name()),
		slog.String("revision", set.Revision()),
		slog.Any("violations", lines),
		slog.Int("total", len(found)+len(decision.Exempt)),
		slog.String("user", req.UserInfo.Username),
		slog.String("operation", string(req.Operation)),
		slog.String("group", req.Resource.Group),
		slog.String("version", req.Resource.Version),
		slog.String("resource", resourceOf(req)),
		slog.String("namespace", req.Namespace),
		slog.String("name", req.Name),
		slog.Bool("dryRun", req.DryRun),
	)
}

func resourceOf(req *admission.Request) string {
	if req.SubResource == "" {
		return req.Resource.Resource
	}
	return req.Resource.Resource + "/" + req.SubResource
}
