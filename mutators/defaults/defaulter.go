package defaults

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/component-base/featuregate"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/validators/dryrun"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Templates is who knows the defaults of Pod templates. dryrun.Asker is one.
type Templates interface {
	// Defaulted is a template with its defaults; nil if it is no template of a Pod. An error means that nobody can tell.
	Defaulted(ctx context.Context, template dryrun.Template) (jsontext.Value, error)
	// Vouch tells that a template is one of a Pod, so that nobody has to ask again.
	Vouch(template dryrun.Template)
}

// Gates says which feature gates are on.
type Gates interface {
	Enabled(gate featuregate.Feature) bool
}

// Options are what a Defaulter is made of.
type Options struct {
	// Templates is nil without a cluster: then templates get no defaults.
	Templates Templates
	Gates     Gates
	Now       func() time.Time
}

// Defaulter writes the defaults of every kind but SidecarSets, in either version.
type Defaulter struct{ Options }

// New makes a Defaulter.
func New(o Options) *Defaulter { return &Defaulter{o} }

// kind is what is known of one.
type kind struct {
	// alpha and beta are the defaults of the two versions, but for those of templates.
	alpha, beta []rule
	// created are further defaults of v1alpha1 that a creation gets alone.
	created []rule
	// kept puts back what an update leaves out and a creation would fill in with something new; nil for nothing.
	kept func(top, old *jsontree.Node)
	// templates are the Pod templates that get defaults.
	templates []place
}

// kinds are all that have defaults, by name.
func (d *Defaulter) kinds() map[string]kind {
	return map[string]kind{
		"CloneSet":         cloneSet,
		"StatefulSet":      d.statefulSet(),
		"DaemonSet":        daemonSet,
		"BroadcastJob":     broadcastJob,
		"AdvancedCronJob":  advancedCronJob,
		"UnitedDeployment": unitedDeployment,
		"ImagePullJob":     imagePullJob,
		"ImageListPullJob": imageListPullJob,
		"NodeImage":        d.nodeImage(),
	}
}

// Handler answers the creation and the update of objects of a kind with a patch of their defaults. An object that is being
// deleted, and every other request, passes. It is nil for a kind without defaults.
func (d *Defaulter) Handler(name string) admission.Handler {
	of, known := d.kinds()[name]
	if !known {
		return nil
	}
	return admission.HandlerFunc(func(ctx context.Context, req *admission.Request) admission.Response {
		if req.Operation != admission.Create && req.Operation != admission.Update || req.SubResource != "" {
			return admission.Allow()
		}
		top, old, err := parse(req)
		if err != nil {
			return admission.Failed(admission.Refuse(400, "decoding %s: %v", name, err))
		}
		if deleting(req, top) {
			return admission.Allow()
		}
		rules := of.beta
		if strings.HasSuffix(top.TextOf("apiVersion"), "/v1alpha1") {
			rules = of.alpha
			if old == nil {
				rules = slices.Concat(rules, of.created)
			}
		}
		if of.kept != nil && old != nil {
			of.kept(top, old)
		}
		ensure("spec", rules...)(top)
		warnings, err := d.completeAll(ctx, of.templates, top, old)
		if err != nil {
			return admission.Failed(err)
		}
		return admission.Patched(top.Patch(), warnings...)
	})
}

// parse reads the object and, of an update, what it was; nil if there is none.
func parse(req *admission.Request) (top, old *jsontree.Node, err error) {
	if req.Object == nil {
		return nil, nil, errors.New("the request has no object")
	}
	if top, err = jsontree.Parse(req.Object); err != nil {
		return nil, nil, err
	}
	if !top.IsObject() {
		return nil, nil, errors.New("an object is needed")
	}
	if req.OldObject != nil {
		if old, err = jsontree.Parse(req.OldObject); err != nil {
			return nil, nil, err
		}
	}
	return top, old, nil
}
