package defaults

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// defaulted is a SidecarSet that lacks nothing but a hash; SPEC is where a case puts its members.
const defaulted = `{"spec":{"updateStrategy":{"type":"NotUpdate","maxUnavailable":"10%","partition":"5%"},"revisionHistoryLimit":3,SPEC}}`

// defaultedContainer is a SidecarContainer that lacks nothing but what a case puts in MORE.
const defaultedContainer = `{"name":"c","image":"a:1","imagePullPolicy":"Always","terminationMessagePath":"/t","terminationMessagePolicy":"File",
	"podInjectPolicy":"AfterAppContainer","upgradeStrategy":{"upgradeType":"HotUpgrade"},"shareVolumePolicy":{"type":"enabled"},MORE}`

func TestSidecarSetRules(t *testing.T) {
	testRules(t, []rule{sidecarSet}, []ruleCase{
		{"strategy", `{"spec":{"updateStrategy":{"paused":true}}}`, []string{
			`add /spec/updateStrategy/type "RollingUpdate"`,
			`add /spec/updateStrategy/maxUnavailable 1`,
			`add /spec/updateStrategy/partition 0`,
			`add /spec/revisionHistoryLimit 10`,
		}},
		{"no strategy", `{"spec":{"revisionHistoryLimit":0}}`,
			[]string{`add /spec/updateStrategy {"type":"RollingUpdate","maxUnavailable":1,"partition":0}`}},
		{"no spec", `{}`,
			[]string{`add /spec {"updateStrategy":{"type":"RollingUpdate","maxUnavailable":1,"partition":0},"revisionHistoryLimit":10}`}},
		{"zeros are choices", `{"spec":{"updateStrategy":{"type":"RollingUpdate","maxUnavailable":0,"partition":0},"revisionHistoryLimit":0}}`, nil},
	})
	testRules(t, []rule{sidecarSet}, specCases([]ruleCase{
		{"nothing missing", `"selector":{}`, nil},
		{"revision", `"injectionStrategy":{"revision":{"revisionName":"r"}}`, []string{`add /spec/injectionStrategy/revision/policy "Always"`}},
		{"revision policy", `"injectionStrategy":{"revision":{"policy":"Partial"}}`, nil},
		{"no revision", `"injectionStrategy":{"paused":true}`, nil},
		{"patchPodMetadata", `"patchPodMetadata":[{"annotations":{"a":"b"}},{"patchPolicy":"Overwrite"},{"patchPolicy":""}]`, []string{
			`add /spec/patchPodMetadata/0/patchPolicy "Retain"`,
			`add /spec/patchPodMetadata/2/patchPolicy "Retain"`,
		}},
		{"volumes", `"volumes":[{"name":"v"}]`, []string{`add /spec/volumes/0/emptyDir {}`}},
		{"v1alpha1's namespace stays", `"namespace":"shop"`, nil},
		{"containers go before", `"containers":[{"name":"c","image":"a:1"}]`, sidecarDefaults("containers", "BeforeAppContainer")},
		{"init containers go after", `"initContainers":[{"name":"c","image":"a:1"}]`, sidecarDefaults("initContainers", "AfterAppContainer")},
		{"kinds that do not fit", `"containers":"c","initContainers":{"name":"c"},"volumes":7,"injectionStrategy":[],"patchPodMetadata":true`, nil},
	}))
}

func sidecarDefaults(list, injectPolicy string) []string {
	at := "add /spec/" + list + "/0/"
	return []string{
		at + `podInjectPolicy "` + injectPolicy + `"`,
		at + `upgradeStrategy {"upgradeType":"ColdUpgrade"}`,
		at + `shareVolumePolicy {"type":"disabled"}`,
		at + `imagePullPolicy "IfNotPresent"`,
		at + `terminationMessagePath "/dev/termination-log"`,
		at + `terminationMessagePolicy "File"`,
	}
}

