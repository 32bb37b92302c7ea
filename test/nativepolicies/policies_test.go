package nativepolicies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/features"
	"github.com/fairlead-io/fairlead/validators/native"
)

type update struct {
	Object string          `json:"object"`
	Patch  json.RawMessage `json:"patch"`
	Says   string          `json:"says"`
	Code   int32           `json:"code"`
	// Service is the service's code where policies have none such.
	Service int32 `json:"service"`
	// Unconverted is for objects as they are while nothing converts them.
	Unconverted bool `json:"unconverted"`
}

type deletion struct {
	Object string `json:"object"`
	Label  string `json:"label"`
	Says   string `json:"says"`
}

// answers are those of all cases, by what was asked.
type answers map[string]answer

// updates tries all updates, with the codes of whoever denies: the service or the policies.
func (w *world) updates(t *testing.T, service, policies bool) answers {
	all := make(answers)
	for i, c := range read[update](t, "testdata/updates.yaml") {
		if c.Unconverted && service {
			continue
		}
		got := w.update(w.object(c.Object), c.Patch)
		want := c.Code
		switch {
		case c.Says == "":
			want = 200
		case !policies && c.Service != 0:
			want = c.Service
		}
		if got.code != want || !strings.Contains(got.text, c.Says) {
			t.Errorf("update %d of %s, %s: %d %s, want %d %s", i, c.Object, c.Patch, got.code, got.text, want, c.Says)
		}
		all[fmt.Sprintf("update %d of %s", i, c.Object)] = got
	}
	return all
}

func (w *world) deletions(t *testing.T) answers {
	all := make(answers)
	for _, c := range read[deletion](t, "testdata/deletions.yaml") {
		object := w.object(c.Object)
		w.label(object, c.Label)
		got := w.remove(object)
		w.label(object, "")
		want := int32(403)
		if c.Says == "" {
			want = 200
		}
		if got.code != want || !strings.Contains(got.text, c.Says) {
			t.Errorf("deletion of %s with %s: %d %s, want %d %s", c.Object, c.Label, got.code, got.text, want, c.Says)
		}
		all["deletion of "+c.Object+" with "+c.Label] = got
	}
	return all
}

func (a answers) said() map[string]string {
	said := make(map[string]string, len(a))
	for what, one := range a {
		said[what] = one.said()
	}
	return said
}

// The policies deny, without the service, what the service denies, in its words; and with both one of them denies.
func TestPoliciesAndTheService(t *testing.T) {
	w := newWorld(t)
	t.Run("the chart and the command", w.chartIsCommand)
	if got := w.remove(w.object("Namespace empty")); got.code != 200 {
		t.Fatalf("something denies before anything is installed: %+v", got)
	}
	w.enforce()
	t.Run("types", w.types)
	alone := w.updates(t, false, true)
	for what, one := range w.deletions(t) {
		alone[what] = one
	}
	for what, one := range alone {
		if one.code != 200 && !strings.Contains(one.text, "ValidatingAdmissionPolicy 'kruise-native-") {
			t.Errorf("%s: something else denied: %s", what, one.text)
		}
	}
	t.Run("whole collections", w.collections)
	t.Run("objects that are being deleted", w.terminating)
	w.relent()

	w.serve()
	service := w.updates(t, true, false)
	for what, one := range w.deletions(t) {
		service[what] = one
	}
	for what := range alone {
		if _, also := service[what]; !also {
			delete(alone, what)
		}
	}
	if diff := cmp.Diff(service.said(), alone.said()); diff != "" {
		t.Errorf("the policies (+) speak otherwise than the service (-):\n%s", diff)
	}
	w.enforce()
	both := w.updates(t, true, true)
	for what, one := range w.deletions(t) {
		both[what] = one
	}
	for what, one := range both {
		if n := strings.Count(one.text, "denied"); one.code != 200 && n != 1 {
			t.Errorf("%s: denied %d times: %s", what, n, one.text)
		}
	}
	if diff := cmp.Diff(service.said(), both.said()); diff != "" {
		t.Errorf("both (+) speak otherwise than the service (-):\n%s", diff)
	}
	t.Run("good manifests", w.good)
}

