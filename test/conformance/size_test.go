package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// maxReleaseBytes is half of what a Secret may hold, the rest being for everything else in the chart.
const maxReleaseBytes = 512 << 10

// TestCRDsFitIntoAHelmRelease writes the CRDs as Helm stores a release: the chart's files and the rendered manifest, as
// JSON, compressed, in base64.
func TestCRDsFitIntoAHelmRelease(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(crdDir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs found: %v", err)
	}
	var release struct {
		Files    [][]byte
		Manifest string
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		release.Files = append(release.Files, data)
		release.Manifest += string(data)
	}
	data, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if size := base64.StdEncoding.EncodedLen(packed.Len()); size > maxReleaseBytes {
		t.Errorf("the CRDs take %d bytes of a release, want at most %d", size, maxReleaseBytes)
	} else {
		t.Logf("the CRDs take %d KiB of a release", size>>10)
	}
}
