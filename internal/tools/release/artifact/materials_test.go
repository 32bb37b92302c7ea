package artifact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutToolDigests(t *testing.T) {
	const in = `{"version": 1, "metadata": {"tools": [{"name": "t", "hashes": [{"alg": "MD5"}]}]}, "components": [{"purl": "a?x&y", "hashes": [{"alg": "SHA-256"}]}]}`
	const want = `{
  "components": [
    {
      "hashes": [
        {
          "alg": "SHA-256"
        }
      ],
      "purl": "a?x&y"
    }
  ],
  "metadata": {
    "tools": [
      {
        "name": "t"
      }
    ]
  },
  "version": 1
}
`
	got, err := WithoutToolDigests([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{"": "EOF", "{}": "want a list", `{"metadata":{"tools":{}}}`: "want a list"} {
		if _, err := WithoutToolDigests([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
