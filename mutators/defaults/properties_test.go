package defaults

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

func TestSidecarSetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := jsontext.Value(sidecarSets.Draw(t, "SidecarSet"))
		got, err := SidecarSet(sent)
		if err != nil {
			t.Fatalf("valid SidecarSet refused: %v", err)
		}
		checkResult(t, sent, got)
		checkUntouched(t, sent, got)
		checkHash(t, got)
	})
}

// FuzzSidecarSet wants an error or a sound result for whatever is sent.
func FuzzSidecarSet(f *testing.F) {
	for _, file := range []string{"testdata/newer-fields.yaml", "testdata/volumes-of-every-kind.yaml"} {
		f.Add([]byte(readYAML(f, file)))
	}
	f.Add([]byte(strings.Replace(defaulted, "SPEC", `"containers":[`+strings.Replace(defaultedContainer, "MORE", `"x":1`, 1)+`]`, 1)))
	f.Add([]byte(`{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1}},"resources":{"limits":{"cpu":"1u"}},"transferEnv":[{"sourceContainerNameFrom":{}}]}]}}`))
	f.Add([]byte(`{"metadata":{"annotations":{"kruise.io/sidecarset-hash":"x"}},"spec":null}`))
	f.Add([]byte(`{"spec":{"containers":[null],"volumes":[{}]},"spec":{}}`))
	f.Fuzz(func(t *testing.T, sent []byte) {
		got, err := SidecarSet(bytes.Clone(sent))
		if err == nil {
			checkResult(t, sent, got)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkResult wants the patch to say what the object says, and nothing more to do the second time.
func checkResult(t fataler, sent jsontext.Value, got Result) {
	t.Helper()
	if diff := cmp.Diff(decode(t, got.Object), decode(t, applied(t, sent, got.Patch))); diff != "" {
		t.Fatalf("object and patched original differ (-object +patched):\n%s\nsent %s\npatch %s", diff, sent, got.Patch)
	}
	again, err := SidecarSet(got.Object)
	if err != nil {
		t.Fatalf("the defaulted object is refused: %v", err)
	}
	if again.Patch != nil || !bytes.Equal(again.Object, got.Object) || again.Hash != got.Hash {
		t.Fatalf("defaulting twice changes more: %s", again.Patch)
	}
}

func applied(t fataler, sent, patch jsontext.Value) []byte {
	t.Helper()
	if patch == nil {
		return sent
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("patch %s: %v", patch, err)
	}
	out, err := p.Apply(sent)
	if err != nil {
		t.Fatalf("applying %s to %s: %v", patch, sent, err)
	}
	return out
}

// decode reads any JSON with its numbers as they are spelled.
func decode(t fataler, raw []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("decoding %s: %v", raw, err)
	}
	return value
}

// checkUntouched wants every scalar as sent at its place, in the order and spelling as sent, unless an operation names
// the place. Only absent values are added; only quantities and hashes are replaced.
func checkUntouched(t fataler, sent jsontext.Value, got Result) {
	t.Helper()
	var ops []struct{ Op, Path string }
	if got.Patch != nil {
		if err := json.Unmarshal(got.Patch, &ops); err != nil {
			t.Fatalf("patch %s: %v", got.Patch, err)
		}
	}
	touched := map[string]bool{}
	for _, op := range ops {
		touched[op.Path] = true
	}
	before, after := leaves(t, sent, touched), leaves(t, got.Object, touched)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatalf("values that no operation names (-sent +object):\n%s", diff)
	}
	values := map[string]string{}
	for _, leaf := range leaves(t, sent, nil) {
		values[leaf[0]] = leaf[1]
	}
	for _, op := range ops {
		value, present := values[op.Path]
		empty := !present || value == "null" || value == `""` || value == "0"
		ours := strings.Contains(op.Path, "/resources/") || strings.Contains(op.Path, "/annotations/")
		if op.Op == "add" && !empty || op.Op == "replace" && (!present || !ours) {
			t.Fatalf("%s %s over %s", op.Op, op.Path, value)
		}
	}
}

// leaves are pointer and spelling of each scalar, and of each empty object or list, but for those at or below a
// touched place.
func leaves(t fataler, raw jsontext.Value, touched map[string]bool) (out [][2]string) {
	t.Helper()
	top, err := jsontree.Parse(raw)
	if err != nil {
		t.Fatalf("parsing %s: %v", raw, err)
	}
	var walk func(n *jsontree.Node, path string)
	walk = func(n *jsontree.Node, path string) {
		switch {
		case touched[path]:
		case n.Kind() == jsontext.KindBeginArray:
			for i, element := range n.Elements() {
				walk(element, path+"/"+string(rune('0'+i)))
			}
		case n.Kind() == jsontext.KindBeginObject:
			for _, m := range n.Members() {
				walk(m.Value, path+"/"+jsontree.Escape(m.Name))
			}
		default:
			out = append(out, [2]string{path, string(n.Bytes())})
		}
	}
	walk(top, "")
	return out
}

// checkHash wants the hash that the decoder of the API server's machinery leads to.
func checkHash(t fataler, got Result) {
	t.Helper()
	var object v1beta1.SidecarSet
	if err := kjson.Unmarshal(got.Object, &object); err != nil {
		t.Fatalf("decoding %s: %v", got.Object, err)
	}
	hash, withoutImage, err := HashSidecars(object.Spec.Containers, object.Spec.InitContainers)
	if err != nil {
		t.Fatalf("hashing: %v", err)
	}
	want := [2]string{object.Annotations[v1beta1.SidecarSetHashAnnotation], object.Annotations[v1beta1.SidecarSetHashWithoutImageAnnotation]}
	if want != [2]string{hash, withoutImage} || want != [2]string{got.Hash, got.HashWithoutImage} {
		t.Fatalf("hashes %s %s, annotations %v, result %s %s", hash, withoutImage, want, got.Hash, got.HashWithoutImage)
	}
}
