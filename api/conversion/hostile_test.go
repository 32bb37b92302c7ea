package conversion

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// TestASnapshotThatDoesNotFitIsDropped: a client of v1alpha1 may write what it likes into an annotation, and must not
// make an object by it that nobody can decode.
func TestASnapshotThatDoesNotFitIsDropped(t *testing.T) {
	const good = `{"name":"app","ready":true,"restartCount":1}`
	for text, want := range map[string]string{
		`[` + good + `]`: `[` + good + `]`,
		`[]`:             `[]`,
		`[1,2]`:          ``,
		`[null]`:         ``,
		`["app"]`:        ``,
		`[[]]`:           ``,
		`[{"name":1,"ready":true,"restartCount":1}]`:                      ``,
		`[{"name":"app","ready":"true","restartCount":1}]`:                ``,
		`[{"name":"app","ready":true,"restartCount":3000000000}]`:         ``,
		`[{"name":"app","ready":true,"restartCount":1.5}]`:                ``,
		`[{"name":"app","ready":true,"restartCount":1,"containerID":{}}]`: ``,
		`[{"name":"app","ready":true}]`:                                   ``,
		`[{"name":"app","restartCount":1}]`:                               ``,
		`[` + good + `,{"ready":true,"restartCount":1}]`:                  ``,
		`[{"name":null,"ready":true,"restartCount":1}]`:                   ``,
		`null`:                               ``,
		`"` + strings.Repeat("x", 100) + `"`: ``,
	} {
		raw := object(t, alphaApps, "ContainerRecreateRequest", `{metadata: {}, status: {phase: Recreating}}`)
		top, err := jsontree.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		(&work{top: top}).setTag(annotations, v1beta1.ContainerRecreateRequestSyncStatuses, text)
		converted, err := Convert(top.Bytes(), betaApps)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var typed v1beta1.ContainerRecreateRequest
		if err := json.Unmarshal(converted.Object, &typed); err != nil {
			t.Errorf("%s: v1beta1 cannot hold %s: %v", text, converted.Object, err)
		}
		if want == "" && (len(converted.Notes) != 1 || strings.Contains(string(converted.Object), "Snapshot") || typed.Annotations != nil) {
			t.Errorf("%s: notes %v, %s", text, converted.Notes, converted.Object)
		}
		if want != "" && !strings.Contains(string(converted.Object), `"containerStatusSnapshot":`+want) {
			t.Errorf("%s: %s", text, converted.Object)
		}
	}
}

// TestWhatWasKeptChangesNoTemplate: the schema leaves a template alone, and so does the check of what was kept.
func TestWhatWasKeptChangesNoTemplate(t *testing.T) {
	given := func(kept string) jsontext.Value {
		return object(t, alphaApps, "StatefulSet", `
metadata: {name: web, namespace: shop, annotations: {conversion.fairlead.io/v1beta1-fields: '`+kept+`'}}
spec: {replicas: 1, template: {spec: {containers: [{name: c}]}}}`)
	}
	hash := func(path string) string {
		top, err := jsontree.Parse(given(""))
		if err != nil {
			t.Fatal(err)
		}
		return record{path: path}.at(top).Hash()
	}
	for _, kept := range []string{
		`[{"path":"/spec/template","value":"x","was":"` + hash("/spec/template") + `"}]`,
		`[{"path":"/spec/template","was":"` + hash("/spec/template") + `"}]`,
		`[{"path":"/spec/template/spec","value":[],"was":"` + hash("/spec/template/spec") + `"}]`,
		`[{"path":"/spec","value":{"template":7},"was":"` + hash("/spec") + `"}]`,
		`[{"path":"/spec/volumeClaimTemplates","value":"x"}]`,
	} {
		_, err := Convert(given(kept), betaApps)
		if err == nil || !strings.Contains(err.Error(), "which both versions have") {
			t.Errorf("%s: %v", kept, err)
		}
	}
	if _, err := Convert(given(`[{"path":"/spec/reserveOrdinals","value":[1]}]`), betaApps); err != nil {
		t.Error(err)
	}
}
