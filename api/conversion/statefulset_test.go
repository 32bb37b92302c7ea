package conversion

import (
	"strings"
	"testing"
)

const gameServers = `
metadata: {name: mc, namespace: default, uid: 1-2, generation: 9007199254740993}
spec:
  replicas: 4
  reserveOrdinals: [0, "3-4"]
  scaleStrategy: {maxUnavailable: 100%}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  lifecycle: {preDelete: {labelsHandler: {example.io/block: "true"}}}
  ordinals: {start: 2}
  volumeClaimUpdateStrategy: {type: OnDelete}
  template: {metadata: {labels: {app: mc}}, spec: {containers: [{name: mc, quota: 1.50e3}]}}
status: {replicas: 4, updatedReadyReplicas: 1, updatedAvailableReplicas: 1, volumeClaims: [{volumeClaimName: data, compatibleReplicas: 1, compatibleReadyReplicas: 1}]}
`

func TestStatefulSet(t *testing.T) {
	runExamples(t, "apps.kruise.io/StatefulSet", Alpha, []example{{
		"what only v1beta1 has is kept", gameServers,
		`
metadata:
  name: mc
  namespace: default
  uid: 1-2
  generation: 9007199254740993
  annotations:
    conversion.fairlead.io/v1beta1-fields: '[` +
			`{"path":"/spec/lifecycle","value":{"preDelete":{"labelsHandler":{"example.io/block":"true"}}}},` +
			`{"path":"/spec/ordinals","value":{"start":2}},` +
			`{"path":"/spec/persistentVolumeClaimRetentionPolicy","value":{"whenDeleted":"Delete","whenScaled":"Retain"}},` +
			`{"path":"/spec/reserveOrdinals","value":[0,"3-4"]},` +
			`{"path":"/spec/scaleStrategy","value":{"maxUnavailable":"100%"}},` +
			`{"path":"/spec/volumeClaimUpdateStrategy","value":{"type":"OnDelete"}},` +
			`{"path":"/status/updatedAvailableReplicas","value":1},` +
			`{"path":"/status/updatedReadyReplicas","value":1},` +
			`{"path":"/status/volumeClaims","value":[{"compatibleReadyReplicas":1,"compatibleReplicas":1,"volumeClaimName":"data"}]}]'
spec:
  replicas: 4
  template: {metadata: {labels: {app: mc}}, spec: {containers: [{name: mc, quota: 1.50e3}]}}
status: {replicas: 4}`,
	}})
}

// TestAnOlderClientErasesNothing that it cannot see when it reads, edits and writes an object.
func TestAnOlderClientErasesNothing(t *testing.T) {
	edit := func(object string) string {
		object = strings.Replace(object, `"replicas":4`, `"replicas":5`, 1)
		return strings.Replace(object, `{"app":"mc"}`, `{"app":"mc","round":"2"}`, 1)
	}
	got := through(t, object(t, "apps.kruise.io/v1beta1", "StatefulSet", gameServers), edit, "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1")
	sameYAML(t, "apps.kruise.io/v1beta1", "StatefulSet", edit2(gameServers), got)
}

func edit2(text string) string {
	text = strings.Replace(text, "replicas: 4\n", "replicas: 5\n", 1)
	return strings.Replace(text, "{app: mc}", `{app: mc, round: "2"}`, 1)
}

// TestWhatIsNotTouchedKeepsItsBytes, spaces and number formats included.
func TestWhatIsNotTouchedKeepsItsBytes(t *testing.T) {
	const template = `{ "spec" : {"containers":[ {"name":"\u0061", "n": 1.0e5, "big": 123456789012345678901234567890} ]} }`
	got := through(t, []byte(`{"apiVersion":"apps.kruise.io/v1beta1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"template":`+template+`,"ordinals":{"start":1}}}`),
		nothing, "apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1")
	if !strings.Contains(got, `"template":`+template) {
		t.Errorf("the template is another one: %s", got)
	}
}
