package sidecarset

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// revision is a ControllerRevision: a version that a SidecarSet has or had (sidecarset.md §3.2).
type revision struct {
	name                string
	sidecarSet, version string // of its labels
	number              int64

	hash, hashWithoutImage string
	spec                   jsontext.Value // its own copy; the rest of the object is not kept

	// compiled is made when the first Pod asks: few of all revisions are ever injected again.
	compile  sync.Once
	compiled *Compiled
	failure  error
}

type revisionDocument struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data struct {
		Spec jsontext.Value `json:"spec"`
	} `json:"data"`
	Revision int64 `json:"revision"`
}

// readRevision reads a ControllerRevision and tells its namespace, "" if it names none.
func readRevision(raw jsontext.Value) (r *revision, namespace string, err error) {
	var doc revisionDocument
	if err := json.Unmarshal(raw, &doc, readOptions); err != nil {
		return nil, "", fmt.Errorf("reading ControllerRevision: %w", err)
	}
	return &revision{
		name:             doc.Metadata.Name,
		sidecarSet:       doc.Metadata.Labels[v1beta1.SidecarSetNameLabel],
		version:          doc.Metadata.Labels[v1beta1.SidecarSetCustomVersionLabel],
		number:           doc.Revision,
		hash:             doc.Metadata.Annotations[v1beta1.SidecarSetHashAnnotation],
		hashWithoutImage: doc.Metadata.Annotations[v1beta1.SidecarSetHashWithoutImageAnnotation],
		spec:             doc.Data.Spec.Clone(),
	}, doc.Metadata.Namespace, nil
}

// restore is the SidecarSet as it was, as far as injection is concerned: whom it selects is for the current one to say.
func (r *revision) restore() (*Compiled, error) {
	r.compile.Do(func() { r.compiled, r.failure = r.compileSpec() })
	return r.compiled, r.failure
}

func (r *revision) compileSpec() (*Compiled, error) {
	if r.spec.Kind() != jsontext.KindBeginObject {
		return nil, errors.New("data.spec is missing")
	}
	patch, err := stringMember(r.spec, "$patch")
	if err != nil {
		return nil, err
	}
	if patch != "replace" {
		return nil, errors.New(`data.spec is no whole version: its $patch is not "replace"`)
	}
	spec, err := editObject(r.spec, []string{"$patch"})
	if err != nil {
		return nil, err
	}
	return Compile(r.document(spec))
}

// document is the SidecarSet as JSON. Without its hashes, it gets those that it must have had.
func (r *revision) document(spec jsontext.Value) jsontext.Value {
	annotations := appendMember(jsontext.Value{'{'}, v1beta1.SidecarSetHashAnnotation, jsontree.Quote(r.hash))
	annotations = append(appendMember(annotations, v1beta1.SidecarSetHashWithoutImageAnnotation, jsontree.Quote(r.hashWithoutImage)), '}')
	metadata := appendMember(jsontext.Value{'{'}, "name", jsontree.Quote(r.sidecarSet))
	metadata = append(appendMember(metadata, "annotations", annotations), '}')
	status := append(appendMember(jsontext.Value{'{'}, "latestRevision", jsontree.Quote(r.name)), '}')
	out := appendMember(jsontext.Value{'{'}, "metadata", metadata)
	return append(appendMember(appendMember(out, "spec", spec), "status", status), '}')
}
