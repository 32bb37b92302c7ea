package userpolicy

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// forbidden says of a builtin of OPA whether rules may not call it: a decision must depend on nothing but what the rules are
// given and the time, and admission must reach no address that a rule's author chooses.
func forbidden(name string) bool {
	return endless[name] || name == "http.send" || name == "opa.runtime" || strings.HasPrefix(name, "net.") || strings.HasPrefix(name, "rand.")
}

// endless are builtins whose single call can take longer than anybody waits, and that nothing can end: the paths of a graph are
// exponentially many, and a template has loops.
var endless = map[string]bool{"graph.reachable_paths": true, "strings.render_template": true}

// Capabilities are what rules may use: OPA's builtins but those that reach out, tell of the process, guess, or cannot be ended.
func Capabilities() *ast.Capabilities {
	may := ast.CapabilitiesForThisVersion()
	may.Builtins = slices.DeleteFunc(may.Builtins, func(b *ast.Builtin) bool { return forbidden(b.Name) })
	may.AllowNet = []string{}
	return may
}

var (
	undefinedFunction = regexp.MustCompile(`^undefined function (\S+)$`)
	// ownName are the names that rules have once they are told apart.
	ownName = regexp.MustCompile(`\["?(deny|warn|dryrun)#\d+"?\]|\b(deny|warn|dryrun)#\d+`)
)

// readable makes OPA's errors those of what the author wrote: each once, and with a word about builtins that are not there.
func readable(errs ast.Errors) error {
	var all []error
	seen := make(map[string]bool)
	for _, e := range errs {
		told := *e
		told.Message = ownName.ReplaceAllString(told.Message, ".$1$2")
		if call := undefinedFunction.FindStringSubmatch(told.Message); call != nil && forbidden(call[1]) {
			told.Message = call[1] + " is not there for policies: they decide by the request, parameters and inventory alone"
			if endless[call[1]] {
				told.Message = call[1] + " is not there for policies: a call of it cannot be ended at a request's deadline"
			}
		}
		place := told.Location.String() + told.Code
		if !seen[place] {
			seen[place] = true
			all = append(all, &told)
		}
	}
	return errors.Join(all...)
}
