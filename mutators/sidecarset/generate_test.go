package sidecarset

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/test/golden"
)

// Names come from small pools, so that everything clashes with everything in some of the cases.
var (
	envNames   = rapid.SampledFrom([]string{"A", "B", "C", "IS_INJECTED", "SIDECARSET_VERSION"})
	mountPaths = rapid.SampledFrom([]string{"/m1", "/m2", "/m3", "/dev/x"})
	volNames   = rapid.SampledFrom([]string{"v1", "v2", "v3"})
	podNames   = rapid.SampledFrom([]string{"main", "app", "a", "b", "h-1", "h-2"})
	carNames   = rapid.SampledFrom([]string{"a", "b", "c", "h", "main"})
	enabled    = rapid.SampledFrom([]any{nil, object{"type": "enabled"}, object{"type": "disabled"}})
)

type object = map[string]any

// number is a JSON number that encoding/json writes as it is.
type number string

func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

var unknown = rapid.OneOf(
	rapid.Just[any](number("9223372036854775807")), rapid.Just[any](number("18446744073709551616.50e400")),
	rapid.Just[any]("esc\u2028\\\"\u00e9"), rapid.Just[any](nil),
	rapid.Just[any](object{"deep": []any{object{"n": number("9007199254740993")}, true}}),
)

// strange adds fields that nobody knows.
func strange(t *rapid.T, o object) object {
	for i := range rapid.IntRange(0, 2).Draw(t, "unknown fields") {
		o[fmt.Sprintf("future/Field~%d", i)] = unknown.Draw(t, "unknown")
	}
	return o
}

// some adds a member now and then.
func some(t *rapid.T, o object, name string, value func() any) {
	if rapid.Bool().Draw(t, name) {
		o[name] = value()
	}
}

func drawEnv(t *rapid.T) any {
	var env []any
	for _, name := range rapid.SliceOfNDistinct(envNames, 0, 3, rapid.ID).Draw(t, "env") {
		entry := object{"name": name}
		if rapid.Bool().Draw(t, "literal") {
			entry["value"] = rapid.SampledFrom([]string{"true", "1", "2"}).Draw(t, "value")
		} else {
			entry["valueFrom"] = strange(t, object{"fieldRef": object{"fieldPath": "metadata.name"}})
		}
		env = append(env, entry)
	}
	return env
}

// drawPaths draws mounts and devices whose paths are distinct over both.
func drawPaths(t *rapid.T, c object) {
	var mounts, devices []any
	for _, path := range rapid.SliceOfNDistinct(mountPaths, 0, 3, rapid.ID).Draw(t, "paths") {
		name := volNames.Draw(t, "volume")
		if rapid.Bool().Draw(t, "device") {
			devices = append(devices, strange(t, object{"name": name, "devicePath": path}))
			continue
		}
		mount := strange(t, object{"name": name, "mountPath": path})
		some(t, mount, "subPathExpr", func() any { return "$(A)/$(B)" })
		mounts = append(mounts, mount)
	}
	if mounts != nil {
		c["volumeMounts"] = mounts
	}
	if devices != nil {
		c["volumeDevices"] = devices
	}
}

func drawContainer(t *rapid.T, name string) object {
	c := strange(t, object{"name": name, "image": rapid.SampledFrom([]string{"i:1", "i:2"}).Draw(t, "image")})
	some(t, c, "env", func() any { return drawEnv(t) })
	drawPaths(t, c)
	some(t, c, "resources", func() any { return object{"limits": object{"cpu": "0.2"}} })
	return c
}

func drawSidecar(t *rapid.T, name string, init bool) object {
	c := drawContainer(t, name)
	some(t, c, "podInjectPolicy", func() any {
		return rapid.SampledFrom([]string{"BeforeAppContainer", "AfterAppContainer"}).Draw(t, "policy")
	})
	some(t, c, "shareVolumePolicy", func() any { return enabled.Draw(t, "share") })
	some(t, c, "shareVolumeDevicePolicy", func() any { return enabled.Draw(t, "share devices") })
	some(t, c, "transferEnv", func() any {
		return []any{object{"sourceContainerName": podNames.Draw(t, "source"), "envNames": []any{"A", "C"}},
			object{"sourceContainerNameFrom": object{"fieldRef": object{"fieldPath": "metadata.annotations['k1']"}}, "envName": "B"}}
	})
	some(t, c, "upgradeStrategy", func() any { return object{"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"} })
	some(t, c, "resourcesPolicy", func() any {
		return object{"targetContainersMode": rapid.SampledFrom([]any{"sum", "max"}).Draw(t, "mode"),
			"targetContainersNameRegex": rapid.SampledFrom([]any{".*", "^main$", "a"}).Draw(t, "targets"),
			"resourcesExpr":             object{"limits": object{"cpu": "cpu/3"}, "requests": object{"memory": "64Mi"}}}
	})
	if init {
		some(t, c, "restartPolicy", func() any { return "Always" })
	}
	return c
}

