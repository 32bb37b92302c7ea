package podview

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const fullPod = `{"metadata":{"name":"p","generateName":"p-","namespace":"ns","labels":{"l":"1","null":null},
	"annotations":{"a":"caf\u00e9"},"deletionTimestamp":"2026-11-29T00:00:00Z","future":{"metadata":1},
	"ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"1"},
		{"apiVersion":"v2","kind":"B","name":"b","uid":"2","controller":true,"blockOwnerDeletion":true}]},
	"spec":{"containers":[{"name":"c","env":[{"name":"E"}],"future":[]}],"initContainers":[{"name":"i","restartPolicy":"Always"}],
		"volumes":[{"name":"v","emptyDir":{}}],"imagePullSecrets":[{"name":"s"}],"readinessGates":[{"conditionType":"g"}]},
	"status":{"phase":"Pending","future":1}}`

func TestParseReadsTheView(t *testing.T) {
	p := mustParse(t, fullPod)
	owner, ok := p.Controller()
	got := []any{
		p.Name, p.GenerateName, p.Namespace, p.Labels, p.Annotations, p.Terminating, p.Phase, owner, ok, len(p.OwnerReferences),
		p.Containers[0].Name, p.InitContainers[0].Name, p.InitContainers[0].RestartPolicy, p.Volumes, p.ImagePullSecrets, p.ReadinessGates,
		string(p.Containers[0].Raw(Env)), string(p.Containers[0].JSON()), p.Patch(),
	}
	want := []any{
		"p", "p-", "ns", map[string]string{"l": "1", "null": ""}, map[string]string{"a": "café"}, true, "Pending",
		OwnerReference{APIVersion: "v2", Kind: "B", Name: "b", UID: "2", Controller: true}, true, 2,
		"c", "i", "Always", []string{"v"}, []string{"s"}, []string{"g"},
		`[{"name":"E"}]`, `{"name":"c","env":[{"name":"E"}],"future":[]}`, jsontext.Value(nil),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseOfAlmostNothing(t *testing.T) {
	for _, raw := range []string{`{}`, `{"metadata":null,"spec":null,"status":null}`,
		`{"metadata":{"labels":null,"annotations":null,"ownerReferences":null,"deletionTimestamp":null},
		"spec":{"containers":null,"initContainers":null,"volumes":null,"imagePullSecrets":null,"readinessGates":null}}`} {
		p := mustParse(t, raw)
		if _, ok := p.Controller(); ok || p.Terminating || len(p.Containers)+len(p.Labels) > 0 || p.Patch() != nil {
			t.Errorf("%s is read as %+v", raw, p)
		}
	}
	p, err := Parse(jsontext.Value(`{}`), "from-request")
	if err != nil || p.Namespace != "from-request" {
		t.Errorf("error %v, namespace %q", err, p.Namespace)
	}
}

func TestParseRefusesWhatIsNoPod(t *testing.T) {
	for raw, where := range map[string]string{
		`[]`:                                      "expected {",
		`{"metadata":{"name":7}}`:                 "/metadata/name",
		`{"metadata":{"labels":{"a":{}}}}`:        "/metadata/labels/a",
		`{"spec":{"containers":{}}}`:              "/spec/containers",
		`{"spec":{"containers":["c"]}}`:           "/spec/containers/0",
		`{"spec":{"volumes":[{"name":[]}]}}`:      "/spec/volumes/0/name",
		`{"spec":{"containers":[{"name":"c"}]`:    "EOF",
		`{"metadata":{"ownerReferences":[true]}}`: "/metadata/ownerReferences/0",
	} {
		_, err := Parse(jsontext.Value(raw), "")
		var refusal *admission.Refusal
		if !errors.As(err, &refusal) || refusal.Status.Code != 400 || !strings.Contains(err.Error(), where) {
			t.Errorf("%s gives %v, want a refusal with 400 at %s", raw, err, where)
		}
	}
}

// ops runs changes on a Pod and returns the patch.
func ops(t *testing.T, raw string, change func(p *Pod)) string {
	t.Helper()
	p := mustParse(t, raw)
	change(p)
	return string(p.Patch())
}

func container(t *testing.T, raw string) *Container {
	t.Helper()
	c, err := NewContainer(jsontext.Value(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPatch(t *testing.T) {
	add := func(entries ...string) func(p *Pod) {
		return func(p *Pod) {
			for _, e := range entries {
				p.Containers[0].Append(Env, jsontext.Value(e))
			}
		}
	}
	for name, test := range map[string]struct {
		pod    string
		change func(p *Pod)
		want   string
	}{
		"annotations, keys escaped and sorted": {
			`{"metadata":{"annotations":{"z":"1"}}}`,
			func(p *Pod) { p.SetAnnotation("b/c~d", `"x"`); p.SetAnnotation("a", "1"); p.SetAnnotation("z", "1") },
			`[{"op":"add","path":"/metadata/annotations/a","value":"1"},{"op":"add","path":"/metadata/annotations/b~1c~0d","value":"\"x\""}]`,
		},
		"labels where there are none": {
			`{"metadata":{"labels":null}}`, func(p *Pod) { p.SetLabel("a", "1") },
			`[{"op":"add","path":"/metadata/labels","value":{}},{"op":"add","path":"/metadata/labels/a","value":"1"}]`,
		},
		"name where there is no metadata": {
			`{}`, func(p *Pod) { p.SetName("n") },
			`[{"op":"add","path":"/metadata","value":{}},{"op":"add","path":"/metadata/name","value":"n"}]`,
		},
		"values set and set back": {
			`{"metadata":{"annotations":{"z":"1"},"labels":{"l":"1"},"name":"p"}}`,
			func(p *Pod) {
				p.SetAnnotation("z", "2")
				p.SetAnnotation("z", "3")
				p.SetAnnotation("z", "1")
				p.SetLabel("l", "2")
				p.SetLabel("l", "1")
				p.SetName("p")
			}, ``,
		},
		"lists that are there, empty and not": {
			`{"spec":{"volumes":[],"imagePullSecrets":[{"name":"s"}],"readinessGates":null}}`,
			func(p *Pod) {
				p.AddVolume("v", jsontext.Value(`{"name":"v","x":1.0}`))
				p.AddVolume("v", jsontext.Value(`{"name":"v","again":true}`))
				p.AddImagePullSecret("s")
				p.AddImagePullSecret("t")
				p.AddReadinessGate("g")
				p.AddReadinessGate("g")
			},
			`[{"op":"add","path":"/spec/volumes/-","value":{"name":"v","x":1.0}},{"op":"add","path":"/spec/imagePullSecrets/-","value":{"name":"t"}},` +
				`{"op":"add","path":"/spec/readinessGates","value":[{"conditionType":"g"}]}]`,
		},
		"containers where there is no spec": {
			`{}`, func(p *Pod) { p.Insert(Containers, 0, container(t, `{"name":"a"}`), container(t, `{"name":"b"}`)) },
			`[{"op":"add","path":"/spec","value":{}},{"op":"add","path":"/spec/containers","value":[{"name":"a"},{"name":"b"}]}]`,
		},
		"containers before, between and behind": {
			`{"spec":{"initContainers":[{"name":"one"},{"name":"two"}]}}`,
			func(p *Pod) {
				p.Insert(InitContainers, 2, container(t, `{"name":"d"}`), container(t, `{"name":"e"}`))
				p.Insert(InitContainers, 1, container(t, `{"name":"c"}`))
				p.Insert(InitContainers, 0, container(t, `{"name":"a"}`), container(t, `{"name":"b"}`))
			},
			`[{"op":"add","path":"/spec/initContainers/0","value":{"name":"a"}},{"op":"add","path":"/spec/initContainers/1","value":{"name":"b"}},` +
				`{"op":"add","path":"/spec/initContainers/3","value":{"name":"c"}},` +
				`{"op":"add","path":"/spec/initContainers/-","value":{"name":"d"}},{"op":"add","path":"/spec/initContainers/-","value":{"name":"e"}}]`,
		},
		"a container sent, by its index as sent": {
			`{"spec":{"containers":[{"name":"c","env":[{"name":"E"}]}]}}`,
			func(p *Pod) {
				p.Insert(Containers, 0, container(t, `{"name":"a"}`))
				p.Containers[1].Append(Env, jsontext.Value(`{"name":"F"}`))
				p.Containers[1].Append(VolumeMounts, jsontext.Value(`{"mountPath":"/m"}`), jsontext.Value(`{"mountPath":"/n"}`))
			},
			`[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"F"}},` +
				`{"op":"add","path":"/spec/containers/0/volumeMounts","value":[{"mountPath":"/m"},{"mountPath":"/n"}]},` +
				`{"op":"add","path":"/spec/containers/0","value":{"name":"a"}}]`,
		},
		"a replaced container": {
			`{"spec":{"containers":[{"name":"c","x":1}]}}`,
			func(p *Pod) {
				p.Replace(Containers, 0, container(t, `{"name":"c","x":2}`))
				p.Containers[0].Append(Env, jsontext.Value(`{"name":"E"}`))
			},
			`[{"op":"replace","path":"/spec/containers/0","value":{"name":"c","x":2,"env":[{"name":"E"}]}}]`,
		},
		"a container replaced by one that says the same": {
			`{"spec":{"containers":[{"name":"c","x":[1, 2],"y":null}]}}`,
			func(p *Pod) { p.Replace(Containers, 0, container(t, `{"y":null,"x":[1,2],"name":"c"}`)) }, ``,
		},
		"a container replaced by one with another spelling of a number": {
			`{"spec":{"containers":[{"name":"c","x":1}]}}`,
			func(p *Pod) { p.Replace(Containers, 0, container(t, `{"name":"c","x":1.0}`)) },
			`[{"op":"replace","path":"/spec/containers/0","value":{"name":"c","x":1.0}}]`,
		},
		"an inserted container replaced": {
			`{"spec":{"containers":[{"name":"c"}]}}`,
			func(p *Pod) {
				p.Insert(Containers, 1, container(t, `{"name":"a"}`))
				p.Replace(Containers, 1, container(t, `{"name":"a","x":1}`))
			},
			`[{"op":"add","path":"/spec/containers/-","value":{"name":"a","x":1}}]`,
		},
		"entries behind white space": {
			`{"spec":{"containers":[{"name":"c","env": [ {"name":"E"} ] }]}}`, add(`{"name":"F"}`, `{"name":"G"}`),
			`[{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"F"}},{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"G"}}]`,
		},
	} {
		if diff := cmp.Diff(test.want, ops(t, test.pod, test.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Later mutators see, and count on, what earlier ones did.
func TestViewFollowsChanges(t *testing.T) {
	p := mustParse(t, fullPod)
	p.SetName("q")
	p.SetLabel("new", "2")
	p.SetAnnotation("a", "2")
	p.AddVolume("w", jsontext.Value(`{"name":"w"}`))
	p.AddImagePullSecret("t")
	p.AddReadinessGate("h")
	p.Insert(InitContainers, 0, container(t, `{"name":"j"}`))
	p.Containers[0].Append(Env, jsontext.Value(`{"name":"F"}`))
	got := []any{p.Name, p.Labels["new"], p.Annotations["a"], p.Volumes, p.ImagePullSecrets, p.ReadinessGates,
		len(p.ContainerList(InitContainers)), p.ContainerList(InitContainers)[0].Name, string(p.ContainerList(Containers)[0].list(Env))}
	want := []any{"q", "2", "2", []string{"v", "w"}, []string{"s", "t"}, []string{"g", "h"}, 2, "j", `[{"name":"E"},{"name":"F"}]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Bytes that are no UTF-8 stay as they are where nothing is changed, and are what the API server makes of them elsewhere.
func TestInvalidUTF8(t *testing.T) {
	pod := "{\"metadata\":{\"annotations\":{\"a\":\"\xff\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"x\":\"\xfe\"}]}}"
	got := ops(t, pod, func(p *Pod) {
		p.SetAnnotation("b", p.Annotations["a"]+"\xfd")
		p.Insert(Containers, 1, p.Containers[0].Clone())
		p.Containers[1].origin = -1
	})
	want := "[{\"op\":\"add\",\"path\":\"/metadata/annotations/b\",\"value\":\"\ufffd\ufffd\"}," +
		"{\"op\":\"add\",\"path\":\"/spec/containers/-\",\"value\":{\"name\":\"c\",\"x\":\"\xfe\"}}]"
	if got != want {
		t.Errorf("the patch is %q\nwant         %q", got, want)
	}
}

func TestEntriesStopAtAnError(t *testing.T) {
	c := container(t, `{"name":"c","env":[{"name":"A"},{"name":"B"}]}`)
	c.Append(Env, jsontext.Value(`{"name":"C"}`))
	enough := errors.New("enough")
	for stop := 1; stop <= 3; stop++ {
		seen := 0
		err := c.Entries(Env, func(jsontext.Value) error {
			if seen++; seen == stop {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || seen != stop {
			t.Errorf("stopping at entry %d: error %v after %d", stop, err, seen)
		}
	}
	bad := container(t, `{"name":"c","volumeMounts":{"a":1}}`)
	err := bad.Entries(VolumeMounts, func(jsontext.Value) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `volumeMounts of container "c"`) {
		t.Errorf("entries of what is no list: %v", err)
	}
	if _, err := NewContainer(jsontext.Value(`[]`)); err == nil {
		t.Error("an array is a container")
	}
}
