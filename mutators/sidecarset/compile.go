package sidecarset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/defaults"
)

// Compiled is a SidecarSet with everything worked out that does not depend on a Pod. It never changes, and shares no
// memory with the JSON that it was made from.
type Compiled struct {
	name string

	selector          labels.Selector
	namespaceSelector labels.Selector // nil: all namespaces
	pinned            []string        // the only namespaces that can match, nil: any
	paused            bool
	older             *olderVersion // nil: all Pods get the current version
	base              string        // the SidecarSet that this canary stands in for

	hash, hashWithoutImage, latestRevision string

	initContainers, containers []*sidecar
	all                        []*sidecar // the init containers, then the containers
	sidecarList                []string   // sorted; what the controller may upgrade in place
	volumes                    []volume   // those that sidecars use, in the order of first use
	imagePullSecrets           []string
	metadataPatches            []metadataPatch
}

// Name is the SidecarSet's name.
func (c *Compiled) Name() string { return c.name }

type volume struct {
	name string
	raw  jsontext.Value
}

// document is what Compile reads of a SidecarSet of either version.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec   documentSpec `json:"spec"`
	Status struct {
		LatestRevision string `json:"latestRevision"`
	} `json:"status"`
}

type documentSpec struct {
	Namespace         string                `json:"namespace"` // v1alpha1 only
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	Selector          *metav1.LabelSelector `json:"selector"`
	InitContainers    []jsontext.Value      `json:"initContainers"`
	Containers        []jsontext.Value      `json:"containers"`
	Volumes           []jsontext.Value      `json:"volumes"`
	ImagePullSecrets  []struct {
		Name string `json:"name"`
	} `json:"imagePullSecrets"`
	InjectionStrategy struct {
		Paused   bool                 `json:"paused"`
		Revision olderVersionDocument `json:"revision"`
	} `json:"injectionStrategy"`
	UpdateStrategy   updateStrategyDocument `json:"updateStrategy"`
	PatchPodMetadata []metadataPatch        `json:"patchPodMetadata"`
}

// readOptions: what is stored went through the API server, which decides on these; refusing it here would only leave
// Pods without their sidecars.
var readOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Compile reads a SidecarSet of version v1alpha1 or v1beta1, as JSON. Its error names the SidecarSet, as far as that
// can be read, and the field that cannot be used.
func Compile(raw []byte) (*Compiled, error) {
	doc, _, err := readDocument(raw)
	if err != nil {
		return nil, err
	}
	return compileDocument(doc)
}

func compileDocument(doc *document) (*Compiled, error) {
	c := &Compiled{
		name:             doc.Metadata.Name,
		hash:             doc.Metadata.Annotations[v1beta1.SidecarSetHashAnnotation],
		hashWithoutImage: doc.Metadata.Annotations[v1beta1.SidecarSetHashWithoutImageAnnotation],
		latestRevision:   doc.Status.LatestRevision,
		paused:           doc.Spec.InjectionStrategy.Paused,
		metadataPatches:  doc.Spec.PatchPodMetadata,
	}
	if err := c.compile(doc); err != nil {
		return nil, fmt.Errorf("compiling SidecarSet %q: %w", c.name, err)
	}
	return c, nil
}

// readDocument reads a SidecarSet. One without its hashes did not pass our defaulting (it was stored before there was
// any, or comes from a file), and passes it now. source is what was read in the end.
func readDocument(raw []byte) (doc *document, source []byte, err error) {
	doc = new(document)
	if err := json.Unmarshal(raw, doc, readOptions); err != nil {
		return nil, nil, fmt.Errorf("reading SidecarSet: %w", err)
	}
	annotations := doc.Metadata.Annotations
	hash, hashWithoutImage := annotations[v1beta1.SidecarSetHashAnnotation], annotations[v1beta1.SidecarSetHashWithoutImageAnnotation]
	if hash != "" && hashWithoutImage != "" {
		return doc, raw, nil
	}
	result, err := defaults.SidecarSet(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("defaulting SidecarSet %q: %w", doc.Metadata.Name, err)
	}
	*doc = document{}
	if err := json.Unmarshal(result.Object, doc, readOptions); err != nil {
		return nil, nil, fmt.Errorf("reading SidecarSet with its defaults: %w", err)
	}
	return doc, result.Object, nil
}

func (c *Compiled) compile(doc *document) error {
	if doc.Kind != "" && doc.Kind != "SidecarSet" {
		return fmt.Errorf("kind is %q", doc.Kind)
	}
	if errs := validation.IsDNS1123Subdomain(c.name); len(errs) > 0 { // what does not come from an API server may have any
		return fmt.Errorf("metadata.name: %s", errs[0])
	}
	if doc.APIVersion == "apps.kruise.io/v1beta1" {
		doc.Spec.Namespace = "" // no field of this version; the API server would have dropped it
	}
	c.setCanary(doc.Metadata.Annotations)
	for _, secret := range doc.Spec.ImagePullSecrets {
		if secret.Name != "" {
			c.imagePullSecrets = append(c.imagePullSecrets, secret.Name)
		}
	}
	var err error
	c.older, err = compileOlderVersion(c.name, &doc.Spec)
	return errors.Join(err, c.compileSelectors(&doc.Spec), c.compileContainers(&doc.Spec))
}

func (c *Compiled) setCanary(annotations map[string]string) {
	if annotations[v1beta1.SidecarSetCanaryAnnotation] == "true" {
		c.base = annotations[v1beta1.SidecarSetBaseAnnotation]
	}
}

func (c *Compiled) compileContainers(spec *documentSpec) (err error) {
	if c.initContainers, err = compileSidecars(spec.InitContainers, initRules); err != nil {
		return fmt.Errorf("spec.initContainers: %w", err)
	}
	if c.containers, err = compileSidecars(spec.Containers, containerRules); err != nil {
		return fmt.Errorf("spec.containers: %w", err)
	}
	c.all = slices.Concat(c.initContainers, c.containers)
	if err := c.compileVolumes(spec.Volumes); err != nil {
		return fmt.Errorf("spec.volumes: %w", err)
	}
	c.sidecarList = []string{} // an empty one is written as such
	for _, s := range c.all {
		if s.inSidecarList {
			c.sidecarList = append(c.sidecarList, s.name)
		}
	}
	slices.Sort(c.sidecarList)
	return c.checkNames()
}

// checkNames finds names that would occur twice in a Pod.
func (c *Compiled) checkNames() error {
	seen := make(map[string]bool)
	for _, s := range c.all {
		for i := range s.instances {
			name := s.instances[i].template.Name
			if seen[name] {
				return fmt.Errorf("two containers would be called %q in a Pod", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// compileVolumes keeps the volumes that a sidecar mounts itself; nothing else is injected (sidecarset.md §4.5).
func (c *Compiled) compileVolumes(list []jsontext.Value) error {
	byName := make(map[string]jsontext.Value, len(list))
	for i, raw := range list {
		name, err := nameOf(raw)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if _, ok := byName[name]; !ok {
			byName[name] = raw
		}
	}
	for _, s := range c.all {
		for _, name := range s.volumes {
			raw, ok := byName[name]
			if !ok {
				continue // only the Pod has it, or its API server will say that nobody does
			}
			if err := raw.Compact(readOptions); err != nil {
				return fmt.Errorf("volume %q: %w", name, err)
			}
			c.volumes = append(c.volumes, volume{name: name, raw: raw})
			delete(byName, name)
		}
	}
	return nil
}
