package conversion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/conversion"
	"github.com/fairlead-io/fairlead/webhook/review"
)

func newHandler(t testing.TB) (*Handler, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Metrics: metrics, Log: logr.Discard()}), registry
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

func reviewOf(version, desired string, objects ...string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":%q,"request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}`,
		version, desired, strings.Join(objects, ","))
}

// decodeAnswer reads an answer as strictly as the API server.
func decodeAnswer(t testing.TB, recorder *httptest.ResponseRecorder) *apiextensionsv1.ConversionReview {
	t.Helper()
	decoder := json.NewDecoder(recorder.Body)
	decoder.DisallowUnknownFields()
	answer := &apiextensionsv1.ConversionReview{}
	if err := decoder.Decode(answer); err != nil {
		t.Fatal(err)
	}
	if answer.Kind != "ConversionReview" || answer.Response == nil || recorder.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("answer is %+v", answer)
	}
	return answer
}

func daemonSet(version, name, status string) string {
	return fmt.Sprintf(`{"apiVersion":"apps.kruise.io/%s","kind":"DaemonSet","metadata":{"name":%q,"uid":"x"},"status":%s}`, version, name, status)
}

const badBudget = `{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudget","metadata":{"namespace":"shop","name":"web","annotations":{"kruise.io/pub-protect-operations":"DELETE"}},"spec":7}`

func TestObjectsComeBackInTheirOrder(t *testing.T) {
	for _, version := range []string{V1, V1Beta1} {
		h, _ := newHandler(t)
		recorder := post(h, reviewOf(version, "apps.kruise.io/v1beta1",
			daemonSet("v1alpha1", "a", `{"daemonSetHash":"1"}`), daemonSet("v1beta1", "b", `{"updateRevision":"2"}`), daemonSet("v1alpha1", "c", `{}`)))
		answer := decodeAnswer(t, recorder)
		if recorder.Code != http.StatusOK || answer.APIVersion != version || answer.Response.UID != "u-1" || answer.Response.Result.Status != metav1.StatusSuccess {
			t.Errorf("HTTP %d: %+v", recorder.Code, answer)
		}
		var got []string
		for _, object := range answer.Response.ConvertedObjects {
			got = append(got, string(object.Raw))
		}
		want := []string{
			`{"kind":"DaemonSet","metadata":{"name":"a","uid":"x"},"status":{"updateRevision":"1"},"apiVersion":"apps.kruise.io/v1beta1"}`,
			daemonSet("v1beta1", "b", `{"updateRevision":"2"}`),
			`{"kind":"DaemonSet","metadata":{"name":"c","uid":"x"},"status":{},"apiVersion":"apps.kruise.io/v1beta1"}`,
		}
		for i := range want {
			if i >= len(got) || !sameJSON(t, want[i], got[i]) {
				t.Errorf("objects are %s", got)
				break
			}
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var left, right any
	if err := errors.Join(json.Unmarshal([]byte(a), &left), json.Unmarshal([]byte(b), &right)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(left, right)
}

func TestNoObjectsAreNone(t *testing.T) {
	h, _ := newHandler(t)
	if got := post(h, reviewOf(V1, "apps.kruise.io/v1beta1")).Body.String(); !strings.Contains(got, `"convertedObjects":[],"result":{"status":"Success"}`) {
		t.Errorf("answer is %s", got)
	}
}

func TestAFailureNamesObjectAndField(t *testing.T) {
	h, registry := newHandler(t)
	recorder := post(h, reviewOf(V1, "policy.kruise.io/v1beta1", badBudget, "null", daemonSet("v1alpha1", "a", "{}")))
	answer := decodeAnswer(t, recorder)
	if recorder.Code != http.StatusOK || answer.Response.UID != "u-1" || answer.Response.Result.Status != metav1.StatusFailure || answer.Response.ConvertedObjects != nil {
		t.Errorf("HTTP %d: %+v", recorder.Code, answer.Response)
	}
	want := `request.objects[0]: converting policy.kruise.io/v1alpha1 PodUnavailableBudget shop/web to policy.kruise.io/v1beta1: ` +
		`spec: expected an object, found number; ` +
		`request.objects[1]: found null, expected an object; ` +
		`request.objects[2]: converting apps.kruise.io/v1alpha1 DaemonSet a to policy.kruise.io/v1beta1: the groups differ`
	if diff := cmp.Diff(want, answer.Response.Result.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if got := count(t, registry, "fairlead_conversion_objects_total", "failed"); got != 3 {
		t.Errorf("%v objects counted as failed", got)
	}
}

func TestManyFailuresAreCounted(t *testing.T) {
	h, _ := newHandler(t)
	answer := decodeAnswer(t, post(h, reviewOf(V1, "policy.kruise.io/v1beta1", badBudget, badBudget, badBudget, badBudget, badBudget, badBudget, badBudget)))
	if got := answer.Response.Result.Message; strings.Count(got, "request.objects[") != 5 || !strings.HasSuffix(got, "; and 2 more") {
		t.Errorf("message is %s", got)
	}
}

// TestAFailureAfterPartsOfALargeAnswer is one all the same: the API server looks at the result.
func TestAFailureAfterPartsOfALargeAnswer(t *testing.T) {
	h, _ := newHandler(t)
	large := `{"apiVersion":"policy.kruise.io/v1alpha1","kind":"PodUnavailableBudget","spec":{"x":"` + strings.Repeat("x", spill) + `"}}`
	recorder := post(h, reviewOf(V1, "policy.kruise.io/v1beta1", large, badBudget))
	answer := decodeAnswer(t, recorder)
	if answer.Response.UID != "u-1" || answer.Response.Result.Status != metav1.StatusFailure || len(answer.Response.ConvertedObjects) != 1 {
		t.Errorf("HTTP %d: %d objects, %+v", recorder.Code, len(answer.Response.ConvertedObjects), answer.Response.Result)
	}
}

func TestAPanicIsAFailureOfItsObject(t *testing.T) {
	h, registry := newHandler(t)
	var logged strings.Builder
	h.log = funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})
	h.convert = func(jsontext.Value, string) (conversion.Converted, error) { panic("a mistake") }
	answer := decodeAnswer(t, post(h, reviewOf(V1, "apps.kruise.io/v1beta1", daemonSet("v1alpha1", "a", "{}"))))
	if answer.Response.Result.Status != metav1.StatusFailure || !strings.Contains(answer.Response.Result.Message, "panicked") || strings.Contains(answer.Response.Result.Message, "mistake") {
		t.Errorf("answer is %+v", answer.Response)
	}
	if !strings.Contains(logged.String(), "a mistake") || !strings.Contains(logged.String(), "handler.go") {
		t.Errorf("log is %s", logged.String())
	}
	if got := count(t, registry, "fairlead_conversion_panics_total", ""); got != 1 {
		t.Errorf("%v panics counted", got)
	}
}

func TestMalformedReviewsAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		uid        string
	}{
		"nothing":         {"", "the body is empty", ""},
		"no JSON":         {"{", "reading the review", ""},
		"no object":       {"[]", "expected an object", ""},
		"trailing":        {reviewOf(V1, "a/b") + "x", "reading past the document", "u-1"},
		"other kind":      {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, `kind is "AdmissionReview"`, ""},
		"other version":   {strings.Replace(reviewOf(V1, "a/b"), V1, "apiextensions.k8s.io/v2", 1), `apiVersion is "apiextensions.k8s.io/v2"`, "u-1"},
		"no request":      {`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":null}`, "it has no request", ""},
		"no uid":          {strings.Replace(reviewOf(V1, "a/b"), `"u-1"`, `""`, 1), "request.uid is missing", ""},
		"no version":      {reviewOf(V1, ""), "request.desiredAPIVersion is missing", "u-1"},
		"uid of a number": {`{"request":{"uid":7}}`, "expected a string", ""},
		"objects no list": {`{"kind":"ConversionReview","request":{"uid":"u-1","objects":{}}}`, "expected", "u-1"},
	} {
		h, registry := newHandler(t)
		recorder := post(h, c.body)
		answer := decodeAnswer(t, recorder)
		if recorder.Code != http.StatusBadRequest || answer.APIVersion != V1 || string(answer.Response.UID) != c.uid ||
			answer.Response.Result.Status != metav1.StatusFailure || !strings.Contains(answer.Response.Result.Message, c.want) {
			t.Errorf("%s: HTTP %d, %+v, want %q", name, recorder.Code, answer.Response, c.want)
		}
		if got := count(t, registry, "fairlead_conversion_duration_seconds", "malformed"); got != 1 {
			t.Errorf("%s: counted %v times", name, got)
		}
	}
}

func TestRequestsThatAreNoReviews(t *testing.T) {
	for name, c := range map[string]struct {
		method, contentType, encoding string
		code                          int
	}{
		"GET":  {http.MethodGet, "application/json", "", http.StatusMethodNotAllowed},
		"YAML": {http.MethodPost, "application/yaml", "", http.StatusUnsupportedMediaType},
		"none": {http.MethodPost, "", "", http.StatusUnsupportedMediaType},
		"gzip": {http.MethodPost, "application/json", "gzip", http.StatusUnsupportedMediaType},
	} {
		h, _ := newHandler(t)
		request := httptest.NewRequest(c.method, Path, strings.NewReader(reviewOf(V1, "a/b")))
		request.Header.Set("Content-Type", c.contentType)
		request.Header.Set("Content-Encoding", c.encoding)
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, request)
		if answer := decodeAnswer(t, recorder); recorder.Code != c.code || answer.Response.Result.Status != metav1.StatusFailure {
			t.Errorf("%s: HTTP %d, %+v", name, recorder.Code, answer.Response)
		}
	}
}

