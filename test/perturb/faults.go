package perturb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// Fault is something that happens at a write of the controller.
type Fault struct {
	// ID begins with its number in the list of perturbations, P1 to P20.
	ID string
	// Applies tells at which writes it makes sense.
	Applies func(*Call) bool
	Do      func(*Run, *Process, *Call) verdict
	// OtherEnd and OtherCounts tell that the end, or the numbers of objects made and deleted, need not be the same.
	OtherEnd, OtherCounts bool
}

func always(*Call) bool { return true }

func patches(c *Call) bool { return c.Verb == "patch" || c.Verb == "update" }

func creates(c *Call) bool { return c.Verb == "create" }

// variants are those of P1 to P12 that seldom find what the others do not.
var variants = []string{"P5.3", "P6.20", "P7.next", "P8.late-next", "P11.late"}

// Short are the faults P1 to P12 without the variants, so that all of them at every write of a scenario take seconds.
func Short() []Fault {
	return slices.DeleteFunc(First(), func(f Fault) bool { return slices.Contains(variants, f.ID) })
}

// First are all faults P1 to P12.
func First() []Fault {
	return slices.Concat(processes(), answers(), caches(), events(), others(), watches(), leaders())
}

func processes() []Fault {
	crash := func(rewind int) func(*Run, *Process, *Call) verdict {
		return func(r *Run, _ *Process, _ *Call) verdict {
			r.rewind = rewind
			return verdict{crash: true}
		}
	}
	return []Fault{
		{ID: "P1", Applies: always, Do: crash(0)},
		{ID: "P6.2", Applies: always, Do: crash(2)},
		{ID: "P6.20", Applies: always, Do: crash(20)},
	}
}

func answers() []Fault {
	return []Fault{
		{ID: "P2", Applies: always, Do: func(*Run, *Process, *Call) verdict { return verdict{lost: true} }},
		{ID: "P2.late", Applies: always, Do: func(*Run, *Process, *Call) verdict { return verdict{late: true} }},
		{ID: "P3.one", Applies: patches, Do: func(_ *Run, _ *Process, c *Call) verdict { return verdict{instead: conflict(c)} }},
		{ID: "P3.five", Applies: patches, Do: refuses(func(c *Call, n int) error {
			if n < 5 && patches(c) {
				return conflict(c)
			}
			return nil
		})},
		{ID: "P3.third", Applies: patches, Do: refuses(func(c *Call, n int) error {
			if n%3 == 0 && patches(c) {
				return conflict(c)
			}
			return nil
		})},
		{ID: "P4.ours", Applies: creates, Do: func(r *Run, _ *Process, c *Call) verdict {
			_ = r.server.Create(c.object.DeepCopyObject().(client.Object))
			return verdict{instead: exists(c)}
		}},
		{ID: "P4.foreign", Applies: creates, OtherCounts: true, Do: func(r *Run, _ *Process, c *Call) verdict {
			theirs := c.object.DeepCopyObject().(client.Object)
			theirs.SetOwnerReferences(nil)
			theirs.SetAnnotations(map[string]string{foreign: "true"})
			if revision, is := theirs.(*appsv1.ControllerRevision); is {
				revision.Data.Raw = []byte("{}") // with the same data it would be the parent's by right
			}
			_ = r.server.Create(theirs)
			return verdict{}
		}},
	}
}

// refuses makes later writes fail, counted from this one on.
func refuses(why func(c *Call, n int) error) func(*Run, *Process, *Call) verdict {
	return func(r *Run, _ *Process, c *Call) verdict {
		n := 0
		r.refuse = func(c *Call) error {
			n++
			return why(c, n)
		}
		return verdict{instead: why(c, 0)}
	}
}

func groupResource(c *Call) schema.GroupResource {
	return schema.GroupResource{Group: c.Key.Kind.Group, Resource: c.Key.Kind.Kind}
}

