package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// world is a sink that remembers what it was told.
type world struct {
	mu      sync.Mutex
	objects map[string]string
	upserts int
}

func newWorld() *world { return &world{objects: make(map[string]string)} }

func (w *world) Upsert(raw jsontext.Value) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := readHeader(raw)
	if err != nil {
		return err
	}
	if bytes.Contains(raw, []byte("unusable")) {
		return errors.New("the selector is unusable")
	}
	w.upserts++
	w.objects[h.metadata.Namespace+"/"+h.metadata.Name] = string(raw)
	return nil
}

func (w *world) Delete(namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.objects, namespace+"/"+name)
}

func (w *world) state() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := make(map[string]string, len(w.objects))
	for name, raw := range w.objects {
		state[name] = raw
	}
	return state
}

// folder is a directory source with a sink for SidecarSets and one for ConfigMaps.
type folder struct {
	*Directory
	dir        string
	sets, maps *world
	log        *buffer
}

func newFolder(t *testing.T, files map[string]string) *folder {
	t.Helper()
	f := &folder{dir: t.TempDir(), sets: newWorld(), maps: newWorld(), log: &buffer{}}
	f.Directory = NewDirectory(f.dir, logr.FromSlogHandler(slog.NewTextHandler(f.log, nil)),
		Kind{GroupKind: schema.GroupKind{Group: "apps.kruise.io", Kind: "SidecarSet"}, ClusterScoped: true, Sink: f.sets},
		Kind{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Sink: f.maps})
	for name, content := range files {
		f.write(t, name, content)
	}
	return f
}

func (f *folder) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) load(t *testing.T) {
	t.Helper()
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) expect(t *testing.T, sets map[string]string) {
	t.Helper()
	if diff := cmp.Diff(sets, f.sets.state()); diff != "" {
		t.Errorf("SidecarSets (-want +got):\n%s", diff)
	}
}

