package sidecarset

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/test/golden"
)

const everyKnob = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata:
  name: mesh
  annotations: {kruise.io/sidecarset-hash: h, kruise.io/sidecarset-hash-without-image: w}
spec:
  selector: {matchLabels: {app: cart}}
  initContainers:
  - {name: native, image: "i:1", restartPolicy: Always}
  - {name: plain, image: "i:1"}
  containers:
  - name: agent
    futureKnob: {level: 9007199254740993, third: HUGE}
    image: "a:1"
    podInjectPolicy: AfterAppContainer
    upgradeStrategy: {upgradeType: ColdUpgrade}
    shareVolumePolicy: {type: enabled}
    shareVolumeDevicePolicy: {type: enabled}
    transferEnv: [{sourceContainerName: main, envName: B, envNames: [A, B, ""]}]
    resourcesPolicy: {targetContainersMode: sum, resourcesExpr: {limits: {cpu: cpu}}}
    env: [{name: OWN, value: x}]
    volumeMounts: [{name: buf, mountPath: /buf, future: [1]}, {name: podonly, mountPath: /p}]
    volumeDevices: [{name: raw, devicePath: /dev/x}]
  - {name: hot, image: "h:1", upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: "e:1"}}
  volumes:
  - {name: unused, emptyDir: {}}
  - {name: raw, emptyDir: {}}
  - {name: buf, emptyDir: {futureTier: HUGE}}
  imagePullSecrets: [{name: pull}, {}]
