package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// KeptLabel marks a ConfigMap as the copy of the version of a set that is in force. When all replicas start anew while the
	// newest version has a mistake, that one is in force again.
	KeptLabel = "fairlead.io/policy-last-good"
	// KeptSelector selects the copies.
	KeptSelector = KeptLabel + "=true"
	// keptSuffix is what a copy's name has after that of the set. With it the longest name of a set is short enough for an object.
	keptSuffix = ".last-good"
)

// Kept tells copies apart.
type Kept struct {
	// Owner is the uid of the ConfigMap that it is a copy of: one that was deleted and made anew has no version before.
	Owner types.UID
	// Hash is that of its content.
	Hash string
}

// keptVersion is a copy as it was found.
type keptVersion struct {
	Kept
	// files are there as long as they may be needed.
	files map[string]string
	// useless is a copy that was tried and does not compile either.
	useless bool
}

// KeptCopies is a sink of the copies.
type KeptCopies struct {
	ctx       context.Context
	keeper    *Keeper
	namespace string
}

// NewKeptCopies has a keeper know the copies in a namespace.
func NewKeptCopies(ctx context.Context, keeper *Keeper, namespace string) *KeptCopies {
	return &KeptCopies{ctx: context.WithoutCancel(ctx), keeper: keeper, namespace: namespace}
}

// Upsert implements objects.Sink.
func (s *KeptCopies) Upsert(raw jsontext.Value) error { return upsert(raw, s.Take) }

// Take is Upsert of what is decoded.
func (s *KeptCopies) Take(c ConfigMap) {
	set, owned := c.copyOf()
	if c.Metadata.Namespace != s.namespace || c.Metadata.Labels[KeptLabel] != "true" || !owned {
		return
	}
	s.keeper.remember(set, &keptVersion{Kept: Kept{Owner: c.Metadata.OwnerReferences[0].UID, Hash: HashOf(c.Data)}, files: c.Data})
	s.keeper.changing.Lock()
	defer s.keeper.changing.Unlock()
	s.keeper.restore(s.ctx, set)
}

// copyOf is the set that a ConfigMap is a copy of.
func (c ConfigMap) copyOf() (set string, owned bool) {
	if len(c.Metadata.OwnerReferences) != 1 {
		return "", false
	}
	set = c.Metadata.OwnerReferences[0].Name
	return set, c.Metadata.Name == set+keptSuffix
}

// Delete implements objects.Sink.
func (s *KeptCopies) Delete(namespace, name string) {
	if set, copied := strings.CutSuffix(name, keptSuffix); copied && namespace == s.namespace {
		s.keeper.remember(set, nil)
	}
}

// remember notes the copy of a set; nil for none. Who has the set in force does not need what is in it.
func (k *Keeper) remember(name string, copied *keptVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if copied == nil {
		delete(k.kept, name)
	} else {
		if before := k.kept[name]; before != nil && before.Kept == copied.Kept {
			copied.useless = before.useless
		}
		if state := k.states[name]; copied.useless || state != nil && state.Set != nil {
			copied.files = nil
		}
		k.kept[name] = copied
	}
	k.changed()
}

// restore puts the copy of a set into force whose newest version cannot be used, if nothing else is. The caller holds changing.
func (k *Keeper) restore(ctx context.Context, name string) {
	found, wanted := k.restorable(name)
	if !wanted {
		return
	}
	set, err := k.compile(ctx, found)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.Log.Error(err, "The last good version of a set of policies is not usable by this release", "set", name)
		if copied := k.kept[name]; copied != nil && copied.Hash == found.Hash {
			copied.files, copied.useless = nil, true
		}
		return
	}
	k.enforce(k.state(name), set, found)
	k.Log.Info("The last good version of a set of policies is in force", "set", name, "revision", set.Revision())
}

// restorable is the copy of a set that has nothing in force.
func (k *Keeper) restorable(name string) (found Found, wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	state, copied := k.states[name], k.kept[name]
	if state == nil || state.Set != nil || state.Failure == nil || state.Object == nil {
		return found, false
	}
	if copied == nil || copied.files == nil || copied.Owner != state.Object.UID {
		return found, false
	}
	return Found{Name: name, Files: copied.files, Hash: copied.Hash}, true
}

// takenAgain is how often a copy is tried whose name somebody else has: of a ConfigMap without our label there are no news.
const takenAgain = time.Minute

// keep keeps what is in force of a ConfigMap, unless it is kept already. It takes no more room than the set itself, which the API
// server bounds. What it answers is for the status: why nothing is kept, "" if it is.
func (w *Writer) keep(ctx context.Context, state State) (notKept string, err error) {
	if state.Set == nil || state.Object.Name != state.Name { // those of bundles are kept by who downloads them
		return "", nil
	}
	is := Kept{Owner: state.Object.UID, Hash: state.InForce.Hash}
	if state.Kept != nil && *state.Kept == is {
		delete(w.taken, state.Name)
		return "", nil
	}
	taken := fmt.Sprintf("ConfigMap %s/%s, whose name is for our copy of the set, has not the label %s: give it another name", w.namespace, state.Name+keptSuffix, KeptSelector)
	if at, tried := w.taken[state.Name]; tried && w.clock.Since(at) < takenAgain {
		return taken, nil
	}
	delete(w.taken, state.Name)
	within, cancel := context.WithTimeout(ctx, oneWrite)
	defer cancel()
	err = w.writeCopy(within, w.copyOf(state), state.Kept == nil)
	switch {
	case apierrors.IsInvalid(err): // the label is tested for
		w.taken[state.Name] = w.clock.Now()
		return taken, nil
	case apierrors.IsNotFound(err): // it is made anew in the next round
		w.keeper.remember(state.Name, nil)
		return "", nil
	case apierrors.IsConflict(err):
		return "", nil // of which we shall hear
	case err != nil:
		return "", fmt.Errorf("keeping the set: %w", err)
	}
	w.keeper.remember(state.Name, &keptVersion{Kept: is})
	return "", nil
}

// copyOf is the copy of a set: a ConfigMap like it that goes when it goes.
func (w *Writer) copyOf(state State) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: state.Name + keptSuffix, Namespace: w.namespace, Labels: map[string]string{KeptLabel: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: state.Object.Name, UID: state.Object.UID}},
		},
		Data: state.InForce.Files,
	}
}

// writeCopy creates a copy, or writes it over the one before, which the watch may not have told of yet. Only what is labelled is ours
// to write; else the API server finds the patch invalid.
func (w *Writer) writeCopy(ctx context.Context, copied *corev1.ConfigMap, create bool) error {
	api := w.client.CoreV1().ConfigMaps(w.namespace)
	if create {
		_, err := api.Create(ctx, copied, metav1.CreateOptions{FieldManager: fieldManager})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/labels/" + strings.ReplaceAll(KeptLabel, "/", "~1"), "value": "true"},
		{"op": "add", "path": "/metadata/ownerReferences", "value": copied.OwnerReferences},
		{"op": "add", "path": "/data", "value": copied.Data},
	})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	_, err = api.Patch(ctx, copied.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}