func TestSidecarContainerRules(t *testing.T) {
	cases := []ruleCase{
		{"nothing missing", `"x":1`, nil},
		{"half an upgradeStrategy", `"upgradeStrategy":{"hotUpgradeEmptyImage":"e:1"}`, []string{`add /upgradeStrategy/upgradeType "ColdUpgrade"`}},
		{"half a shareVolumePolicy", `"shareVolumePolicy":{}`, []string{`add /shareVolumePolicy/type "disabled"`}},
		{"no shareVolumeDevicePolicy is made up", `"shareVolumeDevicePolicy":{}`, nil},
		{"transferEnv", `"transferEnv":[{"sourceContainerNameFrom":{"fieldRef":{"fieldPath":"metadata.labels['a']"}}}]`,
			[]string{`add /transferEnv/0/sourceContainerNameFrom/fieldRef/apiVersion "v1"`}},
		{"transferEnv without a reference", `"transferEnv":[{"sourceContainerNameFrom":{}},{"sourceContainerNameFrom":null},{"envName":"A"}]`, nil},
		{"resourcesPolicy", `"resourcesPolicy":{"targetContainersMode":"sum"}`, []string{`add /resourcesPolicy/targetContainersNameRegex ".*"`}},
		{"an empty regex is for validation", `"resourcesPolicy":{"targetContainersNameRegex":""}`, nil},
		{"left to the API server", `"livenessProbe":{"grpc":{"port":1},"timeoutSeconds":1,"periodSeconds":1,"successThreshold":1,"failureThreshold":1},
			"env":[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k"}}}]`, nil},
	}
	for i, c := range cases {
		// The last of two members with one name counts.
		cases[i].object = strings.Replace(defaultedContainer, "MORE", c.object, 1)
	}
	testRules(t, sidecarContainer("BeforeAppContainer"), cases)
}

func specCases(cases []ruleCase) []ruleCase {
	for i, c := range cases {
		cases[i].object = strings.Replace(defaulted, "SPEC", c.object, 1)
	}
	return cases
}

