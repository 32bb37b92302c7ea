package policyaudit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/validators/userpolicy/sources"
)

// subject is a set, and what the audit that runs has found of it.
type subject struct {
	name string
	uid  types.UID
	// annotation is the summary that the ConfigMap has.
	annotation string
	// hash tells versions apart, and audited is that of the last audit.
	hash, audited string
	// set is nil if it cannot be used: its status says why.
	set                 *userpolicy.Set
	namespaces, objects labels.Selector
	inventory           userpolicy.Inventory
	tally               tally
}

// configMap is what counts of a ConfigMap.
type configMap struct {
	Metadata struct {
		Name        string            `json:"name"`
		UID         types.UID         `json:"uid"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

// read reads the sets anew. What is as it was is not compiled again.
func (a *Auditor) read(ctx context.Context) error {
	found := make(map[string]*subject)
	list := query{path: []string{"/api/v1/namespaces", a.Namespace, "configmaps"}, selector: sources.Selector}
	err := a.lists.each(ctx, list, func(raw jsontext.Value) error {
		var c configMap
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("decoding a ConfigMap: %w", err)
		}
		found[c.Metadata.Name] = a.subject(ctx, c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing sets of policies: %w", err)
	}
	for name := range a.sets {
		if found[name] == nil {
			a.metrics.forget(name)
		}
	}
	a.sets = found
	return nil
}

// subject is the set of a ConfigMap.
func (a *Auditor) subject(ctx context.Context, c configMap) *subject {
	s := &subject{name: c.Metadata.Name, hash: sources.HashOf(c.Data)}
	if known := a.sets[s.name]; known != nil && known.hash == s.hash && known.uid == c.Metadata.UID {
		s = known
	} else if err := s.compile(ctx, c.Data); err != nil {
		a.Log.V(1).Info("A set of policies cannot be audited", "set", s.name, "reason", err.Error())
	}
	s.uid, s.annotation = c.Metadata.UID, c.Metadata.Annotations[Annotation]
	return s
}

// longestCompile is what the admission service gives a set: one that takes longer is not in force.
const longestCompile = 30 * time.Second

func (s *subject) compile(ctx context.Context, files map[string]string) error {
	source, err := userpolicy.Parse(s.name, files)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, longestCompile)
	defer cancel()
	set, err := userpolicy.Compile(within, source)
	if err != nil {
		return err
	}
	if s.namespaces, err = selectorOf(source.Settings.NamespaceSelector); err != nil {
		return err
	}
	if s.objects, err = selectorOf(source.Settings.ObjectSelector); err != nil {
		return err
	}
	s.set = set
	return nil
}

// wants says whether the set wants to be audited.
func (s *subject) wants() bool { return s.set.Settings().Audited() }

// selectorOf is everything for nil, as in a webhook.
func selectorOf(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// due are the sets to look at, in the order of their names: all, or those that changed. Of one that does not want to be audited the
// summary of an earlier audit is to go.
func (a *Auditor) due(all bool) []*subject {
	var due []*subject
	for _, s := range slices.SortedFunc(maps.Values(a.sets), func(x, y *subject) int { return cmp.Compare(x.name, y.name) }) {
		if s.set == nil || !all && s.audited == s.hash {
			continue
		}
		s.tally = tally{}
		due = append(due, s)
	}
	return due
}
