package cloneset

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/installation"
)

// The stages that were dumped of a cluster with OpenKruise.
const (
	created = "1-created"
	updated = "2-updated"
)

// dump is all objects of a stage, by file.
type dump map[string][]unstructured.Unstructured

func (w *world) dump(stage string) dump {
	w.Helper()
	root, err := installation.Root(w.Context())
	w.must(err)
	files, err := filepath.Glob(filepath.Join(root, "controllers", "podset", "testdata", "takeover", stage, "*.yaml"))
	w.must(err)
	all := dump{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		w.must(err)
		list := &unstructured.UnstructuredList{}
		data, err = yaml.YAMLToJSON(data)
		w.must(err)
		w.must(list.UnmarshalJSON(data))
		w.must(list.EachListItem(func(obj runtime.Object) error {
			kind, _, _ := strings.Cut(filepath.Base(file), ".")
			all[kind] = append(all[kind], *obj.(*unstructured.Unstructured)) //nolint:forcetypeassert // of an unstructured list
			return nil
		}))
	}
	if len(all) < 15 {
		w.Fatalf("stage %s has the kinds %v", stage, slices.Sorted(maps.Keys(all)))
	}
	return all
}

// owned tells in what order to create: owners come before what they own.
var owned = []string{"daemonsets", "statefulsets", "broadcastjobs", "clonesets", "replicasets", "controllerrevisions", "sidecarset-controllerrevisions", "persistentvolumeclaims", "pods"}

// loaded is where the objects of a dump are here.
type loaded struct {
	namespace string
	// uids of the owners, which the API server gives anew.
	uids map[types.UID]types.UID
	// kinds are all that were loaded.
	kinds map[string]*unstructured.UnstructuredList
}

// load creates all objects of a dump in a namespace, owned by each other as they were.
func (w *world) load(all dump) *loaded {
	w.Helper()
	l := &loaded{namespace: w.namespace("takeover"), uids: map[types.UID]types.UID{}, kinds: map[string]*unstructured.UnstructuredList{}}
	files := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return slices.Index(owned, a) - slices.Index(owned, b) })
	for _, file := range files {
		for i := range all[file] {
			w.loadOne(l, all[file][i].DeepCopy())
		}
	}
	return l
}

func (w *world) loadOne(l *loaded, obj *unstructured.Unstructured) {
	w.Helper()
	old, generation, status := obj.GetUID(), obj.GetGeneration(), obj.Object["status"]
	refs := obj.GetOwnerReferences()
	for i := range refs {
		if l.uids[refs[i].UID] == "" {
			w.Fatalf("%s %s belongs to %s %s, which was not loaded", obj.GetKind(), obj.GetName(), refs[i].Kind, refs[i].Name)
		}
		refs[i].UID = l.uids[refs[i].UID]
	}
	obj.SetOwnerReferences(refs)
	if obj.GetNamespace() != "" {
		obj.SetNamespace(l.namespace)
	}
	obj.SetUID("")
	obj.SetResourceVersion("")
	obj.SetManagedFields(nil)
	edited := obj.GetKind() == "CloneSet" && generation > 1
	spec := obj.DeepCopy().Object["spec"]
	if edited {
		w.must(unstructured.SetNestedField(obj.Object, int64(otherLimit), "spec", "revisionHistoryLimit"))
	}
	w.must(client.IgnoreAlreadyExists(w.Create(w.Context(), obj)))
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(obj), obj)) // what is of the cluster may be of the dump before
	if edited {
		w.reach(obj, generation, spec)
	}
	if status != nil && obj.GetKind() != "ControllerRevision" {
		obj.Object["status"] = status
		w.must(w.Status().Update(w.Context(), obj))
	}
	l.uids[old] = obj.GetUID()
	kind := obj.GroupVersionKind()
	if l.kinds[kind.Kind] == nil {
		l.kinds[kind.Kind] = &unstructured.UnstructuredList{}
		kind.Kind += "List"
		l.kinds[obj.GetKind()].SetGroupVersionKind(kind)
	}
}

// reach edits a CloneSet until it is at the generation that it was at: its status says which one it is of.
func (w *world) reach(obj *unstructured.Unstructured, generation int64, spec any) {
	w.Helper()
	for obj.GetGeneration() < generation {
		if obj.GetGeneration() == generation-1 {
			obj.Object["spec"] = spec
		} else {
			w.must(unstructured.SetNestedField(obj.Object, otherLimit+obj.GetGeneration(), "spec", "revisionHistoryLimit"))
		}
		w.must(w.Update(w.Context(), obj))
	}
}

// otherLimit is none that the dumps have, to begin a CloneSet with that has been edited.
const otherLimit = 100

// versions are the resource versions of all that was loaded and of what was made since, by kind and name. What wrote
// anything changed one.
func (w *world) versions(l *loaded) map[string]string {
	w.Helper()
	all := map[string]string{}
	for kind, list := range l.kinds {
		list = list.DeepCopy()
		w.must(w.List(w.Context(), list))
		for i := range list.Items {
			if obj := &list.Items[i]; obj.GetNamespace() == l.namespace || obj.GetNamespace() == "" {
				all[kind+" "+obj.GetName()] = obj.GetResourceVersion()
			}
		}
	}
	return all
}

// byName has the Pods by their names.
func byName(pods []corev1.Pod) map[string]corev1.Pod {
	all := map[string]corev1.Pod{}
	for _, pod := range pods {
		all[pod.Name] = pod
	}
	return all
}