func TestSidecarSetOfV1alpha1(t *testing.T) {
	const sent = `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"SidecarSet","metadata":{"name":"s"},
		"spec":{"namespace":"shop","selector":{"matchLabels":{"app":"a"}},"containers":[{"name":"c","image":"a:1"}]}}`
	got, err := SidecarSet(jsontext.Value(sent))
	if err != nil {
		t.Fatal(err)
	}
	hash := hashOf(`{"containers":[` + hashedContainer("a:1") + `]}`)
	withoutImage := hashOf(`{"containers":[` + hashedContainer("") + `]}`)
	if got.Hash != hash || got.HashWithoutImage != withoutImage {
		t.Errorf("hashes %s, %s; want %s, %s", got.Hash, got.HashWithoutImage, hash, withoutImage)
	}
	want := append(sidecarDefaults("containers", "BeforeAppContainer"),
		`add /spec/updateStrategy {"type":"RollingUpdate","maxUnavailable":1,"partition":0}`,
		`add /spec/revisionHistoryLimit 10`,
		`add /spec/namespaceSelector {"matchLabels":{"kubernetes.io/metadata.name":"shop"}}`)
	want = append([]string{`add /metadata/annotations {"kruise.io/sidecarset-hash":"` + hash +
		`","kruise.io/sidecarset-hash-without-image":"` + withoutImage + `"}`, `remove /spec/namespace `}, want...)
	if diff := cmp.Diff(want, operations(t, got.Patch)); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// A namespace reads back as a selector, and so it is written: a manifest with it, applied again, changes nothing.
func TestANamespaceIsASelector(t *testing.T) {
	const selector = `"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}`
	for name, c := range map[string]struct{ version, spec, want, lacks string }{
		"alone":                     {"v1alpha1", `"namespace":"shop"`, selector, `"namespace":`},
		"beside what it is":         {"v1alpha1", `"namespace":"shop",` + selector, selector, `"namespace":`},
		"beside no selector":        {"v1alpha1", `"namespace":"shop","namespaceSelector":null`, selector, `"namespace":`},
		"beside another selector":   {"v1alpha1", `"namespace":"shop","namespaceSelector":{"matchLabels":{"a":"b"}}`, `"namespace":"shop"`, "kubernetes.io"},
		"an empty one":              {"v1alpha1", `"namespace":""`, `"namespace":""`, "namespaceSelector"},
		"one that is no name":       {"v1alpha1", `"namespace":"Shop_1"`, `"namespace":"Shop_1"`, "namespaceSelector"},
		"of another kind":           {"v1alpha1", `"namespace":null`, `"namespace":null`, "namespaceSelector"},
		"in a version without it":   {"v1beta1", `"namespace":"shop"`, `"namespace":"shop"`, "namespaceSelector"},
		"a selector in the version": {"v1alpha1", selector, selector, `"namespace":`},
	} {
		got, err := SidecarSet(jsontext.Value(`{"apiVersion":"apps.kruise.io/` + c.version + `","kind":"SidecarSet","metadata":{"name":"s"},"spec":{` + c.spec + `}}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := string(got.Object); !strings.Contains(text, c.want) || strings.Contains(text, c.lacks) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// hashedContainer is what enters the hash of a container "c" without any choice of its own.
func hashedContainer(image string) string {
	if image != "" {
		image = `"image":"` + image + `",`
	}
	return `{"name":"c",` + image + `"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",` +
		`"imagePullPolicy":"IfNotPresent","podInjectPolicy":"BeforeAppContainer","upgradeStrategy":{"upgradeType":"ColdUpgrade"},` +
		`"shareVolumePolicy":{"type":"disabled"}}`
}

func TestHashAnnotations(t *testing.T) {
	hash, withoutImage := hashOf(`{"containers":null}`), hashOf(`{"containers":null}`)
	for name, c := range map[string]struct {
		metadata string
		want     []string
	}{
		"other annotations stay": {`{"annotations":{"a":"b"}}`, []string{
			`add /metadata/annotations/kruise.io~1sidecarset-hash "` + hash + `"`,
			`add /metadata/annotations/kruise.io~1sidecarset-hash-without-image "` + withoutImage + `"`,
		}},
		"null annotations": {`{"annotations":null}`, []string{
			`add /metadata/annotations {"kruise.io/sidecarset-hash":"` + hash + `","kruise.io/sidecarset-hash-without-image":"` + withoutImage + `"}`,
		}},
		"stale, forged and null": {`{"annotations":{"kruise.io/sidecarset-hash":"old","kruise.io/sidecarset-hash-without-image":null}}`, []string{
			`replace /metadata/annotations/kruise.io~1sidecarset-hash "` + hash + `"`,
			`add /metadata/annotations/kruise.io~1sidecarset-hash-without-image "` + withoutImage + `"`,
		}},
		"current": {`{"annotations":{"kruise.io/sidecarset-hash":"` + hash + `","kruise.io/sidecarset-hash-without-image":"` + withoutImage + `"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			sent := strings.Replace(defaulted, "SPEC", `"selector":{}`, 1)
			got, err := SidecarSet(jsontext.Value(`{"metadata":` + c.metadata + `,` + sent[1:]))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, operations(t, got.Patch)); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVolumesOfEveryKind(t *testing.T) {
	got, err := SidecarSet(readYAML(t, "testdata/volumes-of-every-kind.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var volumes []string
	for _, op := range operations(t, got.Patch) {
		if strings.Contains(op, "/spec/volumes") {
			volumes = append(volumes, op)
		}
	}
	want := []string{
		`add /spec/volumes/1/downwardAPI/items/0/fieldRef/apiVersion "v1"`,
		`add /spec/volumes/1/downwardAPI/defaultMode 420`,
		`add /spec/volumes/2/projected/sources/0/serviceAccountToken/expirationSeconds 3600`,
		`add /spec/volumes/2/projected/defaultMode 420`,
		`add /spec/volumes/3/configMap/defaultMode 420`,
		`add /spec/volumes/4/hostPath/type ""`,
		`add /spec/volumes/5/ephemeral/volumeClaimTemplate/spec/volumeMode "Filesystem"`,
		`add /spec/volumes/7/image/pullPolicy "IfNotPresent"`,
	}
	if diff := cmp.Diff(want, volumes); diff != "" {
		t.Errorf("operations on volumes (-want +got):\n%s", diff)
	}
}

func TestNewerFieldsSurvive(t *testing.T) {
	got, err := SidecarSet(readYAML(t, "testdata/newer-fields.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"futureKnob":{"level":9007199254740993,"list":[1,2],"note":"as-is"}`,
		`{"futureMountKnob":"soft","mountPath":"/tmp/agent","name":"agent-tmp"}`,
		`"lifecycle":{"preStop":{"sleep":{"seconds":7}},"stopSignal":"SIGQUIT"}`,
		`"futureVolumeKnob":{"tier":2}`,
	} {
		if !strings.Contains(string(got.Object), want) {
			t.Errorf("%s is lost in %s", want, got.Object)
		}
	}
}

func TestSidecarSetRefuses(t *testing.T) {
	for _, c := range []struct{ sent, want string }{
		{`[]`, "expected an object, found ["},
		{`"x"`, "expected an object"},
		{``, "EOF"},
		{`{"spec":`, "EOF"},
		{`{"spec":{}} {}`, "unexpected data at byte"},
		{`{"spec":"x"}`, "spec: must be an object with fields such as selector, namespaceSelector, initContainers, not a string"},
		{`{"metadata":"x"}`, "metadata: expected an object"},
		{`{"metadata":{"annotations":["x"]}}`, "metadata.annotations: expected an object"},
		{`{"spec":{"containers":"x"}}`, "spec.containers: must be a list, not a string"},
		{`{"spec":{"containers":[{},{"ports":"x"}]}}`, "spec.containers[1].ports: must be a list, not a string"},
		{`{"spec":{"initContainers":[{"env":[{"name":7}]}]}}`, "spec.initContainers[0].env[0].name: must be a string: put it in quotes"},
		{`{"spec":{"containers":[{"livenessProbe":{"periodSeconds":"10s"}}]}}`, "spec.containers[0].livenessProbe.periodSeconds: must be a whole number from -2147483648 to 2147483647, not a string"},
		{`{"spec":{"containers":[{"livenessProbe":{"periodSeconds":5000000000}}]}}`, "spec.containers[0].livenessProbe.periodSeconds: must be a whole number from -2147483648 to 2147483647, not 5000000000"},
		{`{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}`, "spec.containers[0].resources.limits.cpu: quantities must match"},
		{`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e-99999999"}}}]}}`, "spec.containers[0].resources.limits.cpu: quantity is too long"},
		{`{"spec":{"containers":[{"resources":{"requests":{"cpu":1E-99999999}}}]}}`, "spec.containers[0].resources.requests.cpu: quantity is too long"},
		{`{"spec":{"containers":[{"resources":{"limits":{"cpu":"12345678901234567890.1e99999999"}}}]}}`, "spec.containers[0].resources.limits.cpu: quantity is too long"},
		{`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e-99999999"}}]}}`, "spec.volumes[0].emptyDir.sizeLimit: quantity is too long"},
		{`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e-99999999999999999999"}}]}}`, "spec.volumes[0].emptyDir.sizeLimit: quantity is too long"},
		{`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"0.` + strings.Repeat("0", 1<<20) + `1"}}]}}`, "spec.volumes[0].emptyDir.sizeLimit: quantity is too long"},
		{`{"spec":{"containers":[{"name":"a","name":"b"}]}}`, "spec.containers[0].name: duplicate"},
		{`{"spec":{"volumes":[{"hostPath":"/x"}]}}`, "spec.volumes[0].hostPath: must be an object with fields such as path, type, not a string"},
		{`{"spec":{"updateStrategy":{"partition":[]}}}`, `spec.updateStrategy.partition: must be a whole number from -2147483648 to 2147483647, or a string such as "20%", not a list`},
	} {
		_, err := SidecarSet(jsontext.Value(c.sent))
		var refusal *admission.Refusal
		if !errors.As(err, &refusal) || refusal.Status.Code != 400 {
			t.Errorf("%s: error %v is no refusal with 400", c.sent, err)
			continue
		}
		if message := refusal.Status.Message; !strings.HasPrefix(message, "decoding SidecarSet: ") || !strings.Contains(message, c.want) {
			t.Errorf("%.200s: message %q, want %q", c.sent, message, c.want)
		}
	}
}

func readYAML(t testing.TB, file string) jsontext.Value {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
