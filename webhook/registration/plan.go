// Package registration writes the webhook configurations into the cluster and takes them away again.
//
// One replica, the one with the Lease, keeps them as the table says (Registrar.Run). Every replica takes them away when
// the anchor goes (Registrar.Guard): they carry an ownerReference to the chart's empty configuration `kruise-anchor`,
// which an uninstallation deletes while the service still answers, so that no cluster is left whose Pods wait for a
// service that is gone. Both are one pure plan and a thin act.
package registration

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// wanted is what this replica would register.
type wanted struct {
	config  table.Config
	entries []table.Entry
	// policies are the entries of users' policies, awaited the names of those that stay as they are registered, and unknown
	// says that all do.
	policies []table.Entry
	awaited  []string
	unknown  bool
	// bundle has the CAs of the mode that we are in, and others those of the mode before, if it left any.
	bundle, others []byte
	// injected says that somebody else writes caBundle, as the annotations of inject ask for.
	injected bool
	inject   map[string]string
}

// seen is what there is.
type seen struct {
	// anchor is nil when there is none, or it is being deleted.
	anchor *metav1.OwnerReference
	// live is the configuration; nil if there is none.
	live     *table.Configuration
	replicas fleet
	// proven says that every replica serves a certificate of the mode that we are in.
	proven bool
}

// fleet is what the ready replicas serve.
type fleet struct {
	// ready is how many there are.
	ready int
	// serving counts those that serve an entry at a path.
	serving map[served]int
}

// served is the name of an entry and the path at which a replica serves it.
type served struct{ name, path string }

// verb is what is to be done with a configuration.
type verb string

const (
	leave verb = "leave"
	// apply is a server-side apply: it creates what is missing and sets what is ours.
	apply verb = "apply"
	// rewrite replaces the list of webhooks, because an apply does not remove what others added.
	rewrite verb = "rewrite"
	// remove deletes the configuration.
	remove verb = "remove"
	// yield gives up owning CA bundles, which stay as they are.
	yield verb = "yield"
)

// action is what plan decided.
type action struct {
	verb verb
	// uid is that of the live configuration: what is written or deleted is this object or none. Empty creates.
	uid types.UID
	// version is the live resourceVersion that a rewrite builds on.
	version string
	// fields are the live managed fields, which a yield edits.
	fields []metav1.ManagedFieldsEntry
	// unwanted are annotations that a rewrite takes away.
	unwanted []string
	// desired is the table's rendering, of what is not waiting; nil when there is none.
	desired *table.Configuration
	// configuration is what to apply, or what a rewrite takes webhooks and owners from.
	configuration *table.Configuration
	// differences say why, for the log.
	differences []string
	// waiting are entries that not all ready replicas serve yet.
	waiting []string
}

// plan compares what there is of a configuration with what is wanted.
func plan(w wanted, of which, s seen) action {
	if s.anchor == nil {
		return withoutAnchor(s.live)
	}
	if w.undecided(of) {
		return action{verb: leave} // registering what nobody could trust would break what is there
	}
	live := s.live
	if live == nil {
		live = &table.Configuration{}
	}
	sorted := sort(w, of, live, s.replicas)
	a := action{verb: leave, uid: live.UID, version: live.ResourceVersion, fields: live.ManagedFields, waiting: sorted.waiting}
	switch {
	case len(sorted.register)+len(sorted.held) > 0 || len(sorted.dropped) > 0 && len(sorted.waiting)+len(sorted.kept) > 0:
		return a.toward(w, of, s, live, sorted)
	case s.live == nil, len(sorted.waiting)+len(sorted.kept) > 0:
		return a
	case len(sorted.dropped) > 0 || s.replicas.ready > 0 || slices.ContainsFunc(live.OwnerReferences, isAnchor):
		a.verb, a.differences = remove, []string{"no webhook of its kind is left"}
		return a
	default:
		return a // empty and not ours: perhaps OpenKruise is about to fill it
	}
}

// toward fills in how to get from the live configuration to the desired one.
func (a action) toward(w wanted, of which, s seen, live *table.Configuration, sorted sorting) action {
	a.desired = w.config.RenderInto(string(of), sorted.register, table.Target{Owner: s.anchor})
	if a.desired == nil && len(sorted.held) > 0 {
		a.desired = w.config.Empty(string(of), s.anchor)
	}
	desired := a.desired
	if desired == nil {
		desired = w.config.Empty(string(of), s.anchor)
	}
	desired.Webhooks = append(desired.Webhooks, sorted.held...)
	held := holdsBundle(live.ManagedFields)
	w.certify(desired, live, held, s.proven)
	surplus := surplusIn(desired, live, sorted.dropped)
	a.unwanted = w.unwantedIn(live.Annotations)
	for _, key := range a.unwanted {
		surplus = append(surplus, "annotation "+key+" asks for another CA bundle")
	}
	a.differences = slices.Concat(surplus, differences(desired, live))
	switch {
	case len(a.differences) == 0 && w.injected && held:
		a.verb, a.configuration, a.differences = yield, desired, []string{"the CA bundle is the injector's"}
	case len(a.differences) == 0:
	case len(surplus) > 0:
		whole := *desired
		whole.OwnerReferences = owners(desired, live)
		whole.Webhooks = append(withLiveBundles(desired, live), sorted.kept...)
		a.verb, a.configuration = rewrite, &whole
	default:
		a.verb, a.configuration = apply, desired
	}
	return a
}

