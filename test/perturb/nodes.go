package perturb

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/perturb/apiserver"
)

// Zone is the label of a node that says where it is.
const Zone = "topology.kubernetes.io/zone"

// NodeKind is the kind of nodes.
var NodeKind = corev1.SchemeGroupVersion.WithKind("Node").GroupKind()

// zones of the nodes that a run begins with.
var zones = map[string]string{"node-a": "x", "node-b": "y", "node-c": "x"}

func newNodes(server *apiserver.Server) error {
	for _, name := range []string{"node-a", "node-b", "node-c"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{Zone: zones[name]}}}
		if err := server.Create(node); err != nil {
			return err
		}
	}
	return nil
}

func (k kubelet) isSilent(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && k.now().Before(k.silent[pod.Spec.NodeName])
}

// emptiest is the node with the fewest Pods of those that take any, "" if there is none.
func (k kubelet) emptiest() (found string) {
	count := map[string]int{}
	for _, pod := range k.server.Pods() {
		count[pod.Spec.NodeName]++
	}
	for _, obj := range k.server.All(NodeKind) {
		name := obj.GetName()
		if obj.(*corev1.Node).Spec.Unschedulable || k.now().Before(k.silent[name]) {
			continue
		}
		if found == "" || count[name] < count[found] {
			found = name
		}
	}
	return found
}

// notReady is what the cluster says of Pods whose node is silent.
func notReady(r *Run, node string) {
	for _, pod := range podsOn(r, node) {
		_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) {
			r.nodes.condition(obj.(*corev1.Pod), corev1.PodReady, false)
		})
	}
}

func podsOn(r *Run, node string) Pods {
	return slices.DeleteFunc(r.server.Pods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node })
}

// nodeFaults are P16, each for the node of the Pod that a write is about, or of the first.
func nodeFaults() []Fault {
	onNode := func(do func(r *Run, node apiserver.Key)) func(*Run, *Process, *Call) verdict {
		return func(r *Run, _ *Process, c *Call) verdict {
			pod := target(r, c)
			if pod == nil || pod.Spec.NodeName == "" {
				return verdict{}
			}
			do(r, apiserver.Key{Kind: NodeKind, Name: pod.Spec.NodeName})
			return verdict{}
		}
	}
	return []Fault{
		{ID: "P16.added", Applies: always, Do: func(r *Run, _ *Process, _ *Call) verdict {
			_ = r.server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-d", Labels: map[string]string{Zone: "z"}}})
			return verdict{}
		}},
		// Its Pods are removed at once, as Pods without a node are.
		{ID: "P16.removed", Applies: always, OtherCounts: true, Do: onNode(func(r *Run, node apiserver.Key) {
			r.remove(node)
			for _, pod := range podsOn(r, node.Name) {
				r.remove(r.server.KeyOf(pod))
			}
		})},
		// Its Pods are deleted, and no new ones come.
		{ID: "P16.tainted", Applies: always, OtherCounts: true, Do: onNode(func(r *Run, node apiserver.Key) {
			_ = r.server.Edit(node, func(obj client.Object) { obj.(*corev1.Node).Spec.Unschedulable = true })
			for _, pod := range podsOn(r, node.Name) {
				_ = r.server.Delete(r.server.KeyOf(pod), &client.DeleteOptions{})
			}
		})},
		// It comes back before its Pods are deleted.
		{ID: "P16.silent", Applies: always, Do: onNode(func(r *Run, node apiserver.Key) {
			r.nodes.silent[node.Name] = r.now().Add(2 * time.Minute)
			notReady(r, node.Name)
		})},
		// It never does: they are deleted and stay.
		{ID: "P16.lost", Applies: always, OtherCounts: true, Do: onNode(func(r *Run, node apiserver.Key) {
			_ = r.server.Edit(node, func(obj client.Object) { obj.(*corev1.Node).Spec.Unschedulable = true })
			notReady(r, node.Name)
			for _, pod := range podsOn(r, node.Name) {
				_ = r.server.Edit(r.server.KeyOf(pod), func(obj client.Object) {
					metav1.SetMetaDataAnnotation(&obj.(*corev1.Pod).ObjectMeta, Stuck, "true")
				})
				_ = r.server.Delete(r.server.KeyOf(pod), &client.DeleteOptions{})
			}
		})},
		{ID: "P16.relabelled", Applies: always, Do: onNode(func(r *Run, node apiserver.Key) {
			_ = r.server.Edit(node, func(obj client.Object) { obj.SetLabels(map[string]string{Zone: "w"}) })
		})},
	}
}
