package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const (
	// Label marks a ConfigMap as a set.
	Label = "fairlead.io/policy"
	// BundleLabel marks one as the settings of the bundle that it names.
	BundleLabel = "fairlead.io/policy-bundle"
	// Selector selects the sets. Settings of a bundle are none, whatever else they are labelled: a ConfigMap with two statuses
	// would be written for ever.
	Selector = Label + "=true,!" + BundleLabel
)

// ConfigMap is what counts of a ConfigMap.
type ConfigMap struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		UID         types.UID         `json:"uid"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`

		OwnerReferences []struct {
			Name string    `json:"name"`
			UID  types.UID `json:"uid"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

// ReadConfigMap decodes one.
func ReadConfigMap(raw jsontext.Value) (ConfigMap, error) {
	var c ConfigMap
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("decoding a ConfigMap: %w", err)
	}
	return c, nil
}

func (c ConfigMap) object() *Object {
	return &Object{Name: c.Metadata.Name, UID: c.Metadata.UID, Status: c.Metadata.Annotations[StatusAnnotation]}
}

// ConfigMaps is a sink of the ConfigMaps that are sets.
type ConfigMaps struct {
	ctx       context.Context
	keeper    *Keeper
	namespace string
}

// NewConfigMaps keeps sets as the labelled ConfigMaps of a namespace say. Others are none of its business, also where nobody
// selects them first: anyone may make a ConfigMap elsewhere.
func NewConfigMaps(ctx context.Context, keeper *Keeper, namespace string) *ConfigMaps {
	return &ConfigMaps{ctx: context.WithoutCancel(ctx), keeper: keeper, namespace: namespace}
}

// Upsert implements objects.Sink.
func (s *ConfigMaps) Upsert(raw jsontext.Value) error { return upsert(raw, s.Take) }

// upsert decodes a ConfigMap for who takes it.
func upsert(raw jsontext.Value, take func(ConfigMap)) error {
	c, err := ReadConfigMap(raw)
	if err == nil {
		take(c)
	}
	return err
}

// Take is Upsert of what is decoded. What is wrong with a set is in its status.
func (s *ConfigMaps) Take(c ConfigMap) {
	if c.Metadata.Namespace != s.namespace {
		return
	}
	if c.Metadata.Labels[Label] != "true" || c.Metadata.Labels[BundleLabel] != "" {
		s.Delete(c.Metadata.Namespace, c.Metadata.Name)
		return
	}
	if s.keeper.madeAnew(c.Metadata.Name, c.Metadata.UID) { // a watch that begins anew does not tell that the one before was deleted
		s.keeper.Remove(c.Metadata.Name)
	}
	s.keeper.Describe(c.Metadata.Name, c.object())
	_ = s.keeper.Load(s.ctx, Found{Name: c.Metadata.Name, Files: c.Data, Hash: HashOf(c.Data)}) // the status has it
}

// Delete implements objects.Sink.
func (s *ConfigMaps) Delete(namespace, name string) {
	if namespace == s.namespace && s.keeper.has(name) {
		s.keeper.Remove(name)
	}
}

// HashOf tells contents of ConfigMaps apart: 12 hexadecimal digits.
func HashOf(data map[string]string) string {
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(digest, "%d %s %d %s", len(name), name, len(data[name]), data[name])
	}
	return hex.EncodeToString(digest.Sum(nil))[:12]
}

// BundleSettings is a sink of the ConfigMaps that are settings of bundles.
type BundleSettings struct {
	keeper    *Keeper
	namespace string

	mu       sync.Mutex
	named    map[string]ConfigMap // by the ConfigMap's name
	watchers []func(bundle string)
}

// NewBundleSettings knows the settings that the labelled ConfigMaps of a namespace have.
func NewBundleSettings(keeper *Keeper, namespace string) *BundleSettings {
	return &BundleSettings{keeper: keeper, namespace: namespace, named: make(map[string]ConfigMap)}
}

// Upsert implements objects.Sink.
func (s *BundleSettings) Upsert(raw jsontext.Value) error { return upsert(raw, s.Take) }

// Take is Upsert of what is decoded.
func (s *BundleSettings) Take(c ConfigMap) {
	bundle := c.Metadata.Labels[BundleLabel]
	if c.Metadata.Namespace != s.namespace || bundle == "" {
		return
	}
	s.mu.Lock()
	known, there := s.named[c.Metadata.Name]
	s.named[c.Metadata.Name] = c
	s.mu.Unlock()
	if there && c.saysTheSame(known) {
		return // who is told reads the whole bundle
	}
	if before := known.Metadata.Labels[BundleLabel]; before != "" && before != bundle {
		s.tell(before)
	}
	s.tell(bundle)
}

// saysTheSame tells whether nothing that counts of settings differs.
func (c ConfigMap) saysTheSame(other ConfigMap) bool {
	return *c.object() == *other.object() && c.Metadata.Labels[BundleLabel] == other.Metadata.Labels[BundleLabel] &&
		c.Data[userpolicy.SettingsFile] == other.Data[userpolicy.SettingsFile]
}

// Delete implements objects.Sink.
func (s *BundleSettings) Delete(_, name string) {
	s.mu.Lock()
	bundle := s.named[name].Metadata.Labels[BundleLabel]
	delete(s.named, name)
	s.mu.Unlock()
	if bundle != "" {
		s.tell(bundle)
	}
}

// tell notes which ConfigMap has the status of a bundle, and has the bundle read again.
func (s *BundleSettings) tell(bundle string) {
	var object *Object
	if c, there, _ := s.of(bundle); there {
		object = c.object()
	}
	s.keeper.Describe(userpolicy.BundlePrefix+bundle, object)
	s.mu.Lock()
	watchers := slices.Clone(s.watchers)
	s.mu.Unlock()
	for _, watcher := range watchers {
		watcher(bundle)
	}
}

// Notify has a function called when the settings of a bundle may have changed.
func (s *BundleSettings) Notify(changed func(bundle string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, changed)
}

// Settings are the text of a bundle's settings.yaml; "" if no ConfigMap has any. Two that name the same bundle are an error:
// which of them holds must not depend on chance.
func (s *BundleSettings) Settings(bundle string) (string, error) {
	c, _, err := s.of(bundle)
	return c.Data[userpolicy.SettingsFile], err
}

func (s *BundleSettings) of(bundle string) (found ConfigMap, there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		c := s.named[name]
		switch {
		case c.Metadata.Labels[BundleLabel] != bundle:
		case there:
			return found, true, fmt.Errorf("reading the settings of the bundle %s: the ConfigMaps %s and %s both have the label %s=%s: take it from one",
				bundle, found.Metadata.Name, name, BundleLabel, bundle)
		default:
			found, there = c, true
		}
	}
	return found, there, nil
}
