package review

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

const full = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","futureField":{"a":[1]},"request":{
	"uid":"7b9c5a2e","kind":{"group":"policy","version":"v1","kind":"Eviction"},
	"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",
	"requestKind":{"group":"policy","version":"v1","kind":"Eviction"},"requestSubResource":"eviction",
	"name":"web-0","namespace":"shop","operation":"CREATE",
	"userInfo":{"username":"jane","uid":"u1","groups":["system:authenticated","sre"],"extra":{"k":["v"]}},
	"object":{"kind":"Eviction","big":9223372036854775807},"oldObject":null,"dryRun":true,
	"options":{"kind":"CreateOptions"},"futureRequestField":[{}]}}`

func TestDecode(t *testing.T) {
	body := []byte(full)
	got, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want := &Review{APIVersion: V1, Kind: "AdmissionReview", Request: &admission.Request{
		UID:         "7b9c5a2e",
		Kind:        metav1.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"},
		Resource:    metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		SubResource: "eviction", Name: "web-0", Namespace: "shop", Operation: admission.Create, DryRun: true,
		UserInfo: admission.UserInfo{Username: "jane", UID: "u1", Groups: []string{"system:authenticated", "sre"}, Extra: []byte(`{"k":["v"]}`)},
		Object:   []byte(`{"kind":"Eviction","big":9223372036854775807}`),
		Options:  []byte(`{"kind":"CreateOptions"}`),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	at := bytes.Index(body, []byte(`{"kind":"Eviction","big"`))
	if &got.Request.Object[0] != &body[at] {
		t.Error("the object is a copy of the body, not a part of it")
	}
	if got.Request.OldObject != nil {
		t.Errorf("null became %s, want nil", got.Request.OldObject)
	}
}

func TestDecodeTakesWhatTheAPIServerTakes(t *testing.T) {
	for name, body := range map[string]string{
		"v1beta1":              strings.Replace(full, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
		"request before kind":  `{"request":{"uid":"7b9c5a2e"},"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		"white space":          " \r\n\t" + full + "\n\n",
		"duplicate names":      strings.Replace(full, `"uid":`, `"uid":"first","uid":`, 1),
		"invalid UTF-8":        strings.Replace(full, `"big":9223372036854775807`, "\"big\":\"\xff\"", 1),
		"nulls for everything": `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7b9c5a2e","kind":null,"resource":null,"userInfo":null,"object":null,"dryRun":null,"operation":null}}`,
	} {
		got, err := Decode([]byte(body))
		if err != nil || got.UID() != "7b9c5a2e" {
			t.Errorf("%s: uid %q, error %v", name, got.UID(), err)
		}
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	const head = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u7"`
	tests := []struct{ name, body, want, uid string }{
		{"empty", "", "the body is empty", ""},
		{"white space only", " \n ", "reading the review", ""},
		{"not JSON", "kind: AdmissionReview", "invalid character", ""},
		{"an array", "[]", "the document is a [, expected an object", ""},
		{"null", "null", "the document is a null, expected an object", ""},
		{"cut short", head, "unexpected EOF", "u7"},
		{"two documents", head + "}}" + head + "}}", "unexpected data", "u7"},
		{"no kind", `{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u7"}}`, `kind is ""`, "u7"},
		{"another kind", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u7"}}`, `kind is "ConversionReview"`, "u7"},
		{"no version", `{"kind":"AdmissionReview","request":{"uid":"u7"}}`, `apiVersion is ""`, "u7"},
		{"a future version", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2","request":{"uid":"u7"}}`, `apiVersion is "admission.k8s.io/v2"`, "u7"},
		{"no request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, "no request", ""},
		{"null request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`, "no request", ""},
		{"a request that is none", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":"x"}`, "/request", ""},
		{"no uid", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}}`, "request.uid is missing", ""},
		{"a numeric uid", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}}`, "/request/uid", ""},
		{"a wrong type deep inside", head + `,"userInfo":{"groups":["a",{}]}}}`, "/request/userInfo/groups/1", "u7"},
		{"an object that is none", head + `,"object":"pod"}}`, "request.object is a string", "u7"},
		{"an old object that is none", head + `,"oldObject":[1]}}`, "request.oldObject", "u7"},
		{"options that are none", head + `,"options":false}}`, "request.options", "u7"},
		{"too deep", head + `,"object":` + strings.Repeat(`{"a":`, 20000), "depth", "u7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.body))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q in it", err, tt.want)
			}
			if !strings.HasPrefix(err.Error(), "reading the review: ") {
				t.Errorf("error %q does not say what was being done", err)
			}
			if got == nil || got.UID() != tt.uid {
				t.Errorf("uid %q, want %q", got.UID(), tt.uid)
			}
		})
	}
}

// FuzzDecode: no input panics, and what Kubernetes' own decoder accepts means the same to both.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(full))
	pod, err := os.ReadFile("testdata/pod-create.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pod)
	f.Add([]byte(`{"request":{"object":{},"uid":"\ud800"}}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Decode(body)
		if got == nil {
			t.Fatal("no review at all")
		}
		if err != nil {
			return
		}
		if !json.Valid(got.Request.Object) && got.Request.Object != nil {
			t.Fatalf("the object is no JSON: %q", got.Request.Object)
		}
		var theirs admissionv1.AdmissionReview
		// Their decoder matches names without regard to case and refuses what ours does not look at, so that only
		// what both read the same way is compared.
		if err := json.Unmarshal(body, &theirs); err != nil || theirs.Request == nil || foldsNames(body) {
			return
		}
		if string(theirs.Request.UID) != got.Request.UID || theirs.Request.Namespace != got.Request.Namespace {
			t.Errorf("we read uid %q in %q, they %q in %q", got.Request.UID, got.Request.Namespace, theirs.Request.UID, theirs.Request.Namespace)
		}
	})
}

// foldsNames says whether a document has names that encoding/json would match only by ignoring case, or twice.
func foldsNames(body []byte) bool {
	lower := bytes.ToLower(body)
	for _, name := range []string{"uid", "request", "namespace"} {
		quoted := []byte(`"` + name + `"`)
		if bytes.Count(lower, quoted) != bytes.Count(body, quoted) || bytes.Count(body, quoted) > 1 {
			return true
		}
	}
	return bytes.ContainsRune(body, '\\') || bytes.ContainsAny(body, "ſK") || bytes.ContainsRune(body, '\uFFFD') || !json.Valid(body)
}

func BenchmarkDecode(b *testing.B) {
	body, err := os.ReadFile("testdata/pod-create.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