func conflict(c *Call) error {
	return apierrors.NewConflict(groupResource(c), c.Key.Name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

func exists(c *Call) error { return apierrors.NewAlreadyExists(groupResource(c), c.Key.Name) }

func caches() []Fault {
	var all []Fault
	for _, n := range []int{1, 3, 10} {
		all = append(all, Fault{ID: fmt.Sprintf("P5.%d", n), Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			r.lag = n
			return verdict{}
		}})
	}
	return append(all, Fault{ID: "P12", Applies: always, Do: func(r *Run, _ *Process, c *Call) verdict {
		r.order = rand.New(rand.NewPCG(uint64(c.Number), 12))
		return verdict{}
	}})
}

func events() []Fault {
	fatesOf := map[string][]fate{
		"P7.unnoticed": {unnoticed}, "P7.one": {vanished}, "P7.next": {arrives, vanished}, "P7.pair": {vanished, vanished},
		"P8.doubled": {doubled, doubled}, "P8.late": {late}, "P8.late-next": {arrives, late},
	}
	all := make([]Fault, 0, len(fatesOf))
	for id, fates := range fatesOf {
		all = append(all, Fault{ID: id, Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			r.fates = slices.Clone(fates)
			return verdict{}
		}})
	}
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// others delete and make again, under one name, the Pod that the write is about, or some Pod, or the parent.
func others() []Fault {
	return []Fault{
		{ID: "P9.pod", Applies: always, OtherCounts: true, Do: func(r *Run, _ *Process, c *Call) verdict {
			pod := target(r, c)
			if pod == nil {
				return verdict{}
			}
			r.remove(r.server.KeyOf(pod))
			theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, Annotations: map[string]string{foreign: "true"},
			}, Spec: *pod.Spec.DeepCopy()}
			theirs.Spec.NodeName = ""
			_ = r.server.Create(theirs)
			return verdict{}
		}},
		{ID: "P9.parent", Applies: always, OtherCounts: true, OtherEnd: true, Do: func(r *Run, _ *Process, _ *Call) verdict {
			old, err := r.server.Get(r.workload.Parent)
			if err != nil {
				return verdict{}
			}
			again := old.DeepCopyObject().(client.Object)
			again.SetResourceVersion("")
			r.remove(r.workload.Parent)
			_ = r.server.Create(again)
			return verdict{}
		}},
	}
}

// target is the Pod that a write is about, or the first that the parent controls.
func target(r *Run, c *Call) *corev1.Pod {
	parent, err := r.server.Get(r.workload.Parent)
	if err != nil {
		return nil
	}
	var first *corev1.Pod
	for _, pod := range r.server.Pods() {
		if !metav1.IsControlledBy(pod, parent) || pod.DeletionTimestamp != nil {
			continue
		}
		if r.server.KeyOf(pod) == c.Key {
			return pod
		}
		if first == nil {
			first = pod
		}
	}
	return first
}

// remove removes an object at once.
func (r *Run) remove(key apiserver.Key) {
	_ = r.server.Edit(key, func(obj client.Object) { obj.SetFinalizers(nil) })
	zero := int64(0)
	_ = r.server.Delete(key, &client.DeleteOptions{GracePeriodSeconds: &zero})
}

func watches() []Fault {
	return []Fault{
		{ID: "P10.closed", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			r.silentUntil = r.now().Add(20 * time.Second)
			return verdict{}
		}},
		{ID: "P10.gone", Applies: always, Do: func(r *Run, p *Process, _ *Call) verdict {
			for _, i := range p.informers {
				i.gone = true
			}
			return verdict{}
		}},
		{ID: "P10.away", Applies: always, Do: func(r *Run, _ *Process, c *Call) verdict {
			r.awayUntil = r.now().Add(30 * time.Second)
			r.silentUntil = r.awayUntil
			return verdict{instead: fmt.Errorf("%s: connection refused", c)}
		}},
	}
}

func leaders() []Fault {
	held := func(soon, dies bool) func(*Run, *Process, *Call) verdict {
		return func(r *Run, _ *Process, _ *Call) verdict {
			if r.former != nil {
				return verdict{}
			}
			r.letGoSoon = soon
			return verdict{held: true, dies: dies}
		}
	}
	return []Fault{
		{ID: "P11.soon", Applies: always, OtherCounts: true, Do: held(true, true)},
		{ID: "P11.late", Applies: always, OtherCounts: true, Do: held(false, true)},
		{ID: "P11.goes-on", Applies: always, OtherCounts: true, Do: held(true, false)},
	}
}
