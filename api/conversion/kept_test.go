package conversion

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// withKept is a v1alpha1 StatefulSet with what a client made of the annotation.
func withKept(t *testing.T, kept string) jsontext.Value {
	t.Helper()
	return object(t, alphaApps, "StatefulSet", `
metadata: {name: web, namespace: shop, annotations: {conversion.fairlead.io/v1beta1-fields: '`+kept+`'}}
spec: {replicas: 1, template: {}}
status: {}`)
}

func TestADamagedAnnotationCostsNoFieldInSilence(t *testing.T) {
	for kept, want := range map[string]string{
		"garbage":                                "restore it, or remove it to give those fields up",
		"{}":                                     "expected a list",
		"[7]":                                    "expected an object",
		`[{"path":"/metadata/uid","value":"x"}]`: "is not below",
		`[{"path":"/metadata/labels","value":{}}]`: "is not below",
		`[{"path":7}]`: "expected a string",
		`[{"path":"/spec/reserveOrdinals","value":"3"}]`:                         "fields of v1beta1 that do not fit",
		`[{"path":"/status/volumeClaims","value":[{"compatibleReplicas":"x"}]}]`: "fields of v1beta1 that do not fit",
		"too-large": "change the object in v1beta1",
	} {
		_, err := Convert(withKept(t, kept), betaApps)
		if err == nil || !strings.Contains(err.Error(), "StatefulSet shop/web") || !strings.Contains(err.Error(), "metadata.annotations[conversion.fairlead.io/v1beta1-fields]: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q in it", kept, err, want)
		}
	}
}

// TestADamagedAnnotationOfV1beta1IsIgnored: it only has v1alpha1's spelling, and an error would break its lists.
func TestADamagedAnnotationOfV1beta1IsIgnored(t *testing.T) {
	got := through(t, object(t, betaApps, "DaemonSet", `{metadata: {annotations: {conversion.fairlead.io/v1alpha1-fields: "["}}, status: {updateRevision: a}}`), nothing, alphaApps)
	sameYAML(t, alphaApps, "DaemonSet", `{metadata: {}, status: {daemonSetHash: a}}`, got)
}

func TestAClientGivesFieldsUpByRemovingTheAnnotation(t *testing.T) {
	got := through(t, object(t, betaApps, "StatefulSet", `{metadata: {}, spec: {reserveOrdinals: [1], replicas: 1}}`),
		func(object string) string { return plainText(t, object) }, alphaApps, betaApps)
	sameYAML(t, betaApps, "StatefulSet", `{metadata: {}, spec: {replicas: 1}}`, got)
}

// TestWhatWasKeptYieldsToAClient who says something else.
func TestWhatWasKeptYieldsToAClient(t *testing.T) {
	for name, c := range map[string]struct{ kind, beta, old, new, want string }{
		"the annotation of a field": {
			"CloneSet", `{metadata: {}, spec: {scaleStrategy: {enablePVCReuse: true}, updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, inPlaceUpdateStrategy: {imagePreDownloadParallelism: "5"}}}}}`,
			`"apps.kruise.io/image-predownload-parallelism":"5"`, `"apps.kruise.io/image-predownload-parallelism":"7"`,
			`"imagePreDownloadParallelism":7`,
		},
		"the type beside fields that only rolling updates have": {
			"CloneSet", `{metadata: {}, spec: {updateStrategy: {type: OnDelete, rollingUpdate: {podUpdatePolicy: InPlaceOnly}}}}`,
			`"type":"OnDelete"`, `"type":"ReCreate"`, `"podUpdatePolicy":"ReCreate"`,
		},
		"the version's label": {
			"SidecarSet", `{metadata: {labels: {apps.kruise.io/sidecarset-custom-version: old}}, spec: {customVersion: v1}}`,
			`"apps.kruise.io/sidecarset-custom-version":"v1"`, `"apps.kruise.io/sidecarset-custom-version":"v2"`,
			`"metadata":{},"spec":{"customVersion":"v2"}`,
		},
		"one of two Secrets, the other keeps its mode": {
			"NodeImage", `{metadata: {}, spec: {images: {a: {pullSecrets: [{namespace: s, name: one, mode: batch}, {namespace: s, name: two, mode: batch}]}}}}`,
			`{"name":"one","namespace":"s"},`, ``, `"pullSecrets":[{"name":"two","namespace":"s","mode":"batch"}]`,
		},
		"a condition that is gone": {
			"ContainerRecreateRequest", `{metadata: {}, status: {phase: Recreating, conditions: [{type: PreRecreateGrace, status: "True", lastTransitionTime: "2026-11-29T17:37:40Z", reason: Other, message: m}]}}`,
			`"crr.apps.kruise.io/unready-acquired":"2026-11-29T17:37:40Z",`, ``, `"status":{"phase":"Recreating"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := through(t, object(t, betaApps, c.kind, c.beta), func(object string) string {
				if !strings.Contains(object, c.old) {
					t.Fatalf("a client does not find %s in %s", c.old, object)
				}
				return strings.Replace(object, c.old, c.new, 1)
			}, alphaApps, betaApps)
			if !strings.Contains(plainText(t, got), c.want) {
				t.Errorf("got %s, want %s in it", got, c.want)
			}
		})
	}
}

// TestAnnotationsStayWithinTheLimit, beyond which the API server refuses the conversion of a whole list.
func TestAnnotationsStayWithinTheLimit(t *testing.T) {
	beta := object(t, betaApps, "AdvancedCronJob", `{metadata: {annotations: {full: `+strings.Repeat("x", 200<<10)+`}},
spec: {template: {imageListPullJobTemplate: {spec: {images: [`+strings.Repeat("y", 100<<10)+`]}}}}}`)
	alpha := through(t, beta, nothing, alphaApps)
	if len(alpha) > 201<<10 || !strings.Contains(alpha, `"conversion.fairlead.io/v1beta1-fields":"too-large"`) {
		t.Fatalf("%d bytes: %.200s", len(alpha), alpha)
	}
	if _, err := Convert(jsontext.Value(alpha), betaApps); err == nil {
		t.Error("a client of v1alpha1 may erase what it could not be shown")
	}
}

// TestACopyOfTheOtherVersionsAnnotationSaysNothing: somebody changed only the apiVersion of what he read.
func TestACopyOfTheOtherVersionsAnnotationSaysNothing(t *testing.T) {
	copied := strings.Replace(string(withKept(t, `[{"path":"/spec/reserveOrdinals","value":[7]}]`)), alphaApps, betaApps, 1)
	sameYAML(t, alphaApps, "StatefulSet", `{metadata: {name: web, namespace: shop}, spec: {replicas: 1, template: {}}, status: {}}`,
		through(t, jsontext.Value(copied), nothing, alphaApps))
}
