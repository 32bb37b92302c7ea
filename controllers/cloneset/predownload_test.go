package cloneset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/controllers/podset/inplace"
)

func (w *world) jobs() []v1beta1.ImagePullJob {
	w.Helper()
	list := &v1beta1.ImagePullJobList{}
	w.must(w.List(w.Context(), list, client.InNamespace("ns")))
	return list.Items
}

func TestImagesArePulledAhead(t *testing.T) {
	w := newWorld(t, replicas(4), inPlace, limits("0", "1", "0"))
	w.reconciler.PreDownload = true
	w.settle()
	if n := len(w.jobs()); n != 0 {
		t.Fatalf("%d jobs before an update", n)
	}
	w.eventsNow()
	w.edit(image("web:2"))
	w.sync()
	w.sync()
	jobs := w.jobs()
	update := w.set().Status.UpdateRevision
	if len(jobs) != 1 || jobs[0].Name != update+"-main" || jobs[0].Spec.Image != "web:2" {
		t.Fatalf("jobs are %+v", jobs)
	}
	for _, r := range w.revisions() {
		if created := r.Labels["apps.kruise.io/pre-predownload-created"] == "true"; created != (r.Name == update) {
			t.Errorf("revision %s is labelled %v", r.Name, r.Labels)
		}
	}
	if !slices.ContainsFunc(w.eventsNow(), func(e string) bool { return strings.HasPrefix(e, "Normal CreatedImagePullJob ") }) {
		t.Error("no event tells of the job")
	}
	w.settle()
	w.sync()
	if n := len(w.jobs()); n != 0 || w.byImage()["web:2"] != 4 {
		t.Errorf("%d jobs after the update of %v", n, w.byImage())
	}
	// What recreates anyway is decided once, too.
	w.edit(resources)
	w.settle()
	writes := len(w.writes)
	w.sync()
	if n := len(w.jobs()); n != 0 || len(w.writes) != writes {
		t.Errorf("%d jobs, then %v", n, w.writes[writes:])
	}
}

// TestNoDownloadStopsASync has each call fail that is made for the jobs, and a current revision that nobody can read.
func TestNoDownloadStopsASync(t *testing.T) {
	refuse := func(verb, kind string) func(*world) {
		return func(w *world) {
			w.fail = func(v string, obj client.Object) error {
				if v == verb && strings.HasSuffix(fmt.Sprintf("%T", obj), kind) {
					return errors.New("no")
				}
				return nil
			}
		}
	}
	for name, spoil := range map[string]func(*world){
		"creating": refuse("create", ".ImagePullJob"), "deleting": refuse("delete", ".ImagePullJob"), "marking": refuse("patch", ".ControllerRevision"),
		"listing": func(w *world) {
			unlisted := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, isJobs := list.(*v1beta1.ImagePullJobList); isJobs {
					return context.DeadlineExceeded
				}
				return c.List(ctx, list, opts...)
			}}
			w.reconciler.Client = interceptor.NewClient(w.Client.(client.WithWatch), unlisted)
			w.reconciler.Live = w.reconciler.Client
		},
		"reading the revision": func(w *world) {
			r := w.revisions()[0]
			r.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":7}}}}`)
			w.must(w.Update(w.Context(), &r))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, replicas(4), inPlace, limits("0", "1", "0"))
			w.reconciler.PreDownload = true
			w.settle()
			spoil(w)
			w.edit(image("web:2"))
			w.eventsNow()
			w.syncs(20)
			status := w.set().Status
			if w.byImage()["web:2"] != 4 || status.AvailableReplicas != 4 || len(status.Conditions) > 0 {
				t.Errorf("images are %v, the status %+v", w.byImage(), status)
			}
			if told := slices.ContainsFunc(w.eventsNow(), func(e string) bool { return strings.HasPrefix(e, "Normal FailedCreateImagePullJob ") }); told != (name == "creating") {
				t.Errorf("an event tells of the failure: %v", told)
			}
		})
	}
}

// TestAJobThatWasRefusedIsNotTriedAgain is that the decision is made once for a revision.
func TestAJobThatWasRefusedIsNotTriedAgain(t *testing.T) {
	w := newWorld(t, replicas(4), inPlace, limits("3", "1", "0"))
	w.reconciler.PreDownload = true
	w.settle()
	w.refuseJobs()
	w.edit(image("web:2"))
	w.settle()
	w.fail = nil
	w.edit(limits("2", "1", "0"))
	w.settle()
	if n := len(w.jobs()); n > 0 {
		t.Errorf("%d jobs of a revision that was decided about", n)
	}
}

func (w *world) refuseJobs() {
	w.fail = func(verb string, obj client.Object) error {
		if _, isJob := obj.(*v1beta1.ImagePullJob); isJob && verb == "create" {
			return errors.New("no")
		}
		return nil
	}
}

func TestResourcesInPlace(t *testing.T) {
	for resize, want := range map[bool]bool{true: true, false: false} {
		w := newWorld(t, replicas(1), inPlace, func(s *cloneSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
		})
		w.reconciler.InPlace = inplace.Options{Resources: true}
		w.reconciler.Server.Resize = resize
		w.settle()
		w.writes = nil
		w.edit(func(s *cloneSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
		})
		w.settle()
		pods := w.pods()
		cpu := pods[0].Spec.Containers[0].Resources.Requests["cpu"]
		if got := slices.Contains(w.writes, "resize Pod"); got != want || cpu.String() != "2" || pods[0].Name != "web-id001" || w.set().Status.AvailableReplicas != 1 {
			t.Errorf("resize %v: writes %v, cpu %s of %s", resize, w.writes, cpu.String(), pods[0].Name)
		}
		if slices.Contains(w.writes, "status Pod") {
			t.Errorf("more CPU takes the Pod out of service: %v", w.writes)
		}
	}
}

func TestRecreatedPodsGetTheirOwnRevision(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(image("web:2"))
	w.settle()
	labels := map[string]int{}
	for _, pod := range w.pods() {
		labels[pod.Labels["controller-revision-hash"]]++
	}
	if diff := cmp.Diff(map[string]int{w.set().Status.UpdateRevision: 3}, labels); diff != "" {
		t.Error(diff)
	}
}
