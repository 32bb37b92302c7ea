package sidecarset

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/golden"
)

// hugeReview is a Pod's review of about kib KiB with n containers.
func hugeReview(kib, n int) []byte {
	var env, containers, volumes []string
	for k := range max(1, (kib*1024/n-600)/140) {
		env = append(env, fmt.Sprintf(`{"name": "VAR_%03d", "value": "%s"}`, k, strings.Repeat("v", 100)))
	}
	for i := range n {
		containers = append(containers, fmt.Sprintf(`{"name": "c%d", "image": "bank.test/tool:v1", "env": [%s],
			"volumeMounts": [{"name": "v%d", "mountPath": "/v"}]}`, i, strings.Join(env, ", "), i))
		volumes = append(volumes, fmt.Sprintf(`{"name": "v%d", "emptyDir": {}}`, i))
	}
	return fmt.Appendf(nil, `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "huge",
		"kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
		"namespace": "batch", "operation": "CREATE", "userInfo": {"username": "dev"}, "object": {"apiVersion": "v1", "kind": "Pod",
		"metadata": {"generateName": "huge-", "namespace": "batch", "labels": {"size": "huge"}},
		"spec": {"containers": [%s], "volumes": [%s]}}, "oldObject": null, "dryRun": false}}`,
		strings.Join(containers, ", "), strings.Join(volumes, ", "))
}

func TestHugePodsGetSmallPatches(t *testing.T) {
	c := newFieldCase(t, "013-huge-pods")
	for _, size := range []struct{ kib, containers int }{{1400, 150}, {2900, 150}, {300, 1000}} {
		t.Run(fmt.Sprintf("%d KiB in %d containers", size.kib, size.containers), func(t *testing.T) {
			r := c.postBody(hugeReview(size.kib, size.containers))
			r.onlyAdds(t)
			own := names(r.before, "containers")
			golden.Equal(t, "number of containers", len(own), size.containers)
			golden.Equal(t, "containers", names(r.after, "containers"), append(append([]any{"first"}, own...), "last"))
			golden.Equal(t, "last volume", golden.At(r.after, "spec", "volumes", -1, "name"), "buf")
			if len(r.PatchBytes) > 8<<10 || bytes.Contains(r.PatchBytes, []byte("VAR_")) {
				t.Errorf("the patch has %d bytes: %.300s", len(r.PatchBytes), r.PatchBytes)
			}
			for _, op := range r.Ops {
				if op.Path == "/spec/containers" {
					t.Error("the patch writes the list of containers whole")
				}
			}
		})
	}
}