func drawSet(t *rapid.T, name string) object {
	spec := object{"selector": object{"matchLabels": object{"app": "x"}}}
	var containers, inits []any
	for _, name := range rapid.SliceOfNDistinct(carNames, 0, 3, rapid.ID).Draw(t, "sidecars") {
		if rapid.Bool().Draw(t, "init") {
			inits = append(inits, drawSidecar(t, name, true))
		} else {
			containers = append(containers, drawSidecar(t, name, false))
		}
	}
	spec["containers"], spec["initContainers"] = containers, inits
	some(t, spec, "volumes", func() any {
		return []any{strange(t, object{"name": "v1", "emptyDir": object{}}), strange(t, object{"name": "v2", "emptyDir": object{}})}
	})
	some(t, spec, "imagePullSecrets", func() any { return []any{object{"name": "s1"}, object{"name": "s2"}} })
	some(t, spec, "namespaceSelector", func() any { return object{"matchLabels": object{"kubernetes.io/metadata.name": "shop"}} })
	some(t, spec, "patchPodMetadata", func() any {
		// Overwrite never meets another policy that changes values: validation refuses such SidecarSets.
		return rapid.SampledFrom([]any{
			[]any{object{"annotations": object{"k1": `{"a": 9007199254740993}`}, "patchPolicy": "MergePatchJson"}},
			[]any{object{"annotations": object{"k1": `{"b":[1]}`}, "patchPolicy": "MergePatchJson"}},
			[]any{object{"annotations": object{"k1": "main", "k2": "app"}}},
			[]any{object{"annotations": object{"k2": "main"}, "patchPolicy": "Overwrite"}},
			[]any{object{"annotations": object{"k2": "other"}, "patchPolicy": "Overwrite"}},
		}).Draw(t, "patch")
	})
	metadata := object{"name": name, "annotations": object{
		"kruise.io/sidecarset-hash":               "h" + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "hash"),
		"kruise.io/sidecarset-hash-without-image": "w",
	}}
	return object{"metadata": metadata, "spec": spec, "status": object{"latestRevision": name + "-1"}}
}

// drawIndex draws SidecarSets and puts those that compile into force.
func drawIndex(t *rapid.T) *Index {
	index := NewIndex()
	for i := range rapid.IntRange(1, 4).Draw(t, "SidecarSets") {
		set := drawSet(t, fmt.Sprintf("set-%d", i))
		if err := index.Upsert(golden.Encode(t, set)); err != nil && !strings.Contains(err.Error(), "two containers") {
			t.Fatal(err)
		}
	}
	return index
}

func drawPod(t *rapid.T) object {
	pod := strange(t, object{"apiVersion": "v1", "kind": "Pod"})
	metadata := strange(t, object{"name": "p", "namespace": "shop", "labels": object{"app": "x"}})
	some(t, metadata, "annotations", func() any {
		annotations := object{"own": "esc\u00e9\\\""}
		some(t, annotations, "kruise.io/sidecarset-hash", func() any { return `{"set-0":"h1","gone":{"hash":"x","future":1.50}}` })
		some(t, annotations, "kruise.io/sidecarset-injected-list", func() any { return "gone,set-0" })
		some(t, annotations, "kruise.io/sidecarset-working-hotupgrade-container", func() any { return `{"h":"h-2"}` })
		some(t, annotations, "k1", func() any { return rapid.SampledFrom([]string{"", "main", `{"a":1}`}).Draw(t, "k1") })
		return annotations
	})
	spec := strange(t, object{"volumes": []any{strange(t, object{"name": "v1"}), object{"name": "v3"}}})
	all := rapid.SliceOfNDistinct(podNames, 1, 4, rapid.ID).Draw(t, "containers")
	inits := rapid.IntRange(0, len(all)-1).Draw(t, "init containers")
	for i, name := range all {
		list := "containers"
		if i < inits {
			list = "initContainers"
		}
		before, _ := spec[list].([]any)
		spec[list] = append(before, drawContainer(t, name))
	}
	some(t, spec, "imagePullSecrets", func() any { return []any{object{"name": "s2"}} })
	pod["metadata"], pod["spec"] = metadata, spec
	return pod
}
