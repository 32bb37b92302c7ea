// Package facts has the builtins that rules call: what other objects say, what the API server says, and what is known in
// Go already, such as label selectors and the expressions of resourcesPolicy.
package facts

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/validators"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/validators/neighbours"
	"github.com/fairlead-io/fairlead/validators/overlap"
)

// Pods says what is wrong with a Pod; an error means that nobody can tell now. dryrun.Asker is one.
type Pods interface {
	Problems(ctx context.Context, pod dryrun.Pod) ([]dryrun.Problem, error)
}

// Reader reads objects past every cache, so that what somebody has just created is there. Without a cluster there is none.
type Reader interface {
	// SidecarSet says whether there is one of a name, and whether it is a canary.
	SidecarSet(ctx context.Context, name string) (canary, found bool, err error)
	// Revision says whether a SidecarSet has a ControllerRevision of a name, or of a custom version if the name is "".
	Revision(ctx context.Context, sidecarSet, name, customVersion string) (bool, error)
	// Configuration is a value of the ConfigMap kruise-configuration; "" if it is not there.
	Configuration(ctx context.Context, key string) (string, error)
}

// Sources are where facts come from.
type Sources struct {
	// SidecarSets are those of the watch.
	SidecarSets *overlap.Index
	// Pods and what follows is nil without a cluster: then what only a cluster can tell counts as right, and the configuration
	// as empty.
	Pods      Pods
	Reader    Reader
	Templates Templates
	Objects   Objects
	// Neighbours has the kinds of Compared; nil has them listed each time, which costs the more the more there are.
	Neighbours *neighbours.Index
}

// Builtins are all that the embedded rules call.
func Builtins(s Sources) []validators.Builtin {
	return slices.Concat(pure(), words(), s.asking(), s.judgingTemplates(), s.lookingAround())
}
