package podview

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/internal/jsontree"
	"github.com/fairlead-io/fairlead/test/golden"
)

// model is a Pod decoded whole, changed the way that a person would.
type model map[string]any

func (m model) member(name string) map[string]any {
	object, _ := m[name].(map[string]any)
	if object == nil {
		object = map[string]any{}
		m[name] = object
	}
	return object
}

func (m model) set(part, key, value string) {
	object, _ := m.member("metadata")[part].(map[string]any)
	if object == nil {
		object = map[string]any{}
		m.member("metadata")[part] = object
	}
	object[key] = value
}

func (m model) list(name string) []any {
	list, _ := golden.At(map[string]any(m), "spec", name).([]any)
	return list
}

func (m model) setList(name string, list []any) { m.member("spec")[name] = list }

func (m model) add(list, key, value string, entry any) {
	if !slices.Contains(golden.Each(m.list(list), key), any(value)) {
		m.setList(list, append(m.list(list), entry))
	}
}

// step is one random change, made to the view and to the model.
type step struct {
	t     *rapid.T
	pod   *Pod
	model model
}

var words = rapid.SampledFrom([]string{"a", "b/c", "d~e", "é\"\\", ""})

func (s step) decode(raw string) any { return golden.Decode(s.t, []byte(raw)) }

// extra is a JSON value that our types do not know.
var extra = rapid.SampledFrom([]string{`null`, `9223372036854775807`, `1.50e400`, `"caf\u00e9\/\u2028"`, `{"deep":[{"n":9007199254740993},[],{}]}`, `[null,false]`})

func drawContainer(t *rapid.T, label string) string {
	out := fmt.Sprintf(`{"name":%q`, rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, label))
	for _, list := range fieldNames {
		switch rapid.IntRange(0, 3).Draw(t, list) {
		case 0:
			out += fmt.Sprintf(`, %q: []`, list)
		case 1:
			out += fmt.Sprintf(`, %q:null`, list)
		case 2:
			out += fmt.Sprintf(`,%q : [ {"name":"E","x":%s},{} ]`, list, extra.Draw(t, "extra"))
		}
	}
	return out + fmt.Sprintf(`,"future/~":%s}`, extra.Draw(t, "extra"))
}

func (s step) run() {
	list := rapid.SampledFrom([]List{Containers, InitContainers}).Draw(s.t, "list")
	name := map[List]string{Containers: "containers", InitContainers: "initContainers"}[list]
	containers, word := s.model.list(name), words.Draw(s.t, "word")
	switch rapid.IntRange(0, 8).Draw(s.t, "change") {
	case 0:
		s.pod.SetAnnotation(word, "v"+word)
		s.model.set("annotations", word, "v"+word)
	case 1:
		s.pod.SetLabel(word, "v")
		s.model.set("labels", word, "v")
	case 2:
		s.pod.SetName("n" + word)
		s.model.member("metadata")["name"] = "n" + word
	case 3:
		s.pod.AddReadinessGate(word)
		s.model.add("readinessGates", "conditionType", word, map[string]any{"conditionType": word})
	case 4:
		s.pod.AddImagePullSecret(word)
		s.model.add("imagePullSecrets", "name", word, map[string]any{"name": word})
	case 5:
		raw := fmt.Sprintf(`{"name":%s,"x":%s}`, jsontree.Quote(word), extra.Draw(s.t, "extra"))
		s.pod.AddVolume(word, jsontext.Value(raw))
		s.model.add("volumes", "name", word, s.decode(raw))
	case 6:
		at, raw := rapid.IntRange(0, len(containers)).Draw(s.t, "at"), drawContainer(s.t, "inserted")
		s.pod.Insert(list, at, s.newContainer(raw))
		s.model.setList(name, slices.Insert(slices.Clone(containers), at, s.decode(raw)))
	case 7:
		if len(containers) > 0 {
			at, raw := rapid.IntRange(0, len(containers)-1).Draw(s.t, "at"), drawContainer(s.t, "replacing")
			s.pod.Replace(list, at, s.newContainer(raw))
			containers[at] = s.decode(raw)
		}
	case 8:
		if len(containers) > 0 {
			s.editContainer(list, containers, rapid.IntRange(0, len(containers)-1).Draw(s.t, "at"))
		}
	}
}

// editContainer appends to a list of a container, or sets an entry of it.
func (s step) editContainer(list List, containers []any, at int) {
	field := Field(rapid.IntRange(0, int(fieldCount)-1).Draw(s.t, "field"))
	raw := fmt.Sprintf(`{"name":"F","x":%s}`, extra.Draw(s.t, "extra"))
	c, m := s.pod.ContainerList(list)[at], containers[at].(map[string]any)
	entries, _ := m[fieldNames[field]].([]any)
	if len(entries) > 0 && rapid.Bool().Draw(s.t, "set an entry") {
		i := rapid.IntRange(0, len(entries)-1).Draw(s.t, "entry")
		c.SetEntry(field, i, jsontext.Value(raw))
		entries[i] = s.decode(raw)
		return
	}
	c.Append(field, jsontext.Value(raw))
	m[fieldNames[field]] = append(entries, s.decode(raw))
}

