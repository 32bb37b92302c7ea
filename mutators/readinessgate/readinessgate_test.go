package readinessgate_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/mutators"
	"github.com/fairlead-io/fairlead/mutators/readinessgate"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

const (
	wholeList = `[{"op":"add","path":"/spec/readinessGates","value":[{"conditionType":"KruisePodReady"}]}]`
	appended  = `[{"op":"add","path":"/spec/readinessGates/-","value":{"conditionType":"KruisePodReady"}}]`
)

func TestWhichPodsGetTheGate(t *testing.T) {
	tests := []struct {
		name     string
		owners   string
		gates    string // "" is absent
		everyPod bool
		want     string
	}{
		{"CloneSet v1beta1", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","controller":true}`, "", false, wholeList},
		{"CloneSet v1alpha1", `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","controller":true}`, "", false, wholeList},
		{"a version of the future", `{"apiVersion":"apps.kruise.io/v9","kind":"BroadcastJob","controller":true}`, "", false, wholeList},
		{"the controller is not the first owner", `{"apiVersion":"v1","kind":"ConfigMap"},{"apiVersion":"apps.kruise.io/v1beta1","kind":"StatefulSet","controller":true}`, "", false, wholeList},
		{"an owner that does not control", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet"}`, "", false, ""},
		{"not controlling, said outright", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","controller":false}`, "", false, ""},
		{"the controller is another's", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet"},{"apiVersion":"apps/v1","kind":"ReplicaSet","controller":true}`, "", false, ""},
		{"our other group", `{"apiVersion":"policy.kruise.io/v1beta1","kind":"X","controller":true}`, "", false, ""},
		{"a group that begins like ours", `{"apiVersion":"apps.kruise.io.example/v1","kind":"CloneSet","controller":true}`, "", false, ""},
		{"a core version that looks like our group", `{"apiVersion":"apps.kruise.io","kind":"CloneSet","controller":true}`, "", false, ""},
		{"no owner", ``, "", false, ""},
		{"other gates stay", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","controller":true}`, `[{"conditionType":"InPlaceUpdateReady"}]`, false, appended},
		{"the gate is there", `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","controller":true}`, `[{"conditionType":"x/y"},{"conditionType":"KruisePodReady"}]`, false, ""},
		{"every Pod: no owner", ``, "", true, wholeList},
		{"every Pod: ReplicaSet", `{"apiVersion":"apps/v1","kind":"ReplicaSet","controller":true}`, `[{"conditionType":"x/y"}]`, true, appended},
		{"every Pod: the gate is there", ``, `[{"conditionType":"KruisePodReady"}]`, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := `{"containers":[{"name":"c"}]}`
			if tt.gates != "" {
				spec = `{"containers":[{"name":"c"}],"readinessGates":` + tt.gates + `}`
			}
			pod := `{"metadata":{"name":"p","ownerReferences":[` + tt.owners + `]},"spec":` + spec + `}`
			response := mutators.PodChain{readinessgate.New(tt.everyPod)}.Handle(t.Context(), create(pod))
			if !response.Allowed || response.Fault != 0 {
				t.Fatalf("the Pod is not admitted: %+v", response)
			}
			if got := string(response.Patch); got != tt.want {
				t.Errorf("patch is %s, want %s", got, tt.want)
			}
		})
	}
}

func create(pod string) *admission.Request {
	return &admission.Request{
		Operation: admission.Create, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object: jsontext.Value(pod),
	}
}
