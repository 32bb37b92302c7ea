package revision

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const claimHash = "kruise.io/cloneset-volumeclaimtemplate-hash"

func read(t *testing.T, file string, list any) {
	t.Helper()
	data, err := os.ReadFile("../testdata/takeover/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, list); err != nil {
		t.Fatal(err)
	}
}

// workloads are those of a stage that have revisions of this package's shape, with their status.updateRevision.
func workloads(t *testing.T, stage string) map[string]Owner {
	t.Helper()
	owners := map[string]Owner{}
	var cloneSets v1beta1.CloneSetList
	read(t, stage+"/clonesets.v1beta1.apps.kruise.io.yaml", &cloneSets)
	for _, set := range cloneSets.Items {
		owners[set.Status.UpdateRevision] = Owner{Object: &set, Kind: kind("CloneSet"), Template: &set.Spec.Template}
	}
	var statefulSets v1beta1.StatefulSetList
	read(t, stage+"/statefulsets.v1beta1.apps.kruise.io.yaml", &statefulSets)
	for _, set := range statefulSets.Items {
		owners[set.Status.UpdateRevision] = Owner{Object: &set, Kind: kind("StatefulSet"), Template: &set.Spec.Template}
	}
	var daemonSets v1beta1.DaemonSetList
	read(t, stage+"/daemonsets.v1beta1.apps.kruise.io.yaml", &daemonSets)
	for _, set := range daemonSets.Items {
		owners[set.Name+"-"+set.Status.UpdateRevision] = Owner{
			Object: &set, Kind: kind("DaemonSet"), Template: &set.Spec.Template, HashLabel: appsv1.ControllerRevisionHashLabelKey,
		}
	}
	return owners
}

func kind(name string) schema.GroupVersionKind { return v1beta1.GroupVersion.WithKind(name) }

func history(t *testing.T, stage string, owner metav1.Object) []*appsv1.ControllerRevision {
	t.Helper()
	var all appsv1.ControllerRevisionList
	read(t, stage+"/controllerrevisions.yaml", &all)
	var own []*appsv1.ControllerRevision
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], owner) {
			own = append(own, &all.Items[i])
		}
	}
	Sort(own)
	return own
}

// TestOwnRevisionsEqualTheReferences makes each workload's revision anew, and finds it in the history that is there.
func TestOwnRevisionsEqualTheReferences(t *testing.T) {
	for _, stage := range []string{"1-created", "2-updated"} {
		owners := workloads(t, stage)
		if len(owners) < 6 {
			t.Fatalf("%s has %d workloads", stage, len(owners))
		}
		for name, owner := range owners {
			recorded := history(t, stage, owner.Object)
			newest := recorded[len(recorded)-1]
			found, err := Find(owner, recorded, 0)
			if err != nil || found.Step != Keep || found.Revision.Name != name {
				t.Errorf("%s: step %v to %s (%v), want to keep %s", stage, found.Step, found.Revision.Name, err, name)
			}
			if owner.Kind.Kind == "DaemonSet" {
				continue // its hash is of the Go types of one release, which nobody else can make; it is found by its data
			}
			made, err := Find(owner, recorded[:len(recorded)-1], 0)
			if err != nil || made.Step != Create {
				t.Fatalf("%s %s: step %v, %v", stage, name, made.Step, err)
			}
			want := newest.DeepCopy()
			want.TypeMeta = metav1.TypeMeta{}
			want.UID, want.ResourceVersion, want.CreationTimestamp, want.ManagedFields = "", "", metav1.Time{}, nil
			delete(want.Annotations, claimHash) // CloneSet's own
			delete(want.Labels, "apps.kruise.io/image-predownload-ignored")
			want.Data.Object = nil
			if len(want.Annotations) == 0 {
				want.Annotations = map[string]string{}
			}
			if diff := cmp.Diff(want, made.Revision); diff != "" {
				t.Errorf("%s %s: %s", stage, name, diff)
			}
		}
	}
}

func TestPodsAreAtTheReferencesRevisions(t *testing.T) {
	var pods corev1.PodList
	read(t, "2-updated/pods.yaml", &pods)
	at := map[string]int{}
	for name, owner := range workloads(t, "2-updated") {
		recorded := history(t, "2-updated", owner.Object)
		for i := range pods.Items {
			pod := &pods.Items[i]
			if !metav1.IsControlledBy(pod, owner.Object) {
				continue
			}
			if of := Of(pod, recorded); of == nil {
				t.Errorf("Pod %s is at no revision", pod.Name)
			} else if of.Name == name {
				at[owner.Object.GetName()]++
			}
		}
	}
	want := map[string]int{"shop": 2, "data": 2, "zones-a-fcqhf": 1, "zones-b-8vd9n": 1, "db": 2, "agent": 3}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
}
