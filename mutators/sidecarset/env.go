package sidecarset

import (
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/mutators/podview"
)

// transferDocument is an item of transferEnv as written.
type transferDocument struct {
	SourceContainerName     string `json:"sourceContainerName"`
	SourceContainerNameFrom struct {
		FieldRef *struct {
			FieldPath string `json:"fieldPath"`
		} `json:"fieldRef"`
	} `json:"sourceContainerNameFrom"`
	EnvName  string   `json:"envName"`
	EnvNames []string `json:"envNames"`
}

// transfer copies variables of one container (sidecarset.md §4.6).
type transfer struct {
	container string
	// metadata says where the Pod names the container instead: "labels" or "annotations", or "" if it does not.
	metadata, key string
	names         []string // sorted, each once
}

// subscripted is a field path of one label or annotation.
var subscripted = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// compileTransfers parses the items. One whose field path names no label or annotation can find no container, and is
// left out, as is one for no variable.
func compileTransfers(docs []transferDocument) []transfer {
	var transfers []transfer
	for _, doc := range docs {
		t := transfer{container: doc.SourceContainerName}
		if ref := doc.SourceContainerNameFrom.FieldRef; ref != nil {
			parts := subscripted.FindStringSubmatch(ref.FieldPath)
			if parts == nil {
				continue
			}
			t.metadata, t.key = parts[1], parts[2]
		}
		t.names = slices.DeleteFunc(append(doc.EnvNames, doc.EnvName), func(name string) bool { return name == "" })
		slices.Sort(t.names)
		if t.names = slices.Compact(t.names); len(t.names) > 0 {
			transfers = append(transfers, t)
		}
	}
	return transfers
}

// source is the name of the container that the variables come from, "" if the Pod does not say.
func (t *transfer) source(pod *podview.Pod) string {
	switch t.metadata {
	case "labels":
		return pod.Labels[t.key]
	case "annotations":
		return pod.Annotations[t.key]
	default:
		return t.container
	}
}

// variable is an entry of env; raw is nil when there is none of that name.
type variable struct {
	name string
	raw  jsontext.Value
}

// addEnv appends the variables whose names are not in seen, and adds them to it: an added variable never overrides one
// that is there.
func addEnv(c *podview.Container, seen *[]string, variables ...variable) {
	for _, v := range variables {
		if v.raw != nil && !slices.Contains(*seen, v.name) {
			*seen = append(*seen, v.name)
			c.Append(podview.Env, v.raw)
		}
	}
}

func envVar(name, value string) variable {
	raw := append(jsontext.Value(`{"name":`), jsontree.Quote(name)...)
	raw = append(append(append(raw, `,"value":`...), jsontree.Quote(value)...), '}')
	return variable{name: name, raw: raw}
}

// transfer appends what the sidecar's transferEnv asks for. A container or variable that is not there is skipped.
func (in *injection) transfer(s *sidecar, c *podview.Container, seen *[]string) error {
	for i := range s.transfers {
		t := &s.transfers[i]
		source := in.ownContainer(t.source(in.pod))
		if source == nil {
			continue
		}
		if err := in.copyEnv(c, seen, source, t.names); err != nil {
			return err
		}
	}
	return nil
}

// ownContainer is a container of the Pod before injection, nil if there is none of that name. One whose place a sidecar
// takes is none: when a Pod comes a second time, that is the sidecar itself.
func (in *injection) ownContainer(name string) *podview.Container {
	i := indexOf(in.pod.Containers, name)
	if i < 0 || in.claimed(name) {
		return nil
	}
	return in.pod.Containers[i]
}

// copyEnv appends the whole entries of another container's env.
func (in *injection) copyEnv(to *podview.Container, seen *[]string, from *podview.Container, names []string) error {
	for _, name := range names {
		v, err := in.variable(from, name)
		if err != nil {
			return err
		}
		addEnv(to, seen, v)
	}
	return nil
}

// variable is the entry that counts of a container's env: the last one of the name, as for the kubelet.
func (in *injection) variable(c *podview.Container, name string) (variable, error) {
	if !c.Mentions(podview.Env, name) {
		return variable{name: name}, nil
	}
	byName, ok := in.env[c]
	if !ok {
		byName = make(map[string]jsontext.Value)
		err := c.Entries(podview.Env, func(raw jsontext.Value) error {
			if raw == nil {
				return nil
			}
			entry, err := nameOf(raw)
			byName[entry] = raw
			return err
		})
		if err != nil {
			return variable{}, err
		}
		if in.env == nil {
			in.env = make(map[*podview.Container]map[string]jsontext.Value)
		}
		in.env[c] = byName
	}
	return variable{name: name, raw: byName[name]}, nil
}
