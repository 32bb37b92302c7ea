package sidecarset

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-io/fairlead/test/golden"
)

// drawBed draws what the mutator knows, and a Pod that it can inject into.
func drawBed(t *rapid.T) (*bed, any) {
	b := &bed{index: drawIndex(t), namespaces: namespaceLabels{"shop": {"kubernetes.io/metadata.name": "shop"}}, clock: testClock}
	b.options.SortByName = rapid.Bool().Draw(t, "sort by name")
	pod := golden.Decode(t, golden.Encode(t, drawPod(t)))
	if response := b.admitRaw(encode(t, pod)); !response.Allowed {
		// Nothing but text that is merged as JSON, and the lack of a container to compute from, can be wrong with these Pods.
		if message := response.Status.Message; !strings.Contains(message, "patchPodMetadata") && !strings.Contains(message, "matches no container") {
			t.Fatalf("the Pod is refused: %+v", response.Status)
		}
		t.Skip("the Pod is refused")
	}
	return b, pod
}

// inject(inject(p)) = inject(p), and the second time nothing is to do.
func TestInjectionIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		once, _ := b.inject(t, pod)
		b.clock = func() time.Time { return testTime.Add(time.Hour) }
		if _, ops := b.inject(t, once); len(ops) > 0 {
			t.Fatalf("the second injection does %s", golden.Encode(t, ops))
		}
	})
}

// Asked again after the API server and another webhook added to all containers, there is nothing to do either; and what
// they added stays.
func TestReinvocationAddsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		once, _ := b.inject(t, pod)
		others := admitOthers(once)
		if _, ops := b.inject(t, others); len(ops) > 0 {
			t.Fatalf("the second invocation does %s", golden.Encode(t, ops))
		}
	})
}

// admitOthers does to a Pod what stands between two invocations: the token's mount, defaults, a pull policy, a registry,
// a variable.
func admitOthers(pod any) any {
	spec := golden.At(pod, "spec").(object)
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, object{"name": "kube-api-access"})
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			c := c.(object)
			mounts, _ := c["volumeMounts"].([]any)
			c["volumeMounts"] = append(mounts, object{"name": "kube-api-access", "mountPath": "/token"})
			env, _ := c["env"].([]any)
			c["env"] = append(env, object{"name": "ZZ", "value": "z"})
			for _, e := range c["env"].([]any) {
				if ref, ok := golden.At(e, "valueFrom", "fieldRef").(object); ok {
					ref["apiVersion"] = "v1"
				}
			}
			c["imagePullPolicy"] = "Always"
			c["image"] = "mirror/" + c["image"].(string)
			c["resources"] = object{"limits": object{"cpu": "200m"}}
			delete(c, "future/Field~0") // the API server drops what it does not know
		}
	}
	return pod
}

// Nothing that injection does not own is touched.
func TestInjectionTouchesOnlyWhatItOwns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		patched, ops := b.inject(t, pod)
		for _, op := range ops {
			root := strings.Join(strings.SplitN(op.Path, "/", 4)[:3], "/")
			if !slices.Contains([]string{"/metadata/annotations", "/spec/containers", "/spec/initContainers", "/spec/volumes", "/spec/imagePullSecrets"}, root) {
				t.Fatalf("operation on %s", op.Path)
			}
		}
		sidecars := sidecarNames(b.index)
		for _, list := range []string{"initContainers", "containers"} {
			checkOwn(t, list, golden.At(pod, "spec", list), golden.At(patched, "spec", list), sidecars)
		}
		for _, list := range []string{"volumes", "imagePullSecrets"} {
			before, _ := golden.At(pod, "spec", list).([]any)
			after, _ := golden.At(patched, "spec", list).([]any)
			golden.Equal(t, list, append([]any(nil), after[:len(before)]...), before)
		}
		annotations, _ := golden.At(pod, "metadata", "annotations").(object)
		for key, value := range annotations {
			if !strings.HasPrefix(key, "k") {
				golden.Equal(t, key, annotation(patched, key), value)
			}
		}
	})
}

func sidecarNames(index *Index) map[any]bool {
	names := map[any]bool{}
	for _, f := range index.sets {
		for _, s := range index.compiled.of(f).all {
			for i := range s.instances {
				names[s.instances[i].template.Name] = true
			}
		}
	}
	return names
}

// checkOwn checks that the containers that are no sidecars are the same, in the same order.
func checkOwn(t *rapid.T, list string, before, after any, sidecars map[any]bool) {
	own := func(containers any) (own []any) {
		all, _ := containers.([]any)
		for _, c := range all {
			if !sidecars[golden.At(c, "name")] {
				own = append(own, c)
			}
		}
		return own
	}
	golden.Equal(t, "own containers of "+list, own(after), own(before))
}

// A Pod has each container name once over both lists, each volume once, and each path and variable once in a sidecar.
func TestInjectionKeepsThePodValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		patched, _ := b.inject(t, pod)
		once := func(what string, values []any) {
			seen := map[any]bool{}
			for _, v := range values {
				if v != nil && seen[v] {
					t.Fatalf("%s: %v occurs twice in %v", what, v, values)
				}
				seen[v] = true
			}
		}
		once("containers", append(names(patched, "containers"), names(patched, "initContainers")...))
		once("volumes", names(patched, "volumes"))
		once("secrets", names(patched, "imagePullSecrets"))
		for _, list := range []string{"initContainers", "containers"} {
			containers, _ := golden.At(patched, "spec", list).([]any)
			for _, c := range containers {
				once("env", golden.Each(golden.At(c, "env"), "name"))
				once("paths", append(golden.Each(golden.At(c, "volumeMounts"), "mountPath"), golden.Each(golden.At(c, "volumeDevices"), "devicePath")...))
			}
		}
	})
}

// The order in which SidecarSets became known does not matter, nor how often they changed.
func TestInjectionIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		_, ops := b.inject(t, pod)
		shuffled := NewIndex()
		var sets []string
		for _, f := range b.index.sets { // a map's order
			sets = append(sets, f.document)
		}
		for _, s := range append(sets, sets...) {
			if err := shuffled.Upsert([]byte(s)); err != nil {
				t.Fatal(err)
			}
		}
		b.index = shuffled
		_, again := b.inject(t, pod)
		if !bytes.Equal(golden.Encode(t, ops), golden.Encode(t, again)) {
			t.Fatalf("one patch is\n%s, another\n%s", golden.Encode(t, ops), golden.Encode(t, again))
		}
	})
}

// A Pod restored after its SidecarSets changed, or after others took their place, is settled by one injection too.
func TestInjectionSettlesRestoredPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, pod := drawBed(t)
		restored, _ := b.inject(t, pod)
		b.index = drawIndex(t)
		if response := b.admitRaw(encode(t, restored)); !response.Allowed {
			t.Skip("the Pod is refused")
		}
		settled, _ := b.inject(t, restored)
		if _, ops := b.inject(t, settled); len(ops) > 0 {
			t.Fatalf("the second injection does %s", golden.Encode(t, ops))
		}
	})
}