func TestBodiesHaveALimitAndABudget(t *testing.T) {
	h, registry := newHandler(t)
	h.bodies = review.NewBodies(100<<10, 90<<10)
	if recorder := post(h, strings.Repeat(" ", 200<<10)); recorder.Code != http.StatusRequestEntityTooLarge || recorder.Header().Get("Connection") != "close" {
		t.Errorf("too large: HTTP %d", recorder.Code)
	}
	if recorder := post(h, strings.Repeat(" ", 99<<10)); recorder.Code != http.StatusTooManyRequests || recorder.Header().Get("Retry-After") != "1" {
		t.Errorf("no memory left: HTTP %d", recorder.Code)
	}
	if got := count(t, registry, "fairlead_conversion_duration_seconds", "shed"); got != 1 {
		t.Errorf("%v reviews counted as shed", got)
	}
}

// count is a metric's value for an outcome, of a histogram how many were observed.
func count(t *testing.T, registry *prometheus.Registry, name, outcome string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (outcome == "" || labelled(metric, outcome)) {
				return metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

func labelled(metric *dto.Metric, value string) bool {
	return len(metric.GetLabel()) == 1 && metric.GetLabel()[0].GetValue() == value
}

func FuzzHandler(f *testing.F) {
	f.Add([]byte(reviewOf(V1, "policy.kruise.io/v1beta1", badBudget, daemonSet("v1alpha1", "a", "{}"))))
	f.Add([]byte(reviewOf(V1Beta1, "apps.kruise.io/v1alpha1", daemonSet("v1beta1", "a", `{"updateRevision":"é"}`))))
	h, _ := newHandler(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		recorder := post(h, string(body))
		var answer apiextensionsv1.ConversionReview
		if err := json.Unmarshal(bytes.ToValidUTF8(recorder.Body.Bytes(), nil), &answer); err != nil || answer.Response == nil || answer.Response.Result.Status == "" {
			t.Fatalf("HTTP %d: %v in %s", recorder.Code, err, recorder.Body)
		}
	})
}