type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func set(name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"apps.kruise.io/v1beta1","kind":"SidecarSet","metadata":{"name":%q}%s}`, name, more)
}

func TestLoad(t *testing.T) {
	f := newFolder(t, map[string]string{
		"a.yaml": "apiVersion: apps.kruise.io/v1alpha1\nkind: SidecarSet\nmetadata: {name: one, namespace: ignored}\nspec: {big: 9007199254740993}\n" +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: other}\n",
		"b.yml":       set("two", `,"spec":{"text":"a\/b \ud83d\ude00"}`),
		"c.json":      set("three", "") + "\n" + set("four", `,"n":1.50`),
		"list.json":   `{"apiVersion":"v1","kind":"List","items":[` + set("five", "") + `,` + set("six", "") + `]}`,
		"deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
		"empty.yaml":  "# nothing\n",
		"notes.txt":   "neither: [",
		".hid.yaml":   "neither: [",
	})
	if err := os.Mkdir(filepath.Join(f.dir, "sub.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Synced(); err == nil {
		t.Error("synced before anything is read")
	}
	f.load(t)
	if err := f.Synced(); err != nil {
		t.Errorf("not synced: %v", err)
	}
	f.expect(t, map[string]string{
		"ignored/one": `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"SidecarSet","metadata":{"name":"one","namespace":"ignored"},"spec":{"big":9007199254740993}}`,
		"/two":        set("two", `,"spec":{"text":"a\/b \ud83d\ude00"}`),
		"/three":      set("three", ""),
		"/four":       set("four", `,"n":1.50`),
		"/five":       set("five", ""),
		"/six":        set("six", ""),
	})
	if got := len(f.maps.state()); got != 2 {
		t.Errorf("%d ConfigMaps, want 2", got)
	}
	if log := f.log.String(); !strings.Contains(log, "Deployment.apps") || strings.Contains(log, "ERROR") {
		t.Errorf("log: %s", log)
	}
}

func TestReloadTellsTheDifference(t *testing.T) {
	f := newFolder(t, map[string]string{
		"a.json": set("one", "") + set("two", ""),
		"b.json": set("three", ""),
	})
	f.load(t)
	f.load(t)
	if f.sets.upserts != 3 {
		t.Errorf("%d upserts for three objects read twice", f.sets.upserts)
	}
	f.write(t, "a.json", set("two", `,"new":1`)+set("four", ""))
	if err := os.Rename(filepath.Join(f.dir, "b.json"), filepath.Join(f.dir, "c.json")); err != nil {
		t.Fatal(err)
	}
	f.load(t)
	f.expect(t, map[string]string{"/two": set("two", `,"new":1`), "/four": set("four", ""), "/three": set("three", "")})
	if f.sets.upserts != 5 {
		t.Errorf("%d upserts, want 5: moving an object to another file changes nothing", f.sets.upserts)
	}
	if err := os.Remove(filepath.Join(f.dir, "c.json")); err != nil {
		t.Fatal(err)
	}
	f.load(t)
	f.expect(t, map[string]string{"/two": set("two", `,"new":1`), "/four": set("four", "")})
}

func TestABrokenFileKeepsItsLastGoodState(t *testing.T) {
	for name, tt := range map[string]struct{ file, content, want string }{
		"YAML":         {"a.yaml", set("one", "") + "\n---\na: [1\n", "a.yaml:3: did not find expected"},
		"JSON":         {"a.json", set("one", "") + "\n\n{\"a\": nope}", "a.json:3: "},
		"no name":      {"a.yaml", "kind: SidecarSet\napiVersion: apps.kruise.io/v1beta1\n", "a.yaml:1: metadata.name is missing"},
		"no kind":      {"a.yaml", "---\n---\nmetadata: {name: x}\n", "a.yaml:3: apiVersion and kind are needed"},
		"no object":    {"a.yaml", "- a\n", "a.yaml:1: a Kubernetes object is needed, this is a ["},
		"in a List":    {"a.json", `{"apiVersion":"v1","kind":"List","items":[` + set("one", "") + `,{}]}`, "a.json:1 items[1]: apiVersion and kind are needed"},
		"a wrong type": {"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 7}\n", "a.yaml:1: reading /metadata/name"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t, map[string]string{tt.file: set("good", ""), "b.json": set("other", "")})
			f.load(t)
			f.write(t, tt.file, tt.content)
			f.write(t, "b.json", set("other", `,"new":1`))
			f.load(t)
			f.load(t)
			f.expect(t, map[string]string{"/good": set("good", ""), "/other": set("other", `,"new":1`)})
			if log := f.log.String(); strings.Count(log, "ERROR") != 1 || !strings.Contains(log, filepath.Join(f.dir, tt.want)) {
				t.Errorf("want one error with %q: %s", tt.want, log)
			}
			f.write(t, tt.file, set("good", `,"v":2`))
			f.load(t)
			f.expect(t, map[string]string{"/good": set("good", `,"v":2`), "/other": set("other", `,"new":1`)})
		})
	}
}

func TestObjectsThatTheSinkRefuses(t *testing.T) {
	f := newFolder(t, map[string]string{"a.json": set("one", "") + "\n" + set("two", `,"x":"unusable"`) + "\n" + set("three", "")})
	f.load(t)
	f.expect(t, map[string]string{"/one": set("one", ""), "/three": set("three", "")})
	want := filepath.Join(f.dir, "a.json") + ":2: SidecarSet two: the selector is unusable"
	if log := f.log.String(); !strings.Contains(log, want) {
		t.Errorf("want %q in the log: %s", want, log)
	}
}

func TestTheLaterFileWins(t *testing.T) {
	f := newFolder(t, map[string]string{"a.json": set("one", ""), "b.json": set("one", `,"v":2`)})
	f.load(t)
	f.expect(t, map[string]string{"/one": set("one", `,"v":2`)})
	if log := f.log.String(); !strings.Contains(log, "b.json:1: SidecarSet one is also at") || !strings.Contains(log, "a.json:1") {
		t.Errorf("log: %s", log)
	}
	if err := os.Remove(filepath.Join(f.dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	f.load(t)
	f.expect(t, map[string]string{"/one": set("one", "")})
}

// The file that is to give an object back was broken in the meantime: the object stays until somebody has repaired it.
func TestABrokenFileGivesNothingBack(t *testing.T) {
	f := newFolder(t, map[string]string{"a.json": set("one", ""), "b.json": set("one", `,"v":2`)})
	f.load(t)
	f.write(t, "a.json", "{")
	if err := os.Remove(filepath.Join(f.dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	f.load(t)
	f.expect(t, map[string]string{"/one": set("one", `,"v":2`)})
	if log := f.log.String(); !strings.Contains(log, "a.json: it is not what it was") {
		t.Errorf("log: %s", log)
	}
	f.write(t, "a.json", set("one", ""))
	f.load(t)
	f.expect(t, map[string]string{"/one": set("one", "")})
}

func TestAFolderThatCannotBeRead(t *testing.T) {
	f := newFolder(t, map[string]string{"a.json": set("one", "")})
	f.load(t)
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Load(); err == nil || !strings.Contains(err.Error(), "reading the object directory") {
		t.Errorf("error %v", err)
	}
	f.expect(t, map[string]string{"/one": set("one", "")})
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewDirectory(plain, logr.Discard()).Load(); err == nil {
		t.Error("a file passes for a folder")
	}
}

// watched runs a folder's watch and returns a wait for a state of the SidecarSets.
func watched(t *testing.T, f *folder) func(map[string]string) {
	t.Helper()
	f.load(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watching: %v", err)
		}
	})
	return func(want map[string]string) {
		t.Helper()
		diff := ""
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if diff = cmp.Diff(want, f.sets.state()); diff == "" {
				return
			}
		}
		t.Fatalf("SidecarSets (-want +got):\n%s", diff)
	}
}

func TestWatch(t *testing.T) {
	f := newFolder(t, map[string]string{"a.json": set("one", "")})
	wait := watched(t, f)
	f.write(t, "a.json", set("one", `,"v":2`))
	wait(map[string]string{"/one": set("one", `,"v":2`)})
	f.write(t, "b.yaml", set("two", ""))
	wait(map[string]string{"/one": set("one", `,"v":2`), "/two": set("two", "")})
	// As editors save: a new file, renamed over the old one.
	f.write(t, ".b.yaml.tmp", set("two", `,"v":3`))
	if err := os.Rename(filepath.Join(f.dir, ".b.yaml.tmp"), filepath.Join(f.dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	wait(map[string]string{"/one": set("one", `,"v":2`), "/two": set("two", `,"v":3`)})
	if err := os.Remove(filepath.Join(f.dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	wait(map[string]string{"/two": set("two", `,"v":3`)})
}

// TestWatchAMountedConfigMap updates files as the kubelet does: all at once, by swapping the link `..data`.
func TestWatchAMountedConfigMap(t *testing.T) {
	f := newFolder(t, nil)
	publish := func(revision string, files map[string]string) {
		t.Helper()
		dir := filepath.Join(f.dir, "..rev_"+revision)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(f.dir, "..data_tmp")
		if err := errors.Join(os.Symlink(filepath.Base(dir), link), os.Rename(link, filepath.Join(f.dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	publish("1", map[string]string{"a.json": set("one", ""), "b.json": set("two", "")})
	for _, name := range []string{"a.json", "b.json"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	wait := watched(t, f)
	wait(map[string]string{"/one": set("one", ""), "/two": set("two", "")})
	publish("2", map[string]string{"a.json": set("one", `,"v":2`), "b.json": set("three", "")})
	wait(map[string]string{"/one": set("one", `,"v":2`), "/three": set("three", "")})
}
