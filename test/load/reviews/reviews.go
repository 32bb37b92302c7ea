// Package reviews has the requests that are measured, of load and of allocations alike: those of the yardstick, and one for
// each other thing that admission does.
package reviews

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed pod.json
var podReview []byte

var (
	uidPlaceholder = []byte("UID_PLACEHOLDER")
	matchingLabel  = []byte(`"app": "nginx"`)
)

// Matched is the 5 KiB Pod of the yardstick.
func Matched() []byte { return bytes.Replace(podReview, uidPlaceholder, []byte("bench"), 1) }

// Unmatched is the same Pod with a label that no SidecarSet selects.
func Unmatched() []byte { return bytes.ReplaceAll(Matched(), matchingLabel, []byte(`"app": "alone"`)) }

// podSpec is the spec of that Pod.
func podSpec() json.RawMessage {
	var review struct {
		Request struct {
			Object struct {
				Spec json.RawMessage `json:"spec"`
			} `json:"object"`
		} `json:"request"`
	}
	if err := json.Unmarshal(Matched(), &review); err != nil {
		panic(err) // the file is a part of this program
	}
	return review.Request.Object.Spec
}

// request is an AdmissionReview of an object, or in case of a DELETE of oldObject.
func request(operation, group, version, kind, resource string, object any) []byte {
	if operation == "DELETE" {
		return change(operation, group, version, kind, resource, object, nil)
	}
	return change(operation, group, version, kind, resource, nil, object)
}

// change is an AdmissionReview of an object as it was and as it is to be.
func change(operation, group, version, kind, resource string, before, after any) []byte {
	return encode(map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": map[string]any{
		"uid": "bench", "operation": operation, "namespace": "shop", "name": "web-0",
		"kind":     map[string]any{"group": group, "version": version, "kind": kind},
		"resource": map[string]any{"group": group, "version": version, "resource": resource},
		"userInfo": map[string]any{"username": "somebody", "groups": []string{"system:authenticated"}},
		"object":   after, "oldObject": before,
	}})
}

// Deletion deletes a Deployment of that Pod, with the label of deletion protection.
func Deletion(protection string, replicas int) []byte {
	labels := map[string]any{"app": "nginx"}
	return request("DELETE", "apps", "v1", "Deployment", "deployments", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web-0", "namespace": "shop", "uid": "0e0f2f2c-0000-4000-8000-000000000002", "generation": 4,
			"labels": map[string]any{"app": "nginx", "policy.kruise.io/delete-protection": protection},
		},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podSpec()},
		},
		"status": map[string]any{"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 4},
	})
}

// Capture creates a ContainerRecreateRequest for a container of RunningPod.
func Capture() []byte {
	return request("CREATE", "apps.kruise.io", "v1alpha1", "ContainerRecreateRequest", "containerrecreaterequests", map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "ContainerRecreateRequest",
		"metadata": map[string]any{"name": "restart", "namespace": "shop"},
		"spec": map[string]any{
			"podName": "web-0", "containers": []any{map[string]any{"name": "c0"}},
			"strategy": map[string]any{"orderedRecreate": true}, "activeDeadlineSeconds": 300,
		},
	})
}

// RunningPod is that Pod on a node, as the API server gives it.
func RunningPod() []byte { return encode(runningPod()) }

func runningPod() map[string]any {
	var spec map[string]any
	if err := json.Unmarshal(podSpec(), &spec); err != nil {
		panic(err) // see podSpec
	}
	spec["nodeName"] = "n1"
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "web-0", "namespace": "shop", "uid": "0e0f2f2c-0000-4000-8000-000000000001", "resourceVersion": "7",
			"labels": map[string]any{"app": "nginx"},
		},
		"spec": spec,
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
			"name": "c0", "containerID": "containerd://5f1e", "restartCount": 0, "ready": true,
		}}},
	}
}

// Annotated gives that Pod, which is ready and under Budget, an annotation: no unit is taken.
func Annotated() []byte {
	before, after := budgetedPod(), budgetedPod()
	after["metadata"].(map[string]any)["annotations"].(map[string]any)["note"] = "seen"
	return change("UPDATE", "", "v1", "Pod", "pods", before, after)
}

func budgetedPod() map[string]any {
	pod := runningPod()
	pod["metadata"].(map[string]any)["annotations"] = map[string]any{"kruise.io/related-pub": "web"}
	pod["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Ready", "status": "True"}}
	return pod
}

// Budget is that Pod's PodUnavailableBudget.
func Budget() json.RawMessage {
	return encode(map[string]any{
		"apiVersion": "policy.kruise.io/v1beta1", "kind": "PodUnavailableBudget",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "nginx"}}, "maxUnavailable": 1},
		"status":   map[string]any{"desiredAvailable": 4, "currentAvailable": 5, "unavailableAllowed": 1, "totalReplicas": 5},
	})
}

// Node is what an API server gives who asks for the metadata of its node alone.
func Node() []byte {
	return encode(map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": map[string]any{"name": "n1", "resourceVersion": "7", "labels": map[string]any{
			"kubernetes.io/hostname": "n1", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
	})
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

// Creation creates a SidecarSet beside others of that form.
func Creation() []byte {
	object := sidecarSet("newest", "newest", 99999)
	object["spec"].(map[string]any)["updateStrategy"] = map[string]any{"type": "RollingUpdate", "maxUnavailable": 1, "partition": 0}
	return request("CREATE", "apps.kruise.io", "v1beta1", "SidecarSet", "sidecarsets", object)
}

// Workload creates a CloneSet of that Pod, with something for every rule to look at.
func Workload() []byte {
	labels := map[string]any{"app": "nginx"}
	return request("CREATE", "apps.kruise.io", "v1beta1", "CloneSet", "clonesets", map[string]any{
		"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": labels},
		"spec": map[string]any{
			"replicas": 5, "selector": map[string]any{"matchLabels": labels}, "minReadySeconds": 5, "progressDeadlineSeconds": 600,
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": podSpec()},
			"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
				"podUpdatePolicy": "InPlaceIfPossible", "partition": "20%", "maxUnavailable": "20%", "maxSurge": 1,
				"priorityStrategy":      map[string]any{"orderPriority": []any{map[string]any{"orderedKey": "order"}}},
				"inPlaceUpdateStrategy": map[string]any{"gracePeriodSeconds": 10},
			}},
		},
	})
}

// Conversion asks for a SidecarSet, stored as v1alpha1, in v1beta1.
func Conversion() []byte {
	object := sidecarSet("stored", "stored", 1)
	object["apiVersion"] = "apps.kruise.io/v1alpha1"
	return encode(map[string]any{
		"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
		"request": map[string]any{"uid": "bench", "desiredAPIVersion": "apps.kruise.io/v1beta1", "objects": []any{object}},
	})
}

// SidecarSets are n of them as JSON, of which the first matches Matched.
func SidecarSets(n int) []json.RawMessage {
	items := make([]json.RawMessage, n)
	for i := range items {
		name, app := fmt.Sprintf("other-%d", i), fmt.Sprintf("other-%d", i)
		if i == 0 {
			name, app = "match", "nginx"
		}
		items[i] = encode(sidecarSet(name, app, i))
	}
	return items
}

// encode is an object of ours as JSON, which every one can be.
func encode(object any) []byte {
	encoded, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return encoded
}
