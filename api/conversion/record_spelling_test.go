package conversion

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestRecordsSpellStringsInOneWay: the API server stores < as \u003c, and a record must not change by that; numbers keep every
// digit, also those beyond 2^53.
func TestRecordsSpellStringsInOneWay(t *testing.T) {
	got := string(appendRecords(nil, []record{{path: "/spec/a", value: jsontext.Value(`{"b": "\u003c\u00e9", "n": 9007199254740993.50}`)}}))
	if want := `[{"path":"/spec/a","value":{"b":"<é","n":9007199254740993.50}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
