package sidecarset

import "testing"

// Kubernetes reads an entry that is null like an object without members, and refuses it later if it must. Here it is no
// reason to refuse, be it the Pod's, the SidecarSet's, or the SidecarSet's when the Pod comes again.
func TestEntriesThatAreNull(t *testing.T) {
	b := newBed(t, set("nulls", `{selector: {matchLabels: {app: web}}, volumes: [null, {name: v}], containers: [{name: s, image: s:1,
		env: [null, {name: A}], volumeMounts: [null, {name: v, mountPath: /v}], volumeDevices: [null],
		shareVolumePolicy: {type: enabled}, shareVolumeDevicePolicy: {type: enabled},
		transferEnv: [null, {sourceContainerName: app, envName: B}]}]}`))
	injected, _ := b.inject(t, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "ownerReferences": []any{nil}},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "app", "env": []any{nil, map[string]any{"name": "B"}, map[string]any{"name": "IS_INJECTED"}},
				"volumeMounts": []any{nil, map[string]any{"mountPath": "/m"}}, "volumeDevices": []any{nil},
			}, nil},
			"initContainers": []any{nil}, "volumes": []any{nil}, "imagePullSecrets": []any{nil}, "readinessGates": []any{nil},
		},
	})
	if _, ops := b.inject(t, injected); len(ops) > 0 {
		t.Errorf("the Pod changes when it comes again: %+v", ops)
	}
}
