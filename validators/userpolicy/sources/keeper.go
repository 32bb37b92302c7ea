// Package sources puts users' policies into force as their sources change: ConfigMaps of the release namespace, and what
// package bundles downloads. A source that cannot be used leaves its set as it was, and says so in its status.
package sources

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

// Found is a version of a set as it was found.
type Found struct {
	Name string
	// Files are rules, tests and settings by name, and Data what a bundle has beside them.
	Files map[string]string
	Data  map[string]any
	// Hash tells versions of all that apart.
	Hash string
}

func (f Found) ofBundle() bool { return strings.HasPrefix(f.Name, userpolicy.BundlePrefix) }

// Object is the ConfigMap that the status of a set is written to.
type Object struct {
	Name string
	UID  types.UID
	// Status is the annotation that it has.
	Status string
}

// State is what became of the source of a set.
type State struct {
	Name string
	// Object is nil for a bundle without a ConfigMap.
	Object *Object
	// Found is the hash of the newest version, and Failure why it is not in force; nil if it is.
	Found   string
	Failure error
	// Trouble says why nobody knows whether Found is the newest; nil if it is.
	Trouble error
	// Set is what is in force, nil for nothing; InForce is the version that it was made of, without what a bundle has: that is
	// kept by who downloads it.
	Set     *userpolicy.Set
	InForce Found
	// Kept is the copy of a version that is kept for a restart; nil for none.
	Kept *Kept
}

// unread says that the ConfigMap of a set is known, and is being compiled for the first time: in a moment there is something to say. Of
// settings it may be for ever that nobody has their bundle.
func (s State) unread() bool {
	return s.Found == "" && s.Trouble == nil && !strings.HasPrefix(s.Name, userpolicy.BundlePrefix)
}

// Inventories know what sets want to see of a cluster.
type Inventories interface {
	// Require begins to follow what a set wants to see, in place of what the set of its name wanted before.
	Require(set *userpolicy.Set)
	// Release ends it.
	Release(name string)
	// Missing says why a set does not see what it wants; nil if it does. waiting says that it will in a moment.
	Missing(set *userpolicy.Set) (waiting bool, err error)
}

// Options are what a Keeper needs; all are required but Inventories.
type Options struct {
	Sets        *userpolicy.Sets
	Inventories Inventories
	Metrics     *userpolicy.Metrics
	Log         klog.Logger
}

// Keeper keeps Sets as their sources say.
type Keeper struct {
	Options
	compile func(ctx context.Context, found Found) (*userpolicy.Set, error)

	// changing is held while a version is compiled and put into force: one at a time, for each takes memory. Who only looks at
	// states does not wait for it.
	changing sync.Mutex

	mu       sync.Mutex
	states   map[string]*State
	kept     map[string]*keptVersion
	watchers []func()

	// unusable is why sets have nothing in force, by name. Requests look here, without waiting for anybody.
	unusable sync.Map
}

// NewKeeper makes a Keeper of nothing.
func NewKeeper(o Options) *Keeper {
	return &Keeper{Options: o, compile: compile, states: make(map[string]*State), kept: make(map[string]*keptVersion)}
}

// Notify has a function called after each change. It must not block, nor call the Keeper.
func (k *Keeper) Notify(changed func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchers = append(k.watchers, changed)
}

// Load puts a version of a set into force, if it can be used and is not in force already; or it says why it cannot be used. The
// version before stays in force then; if there is none, the one that was kept is.
func (k *Keeper) Load(ctx context.Context, found Found) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	if known, err := k.known(found); known {
		return err
	}
	set, err := k.compile(ctx, found)
	if err == nil {
		k.put(set, found)
		return nil
	}
	k.mu.Lock()
	k.fail(k.state(found.Name), found.Hash, err)
	k.mu.Unlock()
	k.restore(ctx, found.Name)
	return err
}

// known says whether a version is the newest that was seen already, and what became of it.
func (k *Keeper) known(found Found) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.state(found.Name)
	if state.Found != found.Hash {
		return false, nil
	}
	if state.Trouble != nil { // somebody knows again
		state.Trouble = nil
		k.measure(state)
		k.changed()
	}
	return true, state.Failure
}

// put puts a set into force that was made of the newest version.
func (k *Keeper) put(set *userpolicy.Set, found Found) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.state(found.Name)
	state.Found, state.Failure, state.Trouble = found.Hash, nil, nil
	k.enforce(state, set, found)
	k.Log.Info("A set of policies is in force", "set", found.Name, "revision", set.Revision(), "rules", len(set.Rules()))
}

// enforce puts a set into force that was made of some version.
func (k *Keeper) enforce(state *State, set *userpolicy.Set, of Found) {
	if of.ofBundle() {
		of.Files, of.Data = nil, nil // up to 64 MiB
	}
	state.Set, state.InForce = set, of
	k.unusable.Delete(state.Name)
	if copied := k.kept[state.Name]; copied != nil {
		copied.files = nil // nobody needs them any more
	}
	if k.Inventories != nil {
		k.Inventories.Require(set)
	}
	k.Sets.Put(set)
	k.measure(state)
	k.changed()
}

