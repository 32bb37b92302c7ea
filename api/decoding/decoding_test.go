package decoding

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sample has a field of every sort that the kinds of the API have.
type sample struct {
	Text      string              `json:"text"`
	Pointer   *string             `json:"pointer"`
	Flag      *bool               `json:"flag"`
	Small     int32               `json:"small"`
	Large     *int64              `json:"large"`
	Amount    *intstr.IntOrString `json:"amount"`
	Labels    map[string]string   `json:"labels"`
	Resources corev1.ResourceList `json:"resources"`
	At        *metav1.Time        `json:"at"`
	Bytes     []byte              `json:"bytes"`
	Names     []string            `json:"names"`

	Empty   struct{}        `json:"empty"`
	Volumes []corev1.Volume `json:"volumes"`
}

func TestWhatFits(t *testing.T) {
	var s sample
	err := Into(&s, "spec", jsontext.Value(`{"text":"a","flag":true,"small":-3,"large":9007199254740993,"amount":"20%",
		"labels":{"a":"b"},"resources":{"cpu":"100m","memory":1e3},"at":"2026-01-02T03:04:05Z","names":null,"unknown":[{}],
		"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Text != "a" || !*s.Flag || s.Small != -3 || *s.Large != 9007199254740993 || s.Amount.String() != "20%" ||
		s.Labels["a"] != "b" || s.Resources.Cpu().String() != "100m" || s.Resources.Memory().Value() != 1000 ||
		!s.At.Equal(&metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}) || s.Volumes[0].HostPath.Path != "/x" {
		t.Errorf("read %+v", s)
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for json, want := range map[string]string{
		`"x"`:                   "spec: must be an object with fields such as text, pointer, flag, not a string",
		`[]`:                    "spec: must be an object with fields such as text, pointer, flag, not a list",
		`{"text":1}`:            "spec.text: must be a string: put it in quotes",
		`{"text":true}`:         "spec.text: must be a string: put it in quotes",
		`{"text":["a"]}`:        "spec.text: must be a string, not a list",
		`{"pointer":{}}`:        "spec.pointer: must be a string, not an object",
		`{"flag":"true"}`:       "spec.flag: must be true or false, without quotes, not a string",
		`{"small":"1"}`:         "spec.small: must be a whole number from -2147483648 to 2147483647, not a string",
		`{"small":2147483648}`:  "spec.small: must be a whole number from -2147483648 to 2147483647, not 2147483648",
		`{"small":1.5}`:         "spec.small: must be a whole number from -2147483648 to 2147483647, not 1.5",
		`{"large":false}`:       "spec.large: must be a whole number from -9223372036854775808 to 9223372036854775807, not false",
		`{"amount":{}}`:         `spec.amount: must be a whole number from -2147483648 to 2147483647, or a string such as "20%", not an object`,
		`{"amount":1.5}`:        `spec.amount: must be a whole number from -2147483648 to 2147483647, or a string such as "20%"`,
		`{"amount":2147483648}`: `spec.amount: must be a whole number from -2147483648 to 2147483647, or a string such as "20%"`,
		`{"labels":["a"]}`:      "spec.labels: must be an object of names and values, not a list",
		`{"labels":{"a/b":1}}`:  "spec.labels[a/b]: must be a string: put it in quotes",
		`{"resources":{"cpu":"lots"}}`: "spec.resources.cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; " +
			"it must be a quantity such as 100m or 64Mi",
		`{"resources":{"cpu":{}}}`:           "spec.resources.cpu: ",
		`{"resources":{"cpu":1e99999999}}`:   "spec.resources.cpu: quantity is too long, or its exponent too far from 0: write it with a suffix such as m or Gi",
		`{"at":"yesterday"}`:                 `spec.at: must be a time such as "2006-01-02T15:04:05Z", not a string`,
		`{"bytes":1}`:                        "spec.bytes: must be a string of base64, not a number",
		`{"names":{}}`:                       "spec.names: must be a list, not an object",
		`{"names":["a",{}]}`:                 "spec.names[1]: must be a string, not an object",
		`{"empty":0}`:                        "spec.empty: must be an object, not a number",
		`{"volumes":[{},{"hostPath":"/x"}]}`: "spec.volumes[1].hostPath: must be an object with fields such as path, type, not a string",
		`{"text":"a","text":"b"}`:            "spec.text: duplicate object member name",
		`{"text":`:                           "unexpected EOF",
	} {
		err := Into(new(sample), "spec", jsontext.Value(json))
		if err == nil || !strings.HasPrefix(err.Error(), want) && !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", json, err, want)
		}
	}
}

// A whole object has no path of its own.
func TestTheTop(t *testing.T) {
	for json, want := range map[string]string{
		`7`:            "must be an object with fields such as text, pointer, flag, not a number",
		`{"text":{}}`:  "text: must be a string, not an object",
		`{"labels":7}`: "labels: must be an object of names and values, not a number",
	} {
		if err := Into(new(sample), "", jsontext.Value(json)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", json, err, want)
		}
	}
}

func TestMembersThatRepeat(t *testing.T) {
	var s sample
	if err := Into(&s, "spec", jsontext.Value(`{"text":"a","text":"b"}`), jsontext.AllowDuplicateNames(true)); err != nil || s.Text != "b" {
		t.Errorf("%q, %v", s.Text, err)
	}
}