// certify fills in what the desired configuration says about CAs.
func (w wanted) certify(desired, live *table.Configuration, held, proven bool) {
	for i := range desired.Webhooks {
		client := &desired.Webhooks[i].ClientConfig
		var bundle []byte
		if there := live.Entry(desired.Webhooks[i].Name); there != nil && w.config.ReachesUs(there.ClientConfig) {
			bundle = there.ClientConfig.CABundle
		}
		client.CABundle = w.bundleFor(bundle, held, proven)
	}
	for key, value := range w.annotationsFor(live.Annotations, proven) {
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, key, value)
	}
}

// needsProof says whether plan's answer depends on which certificates the replicas serve.
func (w wanted) needsProof(live *table.Configuration) bool {
	if w.injected {
		return live == nil || !w.asked(live.Annotations)
	}
	return live != nil && slices.ContainsFunc(live.Webhooks, func(entry admissionv1.MutatingWebhook) bool {
		return w.config.ReachesUs(entry.ClientConfig) && w.handingOver(entry.ClientConfig.CABundle)
	})
}

// withoutAnchor removes a configuration that depends on the anchor. One that does not is somebody else's: OpenKruise's,
// or one written by hand.
func withoutAnchor(live *table.Configuration) action {
	if live == nil || !slices.ContainsFunc(live.OwnerReferences, isAnchor) {
		return action{verb: leave}
	}
	return action{verb: remove, uid: live.UID, differences: []string{"the anchor is gone"}}
}

// isAnchor tells references to the anchor, also to one of that name that has since been replaced.
func isAnchor(owner metav1.OwnerReference) bool {
	return owner.Kind == "ValidatingWebhookConfiguration" && owner.Name == table.AnchorName
}

// sorting says what becomes of each entry.
type sorting struct {
	// register are the table's entries that are to be there.
	register []table.Entry
	// held are live entries of ours that are written as they are: what an apply leaves out it takes away.
	held []admissionv1.MutatingWebhook
	// waiting are names of the table's entries that are not to be changed yet.
	waiting []string
	// kept are live entries that stay as they are, and dropped the names of those that go.
	kept    []admissionv1.MutatingWebhook
	dropped []string
}

// sort decides about each entry of the table and of the live configuration.
//
// A new entry waits until all ready replicas serve it, or a replica of an older version would answer 404. One that leads
// to us already is kept up to date in any case, but for its path while replicas still serve the one before. What leads
// elsewhere, to the OpenKruise that we take over from, stays until we can serve.
func sort(w wanted, of which, live *table.Configuration, replicas fleet) sorting {
	var sorted sorting
	known := map[string]bool{}
	for _, entry := range w.entriesOf(of) {
		known[entry.Name] = true
		there := live.Entry(entry.Name)
		if there != nil && w.config.ReachesUs(there.ClientConfig) {
			if path := w.config.PathOf(there.ClientConfig); path != entry.Path && replicas.wantPath(entry, path) {
				sorted.waiting = append(sorted.waiting, entry.Name)
				entry.Path = path
			}
			sorted.register = append(sorted.register, entry)
			continue
		}
		if replicas.serve(entry) {
			sorted.register = append(sorted.register, entry)
			continue
		}
		sorted.waiting = append(sorted.waiting, entry.Name)
		if there != nil {
			sorted.kept = append(sorted.kept, *there)
		}
	}
	for _, there := range live.Webhooks {
		switch {
		case known[there.Name]:
		case of == policies && slices.Contains(w.awaited, there.Name):
			sorted.held = append(sorted.held, there)
		case w.config.ReachesUs(there.ClientConfig) || replicas.ready > 0:
			sorted.dropped = append(sorted.dropped, there.Name)
		default:
			sorted.kept = append(sorted.kept, there)
		}
	}
	return sorted
}

// serve says whether all replicas serve an entry where the table says.
func (f fleet) serve(entry table.Entry) bool {
	return f.ready > 0 && f.serving[served{entry.Name, entry.Path}] == f.ready
}

// wantPath says whether requests for an entry must still go to the path that it had: some replica knows only that one. A
// path that none serves is nobody's wish.
func (f fleet) wantPath(entry table.Entry, path string) bool {
	return !f.serve(entry) && f.serving[served{entry.Name, path}] > 0
}

// needsFleet says whether plan's answer depends on what replicas serve: not while nothing changes.
func needsFleet(w wanted, of which, live *table.Configuration) bool {
	if live == nil {
		return len(w.entriesOf(of)) > 0
	}
	sorted := sort(w, of, live, fleet{})
	moved := slices.ContainsFunc(sorted.register, func(entry table.Entry) bool {
		return w.config.PathOf(live.Entry(entry.Name).ClientConfig) != entry.Path
	})
	return moved || len(sorted.waiting)+len(sorted.kept) > 0 || len(sorted.register)+len(sorted.held) == 0
}
