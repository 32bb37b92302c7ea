package images

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/oci"
)

func TestPushRefuses(t *testing.T) {
	img, err := oci.Build(oci.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"Bad Name": "reading the image reference",
		"a.test/b@sha256:" + "0123456789012345678901234567890123456789012345678901234567890123": "want a tag",
	} {
		if err := Push(t.Context(), "127.0.0.1:1", img, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
