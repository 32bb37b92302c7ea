package artifact

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const description = `apiVersion: v2
name: demo
version: 0.1.0
appVersion: "0.1.0"
# why
kubeVersion: ">=1.30.0-0"
`

func chartFiles() fstest.MapFS {
	return fstest.MapFS{
		"Chart.yaml":               {Data: []byte(description)},
		".helmignore":              {Data: []byte("# no tests\ntests/\n*.go\n\n")},
		"values.yaml":              {Data: []byte("a: 1\n")},
		"check_test.go":            {Data: []byte("package demo\n")},
		"templates/deep/a.yaml":    {Data: []byte("x")},
		"templates/tests":          {Data: []byte("a file of the name of a folder")},
		"tests/one_test.yaml":      {Data: []byte("suite")},
		"templates/tests.d/b.yaml": {Data: []byte("y")},
	}
}

func TestPackChart(t *testing.T) {
	chart, err := PackChart(chartFiles(), "1.2.3-rc.1", noon)
	if err != nil {
		t.Fatal(err)
	}
	if want := "demo-1.2.3-rc.1.tgz"; chart.FileName != want {
		t.Errorf("named %s, want %s", chart.FileName, want)
	}
	want := []string{
		"0 0644 2026-01-02 12:00:00 demo/Chart.yaml apiVersion: v2\nname: demo\nversion: 1.2.3-rc.1\nappVersion: \"1.2.3-rc.1\"\n# why\nkubeVersion: \">=1.30.0-0\"\n",
		"0 0644 2026-01-02 12:00:00 demo/templates/deep/a.yaml x",
		"0 0644 2026-01-02 12:00:00 demo/templates/tests a file of the name of a folder",
		"0 0644 2026-01-02 12:00:00 demo/templates/tests.d/b.yaml y",
		"0 0644 2026-01-02 12:00:00 demo/values.yaml a: 1\n",
	}
	if diff := cmp.Diff(want, listTar(t, gunzip(t, chart.Package))); diff != "" {
		t.Error(diff)
	}
	again, err := PackChart(chartFiles(), "1.2.3-rc.1", noon)
	if err != nil || !bytes.Equal(again.Package, chart.Package) {
		t.Errorf("a second packaging differs (%v)", err)
	}
}

func TestPackChartRefuses(t *testing.T) {
	for want, change := range map[string]func(fstest.MapFS){
		"0 lines match":             func(f fstest.MapFS) { f["Chart.yaml"].Data = []byte("name: demo\nversion: 0.1.0\n") },
		"2 lines match":             func(f fstest.MapFS) { f["Chart.yaml"].Data = []byte(description + "version: 0.2.0\n") },
		"it has no name":            func(f fstest.MapFS) { f["Chart.yaml"].Data = []byte("version: 1\nappVersion: 1\n") },
		"Chart.yaml: file does not": func(f fstest.MapFS) { delete(f, "Chart.yaml") },
		`pattern "!a"`:              func(f fstest.MapFS) { f[".helmignore"].Data = []byte("!a\n") },
		`pattern "a/b"`:             func(f fstest.MapFS) { f[".helmignore"].Data = []byte("a/b\n") },
		`pattern "[a"`:              func(f fstest.MapFS) { f[".helmignore"].Data = []byte("[a\n") },
	} {
		files := chartFiles()
		change(files)
		if _, err := PackChart(files, "1.2.3", noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// The product's own chart can be packaged, without what only its developers need.
func TestProductChart(t *testing.T) {
	chart, err := PackChart(os.DirFS("../../../../charts/kruise"), "1.2.3", noon)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, entry := range listTar(t, gunzip(t, chart.Package)) {
		has[strings.Fields(entry)[4]] = true
	}
	for name, want := range map[string]bool{
		"kruise/Chart.yaml": true, "kruise/values.yaml": true, "kruise/values.schema.json": true, "kruise/README.md": true,
		"kruise/templates/webhook/deployment.yaml": true, "kruise/files/crds/apps.kruise.io_sidecarsets.yaml": true,
		"kruise/README.md.gotmpl": false, "kruise/values_schema_test.go": false, "kruise/tests/image_test.yaml": false,
	} {
		if has[name] != want {
			t.Errorf("%s is in the package: %t, want %t", name, has[name], want)
		}
	}
}

func TestIndex(t *testing.T) {
	chart := func(version string) *Chart {
		t.Helper()
		c, err := PackChart(chartFiles(), version, noon)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	index, err := chart("1.2.2").Index(nil, "https://charts.example.com/old", noon.AddDate(0, 0, -1))
	if err == nil {
		index, err = chart("1.2.3").Index(index, "", noon.AddDate(0, 0, -1))
	}
	if err == nil { // a release that is made again takes its own place
		index, err = chart("1.2.3").Index(index, "https://charts.example.com/", noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(index, &got); err != nil {
		t.Fatal(err)
	}
	entry := func(version, created, url string) map[string]any {
		return map[string]any{
			"apiVersion": "v2", "name": "demo", "version": version, "appVersion": version, "kubeVersion": ">=1.30.0-0",
			"created": created, "digest": Digest(chart(version).Package), "urls": []any{url},
		}
	}
	want := map[string]any{
		"apiVersion": "v1", "generated": "2026-01-02T12:00:00Z",
		"entries": map[string]any{"demo": []any{
			entry("1.2.3", "2026-01-02T12:00:00Z", "https://charts.example.com/demo-1.2.3.tgz"),
			entry("1.2.2", "2026-01-01T12:00:00Z", "https://charts.example.com/old/demo-1.2.2.tgz"),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIndexRefusesWhatIsNone(t *testing.T) {
	chart, err := PackChart(chartFiles(), "1.2.3", noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a: [", "apiVersion: v2\n", "entries:\n"} {
		if _, err := chart.Index([]byte(text), "", noon); err == nil || !strings.Contains(err.Error(), "reading the earlier index") {
			t.Errorf("%q: error %v, want a refusal", text, err)
		}
	}
}
