package validators_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// What a running OpenKruise holds is accepted as it is.
func TestObjectsOfOpenKruiseAreAccepted(t *testing.T) {
	for file, kind := range map[string]string{"sidecarsets.v1beta1": "SidecarSet", "containerrecreaterequests.v1beta1": "ContainerRecreateRequest"} {
		raw, err := os.ReadFile(filepath.Join("..", "api", "testdata", "takeover", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := yaml.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			t.Errorf("%s is empty", file)
		}
		handler := newEngine(t).Handler(table{Kind: kind}.groupKind())
		for _, object := range list.Items {
			if got := handler.Handle(t.Context(), &admission.Request{Operation: admission.Create, Object: []byte(object)}); !got.Allowed {
				t.Errorf("refused: %+v\n%s", got.Status, object)
			}
		}
	}
}