// good: a manifest that leaves out what the service fills in changes nothing when it is applied or put in place again.
func (w *world) good(t *testing.T) {
	w.Must("", "create", "namespace", "good")
	for _, object := range read[map[string]any](t, "../validation/testdata/kinds/good.yaml") {
		metadata := object["metadata"].(map[string]any)
		if _, namespaced := metadata["namespace"]; namespaced {
			metadata["namespace"] = "good"
		} else {
			metadata["name"] = "good-" + metadata["name"].(string)
		}
		manifest, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"create", "apply", "replace"} {
			if out, err := w.Try(string(manifest), verb, "-f", "-"); err != nil {
				t.Errorf("%s of %v %v: %v: %s", verb, object["apiVersion"], object["kind"], err, out)
			}
		}
	}
}

// types: the API server finds nothing wrong with the types of any expression.
func (w *world) types(t *testing.T) {
	var list admissionv1.ValidatingAdmissionPolicyList
	checked := func() bool {
		if err := json.Unmarshal([]byte(w.Must("", "get", "validatingadmissionpolicies", "-o", "json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, policy := range list.Items {
			if policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation {
				return false
			}
		}
		return len(list.Items) > 0
	}
	w.Until("types are checked", checked)
	for _, policy := range list.Items {
		for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
			t.Errorf("%s: %s: %s", policy.Name, warning.FieldRef, warning.Warning)
		}
	}
}

// collections are judged object by object: what is protected stays, and the rest goes.
func (w *world) collections(t *testing.T) {
	const two = `
apiVersion: v1
kind: Service
metadata: {name: kept, namespace: default, labels: {set: x, policy.kruise.io/delete-protection: Always}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: gone, namespace: default, labels: {set: x}}
spec: {ports: [{port: 80}]}
`
	w.Must(two, "apply", "-f", "-")
	out, err := w.Try("", "delete", "services", "-n", "default", "-l", "set=x")
	if err == nil || !strings.Contains(err.Error(), "Service default/kept is protected") {
		t.Errorf("%s, %v", out, err)
	}
	if left := w.Must("", "get", "services", "-n", "default", "-l", "set=x", "-o", "name"); left != "service/kept\n" {
		t.Errorf("left %q", left)
	}
	w.Must("", "label", "service", "kept", "policy.kruise.io/delete-protection-", "-n", "default")
	w.Must("", "delete", "service", "kept", "-n", "default")
}

// terminating: who is being deleted already is neither protected nor judged.
func (w *world) terminating(t *testing.T) {
	const held = `
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: held, namespace: default, finalizers: [example.com/hold]}
spec: {replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a, tier: b}}, spec: {containers: [{name: web, image: "bank.test/web:v1"}]}}}
`
	w.Must(held, "apply", "-f", "-")
	w.Must("", "delete", "cloneset", "held", "-n", "default", "--wait=false")
	w.Must("", "label", "cloneset", "held", "policy.kruise.io/delete-protection=Always", "-n", "default")
	w.Must("", "delete", "cloneset", "held", "-n", "default", "--wait=false")
	w.Must("", "patch", "cloneset", "held", "-n", "default", "--type=merge", "-p", `{"metadata":{"finalizers":null},"spec":{"selector":{"matchLabels":{"app":null,"tier":"b"}}}}`)
	if out, err := w.Try("", "get", "cloneset", "held", "-n", "default"); err == nil {
		t.Errorf("it is still there: %s", out)
	}
}

// chartIsCommand: with whatever gates, the chart renders what the command prints, and adds its labels.
func (w *world) chartIsCommand(t *testing.T) {
	for _, set := range []string{"", "ResourcesDeletionProtection=false", "DeletionProtectionForCRDCascadingGate=true", "AllAlpha=true", "AllBeta=false"} {
		gates := features.New("")
		if err := gates.Set(set); err != nil {
			t.Fatal(err)
		}
		var printed bytes.Buffer
		if err := native.Write(&printed, native.Policies(gates)); err != nil {
			t.Fatal(err)
		}
		rendered := w.render(strings.ReplaceAll(set, ",", `\,`))
		if diff := cmp.Diff(byName(t, printed.String(), false), byName(t, rendered, true)); diff != "" {
			t.Errorf("featureGates=%s: -command +chart:\n%s", set, diff)
		}
	}
}

// byName are objects by kind and name, without labels if they must have some.
func byName(t *testing.T, text string, labelled bool) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	for document := range strings.SplitSeq(text, "---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object == nil {
			continue
		}
		metadata := object["metadata"].(map[string]any)
		if _, has := metadata["labels"]; has != labelled {
			t.Errorf("%v has labels: %v", metadata["name"], has)
		}
		delete(metadata, "labels")
		all[fmt.Sprint(object["kind"], " ", metadata["name"])] = object
	}
	return all
}
