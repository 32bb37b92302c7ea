package defaults

import (
	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// when leads to rules for objects of which something holds.
func when(holds func(object *jsontree.Node) bool, rules ...rule) rule {
	return func(object *jsontree.Node) {
		if holds(object) {
			apply(rules, object)
		}
	}
}

// is says whether a member has one of some values.
func is(name string, values ...string) func(object *jsontree.Node) bool {
	return func(object *jsontree.Node) bool {
		text := object.TextOf(name)
		for _, value := range values {
			if text == value {
				return true
			}
		}
		return false
	}
}

// history is how many old revisions every workload keeps.
var history = unset("revisionHistoryLimit", 10)

// inPlace has a section of its own for the policies that update in place.
func inPlace(policy string) rule {
	return when(is(policy, "InPlaceIfPossible", "InPlaceOnly"), ensure("inPlaceUpdateStrategy"))
}

// cloneSet has the defaults of cloneset.md §1.3. With OnDelete nothing is rolled out, so that there is nothing to default.
var cloneSet = kind{
	alpha: []rule{
		unset("replicas", 1), history,
		ensure("updateStrategy",
			empty("type", "ReCreate"),
			when(is("type", "ReCreate", "InPlaceIfPossible", "InPlaceOnly"),
				unset("partition", 0), unset("maxUnavailable", "20%"), unset("maxSurge", 0),
			),
		),
	},
	// v1alpha1 shows an empty section as none, and the conversion keeps the one that is stored: writing it again with every
	// update would be a change.
	created: []rule{in("updateStrategy", inPlace("type"))},
	beta: []rule{
		unset("replicas", 1), history,
		ensure("updateStrategy",
			empty("type", "RollingUpdate"),
			when(is("type", "RollingUpdate"), ensure("rollingUpdate",
				empty("podUpdatePolicy", "ReCreate"),
				unset("partition", 0), unset("maxUnavailable", "20%"), unset("maxSurge", 0), inPlace("podUpdatePolicy"),
			)),
		),
	},
	templates: []place{{path: []string{"spec"}, pulls: true}},
}

// statefulSet has the defaults of statefulset.md §2, §4. The policies for claims are in v1beta1 only.
func (d *Defaulter) statefulSet() kind {
	shared := []rule{
		unset("replicas", 1), history, empty("podManagementPolicy", "OrderedReady"),
		ensure("updateStrategy",
			empty("type", "RollingUpdate"),
			when(is("type", "RollingUpdate"), ensure("rollingUpdate",
				unset("partition", 0), unset("maxUnavailable", 1), empty("podUpdatePolicy", "ReCreate"), unset("minReadySeconds", 0),
			)),
		),
	}
	beta := append([]rule{}, shared...)
	if d.Gates.Enabled(features.StatefulSetAutoDeletePVC) {
		beta = append(beta, ensure("persistentVolumeClaimRetentionPolicy", empty("whenDeleted", "Retain"), empty("whenScaled", "Retain")))
	}
	if d.Gates.Enabled(features.StatefulSetAutoResizePVCGate) {
		beta = append(beta, ensure("volumeClaimUpdateStrategy", empty("type", "OnDelete")))
	}
	return kind{alpha: shared, beta: beta, templates: []place{{path: []string{"spec"}, pulls: true}}}
}

// daemonSet has the defaults of daemonset.md §2. Its template keeps what it lacks.
var daemonSet = kind{
	alpha: []rule{history, unset("burstReplicas", 250), nodes(when(is("rollingUpdateType", "Surging"), surging))},
	beta:  []rule{history, unset("burstReplicas", 250), nodes()},
}

// nodes are the defaults of an update node by node, after some of one version.
func nodes(first ...rule) rule {
	return ensure("updateStrategy",
		empty("type", "RollingUpdate"),
		when(is("type", "RollingUpdate"), ensure("rollingUpdate", append(first,
			empty("rollingUpdateType", "Standard"),
			when(neither("maxUnavailable", "maxSurge"), unset("maxUnavailable", 1), unset("maxSurge", 0)),
		)...)),
	)
}

func neither(names ...string) func(object *jsontree.Node) bool {
	return func(object *jsontree.Node) bool {
		for _, name := range names {
			if object.Get(name) != nil {
				return false
			}
		}
		return true
	}
}

// surging is an old name for a Standard update that creates the new Pod first.
func surging(update *jsontree.Node) {
	apply([]rule{unset("maxSurge", 1), unset("maxUnavailable", 0)}, update)
	update.Put(jsontree.Replace, "rollingUpdateType", jsontree.Quote("Standard"))
}

// unitedDeployment has the defaults of multi-domain.md §A1. Of the four templates only that of a StatefulSet gets defaults.
var unitedDeployment = kind{
	alpha: unitedRules, beta: unitedRules,
	templates: []place{{path: []string{"spec", "template", "statefulSetTemplate", "spec"}, pulls: true}},
}

var unitedRules = []rule{
	unset("replicas", 1), history,
	ensure("updateStrategy", empty("type", "Manual"), ensure("manualUpdate")),
	in("topology", minimums),
}

// minimums gives every subset a minimum if any has a bound and none a number.
func minimums(topology *jsontree.Node) {
	list := topology.Get("subsets")
	if !list.IsArray() {
		return
	}
	bounded := false
	for _, subset := range list.Elements() {
		if !subset.IsObject() || subset.Get("replicas") != nil {
			return
		}
		bounded = bounded || subset.Get("minReplicas") != nil || subset.Get("maxReplicas") != nil
	}
	if bounded {
		each("subsets", unset("minReplicas", 0))(topology)
	}
}
