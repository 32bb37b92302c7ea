package deletion

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/golden"
	"github.com/fairlead-io/fairlead/webhook/server"
)

const endpoint = "/validate-deletion"

func TestGoldenCases(t *testing.T) {
	golden.CheckRules(t, "testdata/rules", golden.Run(t, "testdata/cases", endpoint, serving))
}

// serving serves deletion protection in a cluster that has these Pods and claims in one namespace.
func serving(t *testing.T, objects [][]byte) http.Handler {
	t.Helper()
	w := &world{}
	for _, raw := range objects {
		var o struct {
			Kind   string
			Status struct{ Phase string }
		}
		if err := yaml.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		switch {
		case o.Kind == "Pod" && o.Status.Phase != "Succeeded" && o.Status.Phase != "Failed":
			w.pods.N++
		case o.Kind == "PersistentVolumeClaim" && o.Status.Phase == "Bound":
			w.claims.N++
		}
	}
	s, err := server.New(server.Options{
		Routes:  []server.Route{{Path: endpoint, Webhooks: []string{"vnamespace.kb.io"}, Handler: New(Options{Census: w, Denied: func(Denial) {}})}},
		Metrics: server.NewMetrics(prometheus.NewRegistry()), AccessLog: slog.New(slog.DiscardHandler), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}
