package containerrecreate

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/golden"
	"github.com/fairlead-io/fairlead/webhook/server"
)

const endpoint = "/mutate-apps-kruise-io-containerrecreaterequest"

func TestGoldenCases(t *testing.T) {
	golden.CheckRules(t, "testdata/rules", golden.Run(t, "testdata/cases", endpoint, serving))
}

// serving serves the capture in a cluster that has these Pods and nodes.
func serving(t *testing.T, objects [][]byte) http.Handler {
	t.Helper()
	w := world{pods: map[string]string{}, nodes: map[string]string{}}
	for _, raw := range objects {
		var header metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(raw, &header); err != nil {
			t.Fatal(err)
		}
		if header.Kind == "Pod" {
			w.pods[header.Namespace+"/"+header.Name] = string(raw)
			continue
		}
		labels, err := yaml.Marshal(header.Labels)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes[header.Name] = string(labels)
	}
	s, err := server.New(server.Options{
		Routes:  []server.Route{{Path: endpoint, Webhooks: []string{"mcontainerrecreaterequest.kb.io"}, Handler: New(w, true)}},
		Metrics: server.NewMetrics(prometheus.NewRegistry()), AccessLog: slog.New(slog.DiscardHandler), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}
