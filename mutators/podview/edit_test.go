package podview

import (
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
)

const twoEnvs = `{"spec":{"containers":[{"name":"a","x":1,"env":[{"name":"A"}, {"name":"B","x":9007199254740993}]},{"name":"b"}]}}`

func TestSetEntryPatchesOnlyThatEntry(t *testing.T) {
	pod := mustParse(t, twoEnvs)
	a := pod.Containers[0]
	a.Append(Env, jsontext.Value(`{"name":"C"}`))
	a.SetEntry(Env, 0, jsontext.Value(`{"name":"wrong"}`))
	a.SetEntry(Env, 0, jsontext.Value(`{"name":"A2"}`))
	a.SetEntry(Env, 2, jsontext.Value(`{"name":"C2"}`))
	want := `[{"op":"replace","path":"/spec/containers/0/env/0","value":{"name":"A2"}},` +
		`{"op":"add","path":"/spec/containers/0/env/-","value":{"name":"C2"}}]`
	if got := string(pod.Patch()); got != want {
		t.Errorf("patch is %s\nwant     %s", got, want)
	}
	wantList(t, a, `[{"name":"A2"},{"name":"B","x":9007199254740993},{"name":"C2"}]`)
}

func TestSetEntryOfAnInsertedContainer(t *testing.T) {
	c, err := NewContainer(jsontext.Value(`{"name":"new","env":[{"name":"A"},null],"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	clone := c.Clone()
	clone.SetEntry(Env, 0, jsontext.Value(`{"name":"Z"}`))
	pod := mustParse(t, twoEnvs)
	pod.Insert(Containers, 2, clone)
	patch, err := jsonpatch.DecodePatch(pod.Patch())
	if err != nil {
		t.Fatal(err)
	}
	got, err := patch.Apply([]byte(twoEnvs))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"spec":{"containers":[{"name":"a","x":1,"env":[{"name":"A"}, {"name":"B","x":9007199254740993}]},{"name":"b"},
		{"name":"new","x":1,"env":[{"name":"Z"},null]}]}}`
	if !sameJSON(got, jsontext.Value(want)) {
		t.Errorf("the Pod is %s\nwant       %s", got, want)
	}
	if got, want := string(c.render()), `{"name":"new","env":[{"name":"A"},null],"x":1}`; got != want {
		t.Errorf("the container that was cloned is %s, want %s", got, want)
	}
}

func TestClonesDoNotShareEdits(t *testing.T) {
	original, err := NewContainer(jsontext.Value(`{"name":"c","env":[{"name":"A"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	original.Append(Env, jsontext.Value(`{"name":"B"}`))
	original.SetEntry(Env, 0, jsontext.Value(`{"name":"A1"}`))
	clone := original.Clone()
	clone.SetEntry(Env, 0, jsontext.Value(`{"name":"A2"}`))
	clone.SetEntry(Env, 1, jsontext.Value(`{"name":"B2"}`))
	wantList(t, original, `[{"name":"A1"},{"name":"B"}]`)
	wantList(t, clone, `[{"name":"A2"},{"name":"B2"}]`)
}

func TestMentions(t *testing.T) {
	for list, want := range map[string]bool{
		`[{"name":"KRUISE_X"}]`:      true,
		`[{"name":"OTHER"}]`:         false,
		`[{"name":"\u004bRUISE_X"}]`: true,
		`[{"name":"caf\u00e9"}]`:     true, // not a mention; yes costs only a look
	} {
		sent, err := NewContainer(jsontext.Value(`{"env":` + list + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := sent.Mentions(Env, "KRUISE_"); got != want {
			t.Errorf("%s as sent mentions KRUISE_: %v, want %v", list, got, want)
		}
		if sent.Mentions(VolumeMounts, "KRUISE_") {
			t.Errorf("%s: a word of env is found in volumeMounts", list)
		}
		appended := &Container{}
		appended.Append(Env, jsontext.Value(list[1:len(list)-1]))
		if got := appended.Mentions(Env, "KRUISE_"); got != want {
			t.Errorf("%s as appended mentions KRUISE_: %v, want %v", list, got, want)
		}
		edited, err := NewContainer(jsontext.Value(`{"env":[{}]}`))
		if err != nil {
			t.Fatal(err)
		}
		edited.SetEntry(Env, 0, jsontext.Value(list[1:len(list)-1]))
		if got := edited.Mentions(Env, "KRUISE_"); got != want {
			t.Errorf("%s as edited mentions KRUISE_: %v, want %v", list, got, want)
		}
	}
}

// Kubernetes allows nearly any name, also those that JSON may or must escape.
func TestMentionsOfEscapedWords(t *testing.T) {
	for list, word := range map[string]string{
		`[{"name":"a\"b"}]`: `a"b`,
		`[{"name":"a\\b"}]`: `a\b`,
		`[{"name":"a\/b"}]`: `a/b`,
		`[{"name":"a/b"}]`:  `a/b`,
		`[{"name":"a<b"}]`:  `a<b`,
	} {
		c, err := NewContainer(jsontext.Value(`{"env":` + list + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if !c.Mentions(Env, word) {
			t.Errorf("%s does not mention %s", list, word)
		}
	}
	if (&Container{}).Mentions(Env, `a"b`) {
		t.Error("a container without env mentions a word")
	}
}

func mustParse(t *testing.T, raw string) *Pod {
	t.Helper()
	pod, err := Parse(jsontext.Value(raw), "")
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func wantList(t *testing.T, c *Container, want string) {
	t.Helper()
	if got := string(c.list(Env)); got != want {
		t.Errorf("env is %s, want %s", got, want)
	}
}
