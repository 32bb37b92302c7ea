package sidecarset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/golden"
)

// takeoverPods are injected Pods as a running OpenKruise left them.
func takeoverPods(t *testing.T) []any {
	t.Helper()
	var pods []any
	for _, raw := range golden.Objects(t, "testdata/takeover/pods") {
		items, _ := golden.At(golden.Decode(t, raw), "items").([]any)
		pods = append(pods, items...)
	}
	if len(pods) != 6 {
		t.Fatalf("there are %d Pods in the fixture, not 6", len(pods))
	}
	return pods
}

func takeoverBed(t *testing.T, revisions ...string) *bed {
	t.Helper()
	b := newBed(t)
	sets := takeoverSets(t)
	for _, revision := range revisions {
		if err := b.index.Upsert(golden.Encode(t, sets[revision])); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

var (
	createdRevisions = []string{"takeover-logs-bb94d9c57", "takeover-hot-59945f9fd7"}
	updatedRevisions = []string{"takeover-logs-78999f5c76", "takeover-hot-f87685c9b"}
)

// A Pod like those that OpenKruise injected gets, to the byte, the same annotations, and the same containers but for what
// the API server added.
func TestInjectionEqualsOpenKruise(t *testing.T) {
	for _, injected := range takeoverPods(t)[:3] { // 1-created
		t.Run(fmt.Sprint(golden.At(injected, "metadata", "name")), func(t *testing.T) {
			b := takeoverBed(t, createdRevisions...)
			created, err := time.Parse(time.RFC3339, golden.At(injected, "metadata", "creationTimestamp").(string))
			if err != nil {
				t.Fatal(err)
			}
			b.clock = func() time.Time { return created }
			fresh, want := uninjected(t, injected), golden.At(injected, "metadata", "annotations").(map[string]any)
			pod, _ := b.inject(t, fresh)
			got := golden.At(pod, "metadata", "annotations").(map[string]any)
			golden.Equal(t, "annotations", got, want)
			golden.Equal(t, "containers", withoutToken(t, golden.At(pod, "spec", "containers")), withoutToken(t, golden.At(injected, "spec", "containers")))
			golden.Equal(t, "volumes", golden.At(pod, "spec", "volumes"), golden.At(injected, "spec", "volumes"))
		})
	}
}

// The updated SidecarSets, asked for the versions that they had at first, give Pods what OpenKruise gave them then, to the
// byte. A revision that lacks its hashes gets the same ones.
func TestInjectionOfRevisionsEqualsOpenKruise(t *testing.T) {
	for _, hashed := range []bool{true, false} {
		revisions := takeoverRevisions(t, hashed)
		for _, injected := range takeoverPods(t)[:3] { // 1-created
			b := newBed(t)
			b.options.Revisions = revisions
			for i, name := range updatedRevisions {
				set := takeoverSets(t)[name]
				golden.At(set, "spec").(map[string]any)["injectionStrategy"] = map[string]any{"revision": map[string]any{"revisionName": createdRevisions[i]}}
				must(t, b.index.Upsert(golden.Encode(t, set)))
			}
			created, err := time.Parse(time.RFC3339, golden.At(injected, "metadata", "creationTimestamp").(string))
			must(t, err)
			b.clock = func() time.Time { return created }
			pod, _ := b.inject(t, uninjected(t, injected))
			golden.Equal(t, "annotations", golden.At(pod, "metadata", "annotations"), golden.At(injected, "metadata", "annotations"))
			golden.Equal(t, "containers", withoutToken(t, golden.At(pod, "spec", "containers")), withoutToken(t, golden.At(injected, "spec", "containers")))
			golden.Equal(t, "volumes", golden.At(pod, "spec", "volumes"), golden.At(injected, "spec", "volumes"))
		}
	}
}

// takeoverRevisions are the ControllerRevisions as a running OpenKruise left them, with or without their hashes.
func takeoverRevisions(t *testing.T, hashed bool) *Revisions {
	t.Helper()
	r := newRevisions(t, nil)
	for _, raw := range golden.Objects(t, "testdata/takeover/revisions") {
		items, _ := golden.At(golden.Decode(t, raw), "items").([]any)
		for _, item := range items {
			if !hashed {
				delete(golden.At(item, "metadata").(map[string]any), "annotations")
			}
			must(t, r.Upsert(golden.Encode(t, item)))
		}
	}
	if len(r.named) != 4 {
		t.Fatalf("there are %d revisions in the fixture, not 4", len(r.named))
	}
	return r
}

// uninjected takes away from a Pod what injection gave it.
func uninjected(t *testing.T, pod any) any {
	t.Helper()
	pod = golden.Decode(t, golden.Encode(t, pod))
	annotations := golden.At(pod, "metadata", "annotations").(map[string]any)
	for key := range annotations {
		if strings.Contains(key, "sidecarset") {
			delete(annotations, key)
		}
	}
	spec := golden.At(pod, "spec").(map[string]any)
	delete(pod.(map[string]any), "status")
	var containers, volumes []any
	for _, c := range spec["containers"].([]any) {
		if golden.At(c, "name") == "main" {
			containers = append(containers, c)
		}
	}
	for _, v := range spec["volumes"].([]any) {
		if golden.At(v, "name") != "logs" {
			volumes = append(volumes, v)
		}
	}
	spec["containers"], spec["volumes"] = containers, volumes
	return pod
}

// withoutToken removes the mount that the API server adds, and the empty resources that it writes.
func withoutToken(t *testing.T, containers any) any {
	t.Helper()
	containers = golden.Decode(t, golden.Encode(t, containers))
	for _, c := range containers.([]any) {
		c := c.(map[string]any)
		var mounts []any
		have, _ := c["volumeMounts"].([]any)
		for _, mount := range have {
			if golden.At(mount, "mountPath") != "/var/run/secrets/kubernetes.io/serviceaccount" {
				mounts = append(mounts, mount)
			}
		}
		if c["volumeMounts"] = mounts; len(mounts) == 0 {
			delete(c, "volumeMounts")
		}
	}
	return containers
}

// A restored Pod, of the version that its SidecarSet still has, is as it should be: the one in its second week after a
// hot upgrade too.
func TestRestoredPodsStayAsTheyAre(t *testing.T) {
	for i, pod := range takeoverPods(t) {
		b := takeoverBed(t, createdRevisions...)
		if i >= 3 {
			b = takeoverBed(t, updatedRevisions...)
		}
		delete(pod.(map[string]any), "status") // no Pod is created with one
		if _, ops := b.inject(t, pod); len(ops) > 0 {
			t.Errorf("Pod %d, %v, is patched: %+v", i, golden.At(pod, "metadata", "name"), ops)
		}
	}
}

// A restored Pod of an older version gets the new image; the proxy that worked keeps working.
func TestRestoredPodsGetTheCurrentVersion(t *testing.T) {
	for _, pod := range takeoverPods(t)[:3] {
		delete(pod.(map[string]any), "status")
		patched, _ := takeoverBed(t, updatedRevisions...).inject(t, pod)
		images := fmt.Sprint(golden.Each(golden.At(patched, "spec", "containers"), "image"))
		if images != "[busybox:1.33 nginx:1.14.2]" &&
			images != "[openkruise/hotupgrade-sample:sidecarv2 openkruise/hotupgrade-sample:empty nginx:1.14.2]" {
			t.Errorf("%v has images %s", golden.At(pod, "metadata", "name"), images)
		}
		hashes := fmt.Sprint(annotation(patched, "kruise.io/sidecarset-hash"))
		if !strings.Contains(hashes, `"updateTimestamp":"`+testStamp+`"`) {
			t.Errorf("the hash is not dated now: %s", hashes)
		}
		withoutImage := annotation(patched, "kruise.io/sidecarset-hash-without-image")
		golden.Equal(t, "hash without image, which is the same", withoutImage, annotation(pod, "kruise.io/sidecarset-hash-without-image"))
	}
	hot := takeoverPods(t)[3]
	delete(hot.(map[string]any), "status")
	patched, _ := takeoverBed(t, createdRevisions...).inject(t, hot)
	golden.Equal(t, "images", golden.Each(golden.At(patched, "spec", "containers"), "image"),
		[]any{"openkruise/hotupgrade-sample:empty", "openkruise/hotupgrade-sample:sidecarv1", "nginx:1.14.2"})
	golden.Equal(t, "worker", annotation(patched, "kruise.io/sidecarset-working-hotupgrade-container"), `{"proxy":"proxy-2"}`)
	golden.Equal(t, "its version", annotation(patched, "version.sidecarset.kruise.io/proxy-2"), "36636")
}