status: {latestRevision: mesh-7d9}
`

// compileEveryKnob puts a number into it that only survives as it is written.
func compileEveryKnob(t *testing.T) (*Compiled, []byte) {
	t.Helper()
	raw := bytes.ReplaceAll(toJSON(t, everyKnob), []byte(`"HUGE"`), []byte("18446744073709551616.50e400"))
	c, err := Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c, raw
}

func TestCompileKeepsFragmentsAsWritten(t *testing.T) {
	c, _ := compileEveryKnob(t)
	// YAML to JSON sorts members, so this is the order of the input.
	for i, want := range []string{
		`{"futureKnob":{"level":9007199254740993,"third":18446744073709551616.50e400},"image":"a:1","name":"agent",` +
			`"volumeDevices":[{"devicePath":"/dev/x","name":"raw"}],` +
			`"volumeMounts":[{"future":[1],"mountPath":"/buf","name":"buf"},{"mountPath":"/p","name":"podonly"}],` +
			`"env":[{"name":"OWN","value":"x"},{"name":"IS_INJECTED","value":"true"}]}`,
	} {
		raw := string(c.containers[i].instances[0].template.JSON())
		if raw != want {
			t.Errorf("fragment %d is\n%s, want\n%s", i, raw, want)
		}
	}
	var volumes []string
	for _, v := range c.volumes {
		volumes = append(volumes, v.name+" "+string(v.raw))
	}
	want := []string{
		`buf {"emptyDir":{"futureTier":18446744073709551616.50e400},"name":"buf"}`,
		`raw {"emptyDir":{},"name":"raw"}`,
	}
	if !slices.Equal(volumes, want) {
		t.Errorf("volumes are %q, want %q", volumes, want)
	}
}

func TestCompileReadsWhatInjectionNeeds(t *testing.T) {
	c, _ := compileEveryKnob(t)
	golden.Equal(t, "hashes and revision", []string{c.hash, c.hashWithoutImage, c.latestRevision}, []string{"h", "w", "mesh-7d9"})
	golden.Equal(t, "sidecarList, without the plain init container", c.sidecarList, []string{"agent", "hot", "native"})
	golden.Equal(t, "secrets", c.imagePullSecrets, []string{"pull"})
	agent := c.containers[0]
	golden.Equal(t, "transferred names", agent.transfers[0].names, []string{"A", "B"})
	golden.Equal(t, "env names", agent.envNames, []string{"OWN", "IS_INJECTED"})
	golden.Equal(t, "paths", agent.paths, []string{"/buf", "/p", "/dev/x"})
	golden.Equal(t, "before", []bool{agent.before, c.containers[1].before, c.initContainers[0].before}, []bool{false, true, false})
	if agent.resources == nil || agent.resources.broken != nil || c.containers[1].resources != nil {
		t.Errorf("resources policies are %+v and %+v", agent.resources, c.containers[1].resources)
	}
	var pair []string
	for _, i := range c.containers[1].instances {
		pair = append(pair, string(i.template.JSON()))
	}
	golden.Equal(t, "hot-upgrade pair", pair, []string{
		`{"env":[{"name":"IS_INJECTED","value":"true"}],"name":"hot-1","image":"h:1"}`,
		`{"env":[{"name":"IS_INJECTED","value":"true"}],"name":"hot-2","image":"e:1"}`,
	})
}

// A SidecarSet that did not pass our defaulting gets the hashes that the API server would have stored.
func TestCompileComputesMissingHashes(t *testing.T) {
	for version, set := range takeoverSets(t) {
		want, err := Compile(golden.Encode(t, set))
		if err != nil {
			t.Fatal(err)
		}
		annotations := golden.At(set, "metadata", "annotations").(map[string]any)
		for _, key := range []string{"kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"} {
			if annotations[key] == nil {
				t.Fatalf("%s: the fixture has no %s", version, key)
			}
			delete(annotations, key)
		}
		got, err := Compile(golden.Encode(t, set))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, version+": hashes", []string{got.hash, got.hashWithoutImage}, []string{want.hash, want.hashWithoutImage})
	}
}

// takeoverSets are SidecarSets as a running OpenKruise left them, by the name of their newest revision.
func takeoverSets(t *testing.T) map[string]any {
	t.Helper()
	sets := map[string]any{}
	for _, raw := range golden.Objects(t, "testdata/takeover/sidecarsets") {
		items, _ := golden.At(golden.Decode(t, raw), "items").([]any)
		for _, item := range items {
			sets[golden.At(item, "status", "latestRevision").(string)] = item
		}
	}
	if len(sets) != 4 {
		t.Fatalf("there are %d SidecarSets in the fixture, not 4", len(sets))
	}
	return sets
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	const head = "metadata: {name: broken}\nspec:\n  selector: {matchLabels: {a: b}}\n"
	for name, test := range map[string]struct{ set, want string }{
		"no object":   {"[]", "reading SidecarSet"},
		"no name":     {"spec: {selector: {matchLabels: {a: b}}}", "metadata.name: "},
		"name":        {"metadata: {name: 'a,b'}", "metadata.name: "},
		"wrong kind":  {"kind: CloneSet\n" + head, `kind is "CloneSet"`},
		"selector":    {"metadata: {name: broken}\nspec: {selector: {matchExpressions: [{key: a, operator: Near}]}}", "spec.selector"},
		"namespaces":  {head + "  namespaceSelector: {matchExpressions: [{key: a, operator: In}]}", "spec.namespaceSelector"},
		"policy":      {head + "  containers: [{name: c, podInjectPolicy: Middle}]", `container "c": podInjectPolicy is "Middle"`},
		"unnamed":     {head + "  containers: [{image: c}]", "name is missing"},
		"twice":       {head + "  containers: [{name: c}]\n  initContainers: [{name: c}]", `two containers would be called "c"`},
		"pair":        {head + "  containers: [{name: c-1}, {name: c, upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: e}}]", `two containers would be called "c-1"`},
		"empty image": {head + "  containers: [{name: c, upgradeStrategy: {upgradeType: HotUpgrade}}]", "hotUpgradeEmptyImage"},
	} {
		_, err := Compile(toJSON(t, test.set))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, test.want)
		}
		if named := strings.Contains(test.set, "name: broken"); err != nil && named && !strings.Contains(err.Error(), `"broken"`) {
			t.Errorf("%s: error %v does not name the SidecarSet", name, err)
		}
	}
}

// Compiled SidecarSets outlive the cache's copy of the object, and are kept by the thousand.
func TestCompileSharesNoMemoryWithItsInput(t *testing.T) {
	c, raw := compileEveryKnob(t)
	before := string(c.containers[0].instances[0].template.JSON()) + string(c.volumes[0].raw) + c.containers[0].name
	for i := range raw {
		raw[i] = '#'
	}
	if after := string(c.containers[0].instances[0].template.JSON()) + string(c.volumes[0].raw) + c.containers[0].name; after != before {
		t.Errorf("overwriting the input made %q of %q", after, before)
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Thousands of fragments are kept, and sent with every Pod, without the white space of whoever wrote them.
func TestCompileDropsWhiteSpaceOnly(t *testing.T) {
	dense, raw := compileEveryKnob(t)
	spread := jsontext.Value(raw).Clone()
	if err := spread.Indent(); err != nil {
		t.Fatal(err)
	}
	c, err := Compile(spread)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.all {
		golden.Equal(t, c.all[i].name, string(c.all[i].instances[0].template.JSON()), string(dense.all[i].instances[0].template.JSON()))
	}
	golden.Equal(t, "volumes", fmt.Sprint(c.volumes), fmt.Sprint(dense.volumes))
}

// namespace is a field of v1alpha1, and there it wins; what has no version may be either.
func TestCompileReadsNamespaceByVersion(t *testing.T) {
	const spec = "\nmetadata: {name: s}\nspec: {namespace: a, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}"
	for version, want := range map[string]string{"v1alpha1": "a", "v1beta1": "b"} {
		c, err := Compile(toJSON(t, "apiVersion: apps.kruise.io/"+version+spec))
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, version, c.pinned, []string{want})
	}
	c, err := Compile(toJSON(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "no version", c.pinned, []string{"a"})
}