// fail notes that the newest version cannot be used.
func (k *Keeper) fail(state *State, hash string, err error) {
	state.Found, state.Failure, state.Trouble = hash, err, nil
	if state.Set == nil {
		k.unusable.Store(state.Name, err)
	}
	k.Log.Error(err, "A set of policies is not usable; the version before stays in force", "set", state.Name, "inForce", state.Set != nil)
	k.measure(state)
	k.changed()
}

// longestCompile is far more than the largest sets that anybody writes take, also on a machine with much else to do. Meanwhile no
// other set is taken in, nor is this one when its mistake is mended.
const longestCompile = 30 * time.Second

// compile makes a set of what was found.
func compile(ctx context.Context, found Found) (*userpolicy.Set, error) {
	ctx, cancel := context.WithTimeout(ctx, longestCompile)
	defer cancel()
	if err := userpolicy.CheckName(found.Name); err != nil {
		return nil, err
	}
	source, err := userpolicy.Parse(found.Name, found.Files)
	if err != nil {
		return nil, err
	}
	if found.Data != nil {
		if source, err = source.WithData(found.Data); err != nil {
			return nil, err
		}
	}
	return userpolicy.Compile(ctx, source)
}

// Reject notes that the newest version of a set, told from others by a hash, is none that could be compiled.
func (k *Keeper) Reject(name, hash string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state := k.state(name); state.Found != hash || state.Trouble != nil {
		k.fail(state, hash, err)
	}
}

// Refuse notes that nobody knows what the newest version of a set is.
func (k *Keeper) Refuse(name string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.state(name)
	if state.Trouble != nil && state.Trouble.Error() == err.Error() {
		return
	}
	state.Trouble = err
	k.Log.Error(err, "A set of policies cannot be asked for; the version before stays in force", "set", name, "inForce", state.Set != nil)
	k.measure(state)
	k.changed()
}

// Describe notes the ConfigMap of a set; nil if it is gone. With it goes what is known of settings alone, of a bundle that nobody has.
func (k *Keeper) Describe(name string, object *Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.state(name)
	if object == nil && state.Found == "" && state.Trouble == nil {
		delete(k.states, name)
		k.Metrics.Forget(name)
		k.changed()
		return
	}
	if state.Object == nil || object == nil || *state.Object != *object {
		state.Object = object
		k.changed()
	}
}

// Written notes the status that was written to the ConfigMap of a set, unless that is gone by now, or another one has its name.
func (k *Keeper) Written(name string, object *Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if state := k.states[name]; state != nil && state.Object != nil && state.Object.UID == object.UID {
		state.Object = object
		k.changed()
	}
}

// madeAnew says whether the ConfigMap of a set is another one than before.
func (k *Keeper) madeAnew(name string, uid types.UID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.states[name]
	return state != nil && state.Object != nil && state.Object.UID != uid
}

// Unusable says of the sets that are there and have nothing in force why: no version of them could be used since this process
// started.
func (k *Keeper) Unusable() map[string]error {
	all := make(map[string]error)
	k.unusable.Range(func(name, err any) bool {
		all[name.(string)] = err.(error)
		return true
	})
	return all
}

// Remove takes a set out of force.
func (k *Keeper) Remove(name string) {
	k.changing.Lock() // or a version that is being compiled would be in force after it
	defer k.changing.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.states, name)
	k.unusable.Delete(name)
	k.Sets.Delete(name)
	if k.Inventories != nil {
		k.Inventories.Release(name)
	}
	k.Metrics.Forget(name)
	k.Log.Info("A set of policies is gone", "set", name)
	k.changed()
}

// States are those of all sources, in the order of their names.
func (k *Keeper) States() []State {
	k.mu.Lock()
	defer k.mu.Unlock()
	states := make([]State, 0, len(k.states))
	for _, state := range slices.SortedFunc(maps.Values(k.states), func(a, b *State) int { return cmp.Compare(a.Name, b.Name) }) {
		one := *state
		if copied := k.kept[state.Name]; copied != nil {
			one.Kept = new(copied.Kept)
		}
		states = append(states, one)
	}
	return states
}

// Run measures what sets see, again and again, until ctx ends: an inventory that cannot be read any more tells nobody.
func (k *Keeper) Run(ctx context.Context, clock clock.WithTicker) {
	ticker := clock.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		k.mu.Lock()
		for _, state := range k.states {
			k.measure(state)
		}
		k.mu.Unlock()
	}
}

// measure tells the metrics of a set.
func (k *Keeper) measure(state *State) {
	failing := state.Failure != nil || state.Trouble != nil
	if !failing && state.Set != nil && k.Inventories != nil {
		waiting, err := k.Inventories.Missing(state.Set)
		failing = err != nil && !waiting
	}
	k.Metrics.State(state.Name, state.Set != nil, failing)
}

func (k *Keeper) has(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.states[name] != nil
}

func (k *Keeper) state(name string) *State {
	if k.states[name] == nil {
		k.states[name] = &State{Name: name}
	}
	return k.states[name]
}

func (k *Keeper) changed() {
	for _, watcher := range k.watchers {
		watcher()
	}
}
