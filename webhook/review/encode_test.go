package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func TestAppend(t *testing.T) {
	patchType := admissionv1.PatchTypeJSONPatch
	refusal := &metav1.Status{Status: "Failure", Code: 403, Reason: "Forbidden", Message: `a "quoted" word`}
	tests := []struct {
		name, version string
		resp          admission.Response
		want          admissionv1.AdmissionResponse
		wantVersion   string
	}{
		{"allowed", V1, admission.Allow(), admissionv1.AdmissionResponse{Allowed: true}, V1},
		{"answered in kind", V1Beta1, admission.Allow(), admissionv1.AdmissionResponse{Allowed: true}, V1Beta1},
		{"an unknown version", "admission.k8s.io/v9", admission.Allow(), admissionv1.AdmissionResponse{Allowed: true}, V1},
		{"patched", V1, admission.Patched([]byte(`[{"op":"add","path":"/a","value":1}]`)),
			admissionv1.AdmissionResponse{Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"add","path":"/a","value":1}]`)}, V1},
		{"an empty patch is none", V1, admission.Patched([]byte(`[]`)), admissionv1.AdmissionResponse{Allowed: true}, V1},
		{"refused", V1, admission.Response{Status: refusal}, admissionv1.AdmissionResponse{Result: refusal}, V1},
		{"refused without a word", V1, admission.Response{}, admissionv1.AdmissionResponse{}, V1},
		{"a refusal has no patch", V1, admission.Response{Status: refusal, Patch: []byte(`[{}]`)}, admissionv1.AdmissionResponse{Result: refusal}, V1},
		{"a fault is never allowed", V1, admission.Response{Allowed: true, Fault: 500, Status: refusal, Patch: []byte(`[{}]`)},
			admissionv1.AdmissionResponse{Result: refusal}, V1},
		{"warnings", V1, admission.Allow("one", "two"), admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"one", "two"}}, V1},
		{"warnings of a refusal", V1, admission.Response{Status: refusal, Warnings: []string{"w"}},
			admissionv1.AdmissionResponse{Result: refusal, Warnings: []string{"w"}}, V1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := parse(t, Append([]byte("before"), tt.version, "u-1", tt.resp)[len("before"):])
			tt.want.UID = "u-1"
			if !tt.resp.Allowed && tt.resp.Fault == 0 { // only a denial is told to the audit log
				tt.want.AuditAnnotations = map[string]string{"decision-id": "u-1"}
			}
			want := admissionv1.AdmissionReview{
				TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: tt.wantVersion}, Response: &tt.want,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAppendPlain(t *testing.T) {
	status := admission.Faulted(503, "not now").Status
	var got metav1.Status
	if err := json.Unmarshal(AppendPlain([]byte("before"), status)[len("before"):], &got); err != nil {
		t.Fatal(err)
	}
	want := *status
	want.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnyUIDComesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		uid := rapid.String().Draw(rt, "uid")
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(Append(nil, V1, uid, admission.Allow()), &review); err != nil {
			rt.Fatal(err)
		}
		if review.Response.UID != types.UID(strings.ToValidUTF8(uid, "\uFFFD")) {
			rt.Fatalf("uid %q came back as %q", uid, review.Response.UID)
		}
	})
}

func TestWarnings(t *testing.T) {
	long := strings.Repeat("ä", 300)
	many := make([]string, 30)
	for i := range many {
		many[i] = strings.Repeat("x", 100)
	}
	tests := []struct {
		name string
		give []string
		want []string
	}{
		{"plain", []string{"a", "b"}, []string{"a", "b"}},
		{"line breaks", []string{"a\nb\tc\x7f"}, []string{"a b c "}},
		{"too long by characters", []string{long}, []string{strings.Repeat("ä", 255) + "…"}},
		{"just fits", []string{strings.Repeat("ä", 256)}, []string{strings.Repeat("ä", 256)}},
		{"too many: 10 of 100 characters fit in 1024", many, append(append([]string{}, many[:10]...), "and 20 more warnings")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := parse(t, Append(nil, V1, "u", admission.Allow(tt.give...)))
			if diff := cmp.Diff(tt.want, got.Response.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parse(t *testing.T, encoded []byte) admissionv1.AdmissionReview {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(encoded, &review); err != nil {
		t.Fatalf("decoding %s: %v", encoded, err)
	}
	return review
}

func BenchmarkAppend(b *testing.B) {
	resp := admission.Patched([]byte(`[{"op":"add","path":"/spec/containers/-","value":{"name":"agent"}}]`))
	buffer := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buffer = Append(buffer[:0], V1, "7b9c5a2e-0000-4000-8000-000000000000", resp)
	}
}
