package replica

import (
	"fmt"
	"strings"
)

const guarded = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: going, finalizers: [example.com/hold]}
spec:
  selector: {matchLabels: {app: going}}
  containers: [{name: going, image: "bank.test/tool:v1"}]
`

// unconcerned: with no replica at all, what concerns none of our webhooks works, and what concerns one does not.
func unconcerned(w *world) {
	w.Must(guarded, "apply", "-f", "-")
	for _, r := range w.replicas {
		r.stop()
	}
	w.Until("no replica is ready", func() bool { return !w.service.any() })
	patch := func(what string) error {
		out, err := w.KubectlInput(w.Context(), strings.NewReader(""), "patch", "sidecarset", "going", "--type=merge", "-p", what)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	for what, change := range map[string]string{
		"the spec": `{"spec":{"updateStrategy":{"paused":true}}}`, "a label": `{"metadata":{"labels":{"a":"b"}}}`,
	} {
		if err := patch(change); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			w.Errorf("changing %s of a SidecarSet with no replica gives %v; this test shows nothing", what, err)
		}
	}
	w.Must("", "delete", "sidecarset", "going", "--wait=false")
	if err := patch(`{"metadata":{"finalizers":[]}}`); err != nil {
		w.Errorf("the last finalizer cannot be taken off while no replica is there: %v", err)
	}
	w.Until("the SidecarSet is gone", func() bool {
		_, err := w.Kubectl(w.Context(), "get", "sidecarset", "going")
		return err != nil
	})
}
