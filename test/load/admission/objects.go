package main

import (
	"bytes"
	"fmt"
)

// unmatched is the same Pod with a label that no SidecarSet selects.
func unmatched() []byte {
	return bytes.ReplaceAll(newReview("bench"), matchingLabel, []byte(`"app": "alone"`))
}

// sidecarSet is the yardstick's: one container that mounts one volume.
func sidecarSet(name, app string, i int) map[string]any {
	volume := fmt.Sprintf("agent-buf-%d", i)
	return map[string]any{
		"apiVersion": "apps.kruise.io/v1beta1", "kind": "SidecarSet",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"selector":       map[string]any{"matchLabels": map[string]any{"app": app}},
			"updateStrategy": map[string]any{"type": "NotUpdate"},
			"containers":     []any{agent(i, volume)},
			"volumes":        []any{map[string]any{"name": volume, "emptyDir": map[string]any{}}},
		},
	}
}

func agent(i int, volume string) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("agent-%d", i), "image": "registry.example.com/obs/agent:2.7",
		"command": []string{"/agent"}, "args": []string{"--config=/etc/agent/config.yaml"},
		"env": []any{map[string]any{
			"name": "NODE", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "spec.nodeName"}},
		}},
		"resources":         map[string]any{"limits": map[string]any{"cpu": "200m", "memory": "128Mi"}},
		"volumeMounts":      []any{map[string]any{"name": volume, "mountPath": "/buf"}},
		"podInjectPolicy":   "BeforeAppContainer",
		"shareVolumePolicy": map[string]any{"type": "disabled"},
		"upgradeStrategy":   map[string]any{"upgradeType": "ColdUpgrade"},
	}
}
