package cloneset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
)

// guards are what was sent with a promise about the object that it is for.
type guards struct {
	*testing.T
	// seen are the kinds of writes; mutex is for them, which come in parallel.
	seen  map[string]bool
	mutex *sync.Mutex
}

func (g guards) note(what string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.seen[what] = true
}

// patch checks that one says for which version of the object it is. A Pod's gate is closed in whatever version it has; a mark
// of a revision is a label of its own, which nobody else writes.
func (g guards) patch(verb string, obj client.Object, patch client.Patch) {
	g.Helper()
	data, err := patch.Data(obj)
	if err != nil {
		g.Fatal(err)
	}
	var sent struct {
		Metadata struct {
			UID             types.UID      `json:"uid"`
			ResourceVersion string         `json:"resourceVersion"`
			Labels          map[string]any `json:"labels"`
		} `json:"metadata"`
		Status corev1.PodStatus `json:"status"`
	}
	if err := json.Unmarshal(data, &sent); err != nil {
		g.Fatal(err)
	}
	parts := []string{verb, fmt.Sprintf("%T", obj)}
	for _, c := range sent.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	if state, has := sent.Metadata.Labels["lifecycle.apps.kruise.io/state"]; has {
		parts = append(parts, fmt.Sprint("to ", state))
	}
	what := strings.Join(parts, " ")
	g.note(what)
	if _, isPod := obj.(*corev1.Pod); isPod && sent.Metadata.UID != obj.GetUID() {
		g.Errorf("%s: it is for the Pod with UID %q: %s", what, sent.Metadata.UID, data)
	}
	marks := sent.Metadata.Labels["apps.kruise.io/pre-predownload-created"] != nil || sent.Metadata.Labels["apps.kruise.io/image-predownload-ignored"] != nil
	if sent.Metadata.ResourceVersion == "" && !marks && !strings.Contains(what, "InPlaceUpdateReady=False") {
		g.Errorf("%s: it is for any version: %s", what, data)
	}
}

func (g guards) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			options := (&client.DeleteOptions{}).ApplyOptions(opts)
			if p := options.Preconditions; p == nil || p.UID == nil || *p.UID != obj.GetUID() {
				g.Errorf("the deletion of %T %s is of any object of its name", obj, obj.GetName())
			}
			g.note(fmt.Sprintf("delete %T", obj))
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			g.patch("patch", obj, patch)
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			g.patch(sub, obj, patch)
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}
}

// consent lets go of Pods that prepare for an update, and takes those back that are updated.
func (w *world) consent() {
	w.Helper()
	w.settle()
	for len(w.inState("PreparingUpdate"))+len(w.inState("Updated")) > 0 {
		for _, name := range w.inState("PreparingUpdate") {
			w.editPod(name, unhook)
		}
		for _, name := range w.inState("Updated") {
			w.editPod(name, hooked)
		}
		w.settle()
	}
}

// TestEveryWriteSaysForWhichObject plays all that happens to CloneSets, and looks at what is sent: what was read of an object
// decides what is written to it, so that it must be that object, and that version of it.
func TestEveryWriteSaysForWhichObject(t *testing.T) {
	w := newWorld(t, inPlace, claims("1Gi"), limits("0", "1", "0"), inPlaceHook(true))
	g := guards{T: t, seen: map[string]bool{}, mutex: &sync.Mutex{}}
	w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), g.funcs())
	w.reconciler.InPlace, w.reconciler.Server.Resize, w.reconciler.PreDownload = inplace.Options{Resources: true}, true, true
	w.sync()
	for _, pod := range w.pods() {
		w.editPod(pod.Name, kruisePodReady)
	}
	w.settle()
	cpu := func(amount string) setEdit {
		return func(s *cloneSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(amount)}
		}
	}
	for _, edits := range [][]setEdit{{replicas(4), image("web:2")}, {image("web:1")}, {cpu("1")}, {cpu("2")}} {
		w.edit(edits...)
		w.consent()
	}
	// Deletions: prepared, taken back, asked for, and of what others left.
	for _, edits := range [][]setEdit{{preDelete, replicas(3)}, {replicas(4)}, {podsToDelete(w.live()[0]), func(s *cloneSet) { s.Spec.Lifecycle = nil }}} {
		w.edit(edits...)
		w.settle()
	}
	w.editPod(w.live()[0], label("app", "mine"))
	w.editPod(w.live()[1], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.settle()
	for _, want := range []string{
		"patch *v1.Pod", "patch *v1.Pod to PreparingUpdate", "patch *v1.Pod to Updating", "patch *v1.Pod to PreparingDelete", "patch *v1.Pod to PreparingNormal",
		"status *v1.Pod InPlaceUpdateReady=False Ready=False", "status *v1.Pod KruisePodReady=False Ready=False", "status *v1.Pod InPlaceUpdateReady=True to Updated",
		"resize *v1.Pod", "delete *v1.Pod", "delete *v1.PersistentVolumeClaim", "patch *v1.PersistentVolumeClaim", "patch *v1.ControllerRevision",
		"status *v1beta1.CloneSet", "patch *v1beta1.CloneSet", "delete *v1beta1.ImagePullJob",
	} {
		if !g.seen[want] {
			t.Errorf("nothing did: %s", want)
		}
	}
}