func (s step) newContainer(raw string) *Container {
	c, err := NewContainer(jsontext.Value(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// drawPod draws a Pod with unknown fields at every level, and lists that are absent, null, empty or not.
func drawPod(t *rapid.T) []byte {
	member := func(name string, values ...string) string {
		value := rapid.SampledFrom(append(values, "", "null")).Draw(t, name)
		if value == "" {
			return ""
		}
		return fmt.Sprintf(`%q : %s,`, name, value)
	}
	containers := func(name string) string {
		return member(name, `[]`, `[`+drawContainer(t, "only")+`]`, `[ `+drawContainer(t, "first")+` , `+drawContainer(t, "second")+`]`)
	}
	last := func() string { return `"future":` + extra.Draw(t, "extra") + `}` }
	metadata := `{` + member("name", `"p"`) + member("labels", `{}`, `{"a":"1","x":null}`) + member("annotations", `{}`, `{"b\/c":"v"}`) + last()
	spec := `{` + containers("containers") + containers("initContainers") + member("volumes", `[]`, `[{"name":"a","x":9007199254740993}]`) +
		member("imagePullSecrets", `[{"name":"a"}]`) + member("readinessGates", `[]`, `[{"conditionType":"a"}]`) + last()
	return []byte(`{` + member("metadata", metadata) + member("spec", spec) + last())
}

// Whatever mutators do, the patch makes the Pod that the changes describe, and no other; and the view of that Pod is what
// the later mutators saw.
func TestPatchMakesWhatTheChangesDescribe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawPod(t)
		pod, err := Parse(raw, "")
		if err != nil {
			t.Fatalf("parsing %s: %v", raw, err)
		}
		want := model(golden.Decode(t, raw).(map[string]any))
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			step{t: t, pod: pod, model: want}.run()
		}
		got, err := golden.Apply(golden.Decode(t, raw), golden.Patch(t, pod.Patch()))
		if err != nil {
			t.Fatalf("applying %s to %s: %v", pod.Patch(), raw, err)
		}
		if diff := cmp.Diff(map[string]any(want), got); diff != "" {
			t.Fatalf("%s\npatched with %s (-want +got):\n%s", raw, pod.Patch(), diff)
		}
		again, err := Parse(golden.Encode(t, got), "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(viewOf(t, again), viewOf(t, pod)); diff != "" {
			t.Fatalf("the view (-of the patched Pod +after the changes):\n%s", diff)
		}
	})
}

func viewOf(t golden.T, p *Pod) map[string]any {
	view := map[string]any{"name": p.Name}
	for key, value := range p.Labels {
		view["label "+key] = value
	}
	for key, value := range p.Annotations {
		view["annotation "+key] = value
	}
	for name, list := range map[string][]string{"volumes": p.Volumes, "secrets": p.ImagePullSecrets, "gates": p.ReadinessGates} {
		for i, value := range list {
			view[fmt.Sprint(name, i)] = value
		}
	}
	for name, list := range map[string][]*Container{"containers": p.Containers, "initContainers": p.InitContainers} {
		for i, c := range list {
			view[fmt.Sprint(name, i)] = golden.Decode(t, c.JSON())
		}
	}
	return view
}

// FuzzPatch parses anything and changes a little everywhere: a Pod that is understood gets a patch that applies.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{fullPod, twoEnvs, `{}`, `{"spec":{"containers":[null,{"env":null}]}}`, `{"metadata":{"labels":{"a":"\ud800"}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pod, err := Parse(raw, "")
		if err != nil {
			return
		}
		pod.SetAnnotation("a/b", "x")
		pod.SetLabel("a~b", "x")
		pod.AddVolume("v", jsontext.Value(`{"name":"v"}`))
		for _, list := range []List{Containers, InitContainers} {
			for _, c := range pod.ContainerList(list) {
				if err := c.Entries(Env, func(jsontext.Value) error { return nil }); err != nil {
					return
				}
				c.Append(Env, jsontext.Value(`{"name":"new"}`))
			}
			pod.Insert(list, len(pod.ContainerList(list))/2, container(t, `{"name":"new"}`))
		}
		patch := pod.Patch()
		if !json.Valid(patch) {
			t.Fatalf("the patch is no JSON: %q", patch)
		}
		if !jsontext.Value(raw).IsValid() || slices.ContainsFunc(slices.Concat(pod.Containers, pod.InitContainers), isNull) {
			return // the API server sends neither duplicate names, nor invalid UTF-8, nor null for a container
		}
		if _, err := golden.Apply(golden.Decode(t, raw), golden.Patch(t, patch)); err != nil {
			t.Fatalf("applying %s to %s: %v", patch, raw, err)
		}
	})
}

func isNull(c *Container) bool { return c.raw.Kind() == jsontext.KindNull }
