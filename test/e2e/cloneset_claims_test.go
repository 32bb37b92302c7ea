//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
)

const storing = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: store}
spec:
  replicas: 2
  updateStrategy: {type: InPlaceIfPossible, maxUnavailable: 1}
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: web, image: "bank.test/web:v1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: CLASS, resources: {requests: {storage: 1Gi}}}
`

// volumes makes some of a class that no provisioner has, and takes them away at the end.
func (w cloneSets) volumes(class string, n int) {
	w.Helper()
	dir := w.TempDir()
	for i := range n {
		name := fmt.Sprintf("%s-%d", w.namespace, i)
		w.Must(fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, spec: {storageClassName: %q,
accessModes: [ReadWriteOnce], capacity: {storage: 20Gi}, persistentVolumeReclaimPolicy: Retain, hostPath: {type: DirectoryOrCreate, path: %q}}}`,
			name, class, filepath.Join(dir, name)), "apply", "-f", "-")
		w.Cleanup(func() {
			if _, err := w.Try("", "delete", "pv", name, "--wait=false"); err != nil {
				w.Error(err)
			}
		})
	}
}

// claims by name, of those that are not being deleted.
func (w cloneSets) claims() map[string]corev1.PersistentVolumeClaim {
	w.Helper()
	list := &corev1.PersistentVolumeClaimList{}
	if err := w.client.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	claims := map[string]corev1.PersistentVolumeClaim{}
	for _, c := range list.Items {
		if c.DeletionTimestamp == nil {
			claims[c.Name] = c
		}
	}
	return claims
}

// uids of the claims by name, each of which is the CloneSet's and has a Pod of the same id, and the other way round.
func (w cloneSets) uids() map[string]string {
	w.Helper()
	set, uids, pods := w.read("store"), map[string]string{}, w.pods()
	claims := w.claims()
	for name, c := range claims {
		if !metav1.IsControlledBy(&c, set) || c.Labels["app"] != "store" || c.Status.Phase != corev1.ClaimBound {
			w.Errorf("claim %s has owners %v, labels %v, phase %s", name, c.OwnerReferences, c.Labels, c.Status.Phase)
		}
		uids[name] = string(c.UID)
	}
	for _, pod := range pods {
		id := pod.Labels[v1beta1.CloneSetInstanceIDLabel]
		c, ok := claims["data-store-"+id]
		if pod.Name != "store-"+id || !ok || c.Labels[v1beta1.CloneSetInstanceIDLabel] != id {
			w.Errorf("Pod %s has id %q; the claims are %v", pod.Name, id, uids)
		}
	}
	if len(claims) != len(pods) {
		w.Errorf("there are %d claims and %d Pods", len(claims), len(pods))
	}
	return uids
}

// claimsFollowThePods: they are kept when a Pod is updated in place or deleted by someone else, whose replacement has its
// name and data, and go when the CloneSet deletes the Pod.
func claimsFollowThePods(w cloneSets) {
	w.volumes(w.namespace, 4)
	w.apply(strings.Replace(storing, "CLASS", w.namespace, 1))
	w.settled("store", inFull(2))
	first := w.uids()
	victim := w.pods()[0]
	w.exec(victim.Name, "web", "touch", "/data/mine")

	w.setImage("store", "bank.test/web:v2")
	w.settled("store", inFull(2))
	if diff := cmp.Diff(first, w.uids()); diff != "" {
		w.Errorf("claims after an update in place:\n%s", diff)
	}

	w.kubectl("delete", "pod", victim.Name)
	w.settled("store", inFull(2))
	if diff := cmp.Diff(first, w.uids()); diff != "" {
		w.Errorf("claims after a Pod was deleted by hand:\n%s", diff)
	}
	if again := w.pod(victim.Name); again.UID == victim.UID {
		w.Errorf("Pod %s was not deleted", victim.Name)
	}
	w.exec(victim.Name, "web", "test", "-f", "/data/mine")

	w.kubectl("label", "pod", victim.Name, "apps.kruise.io/specified-delete=true")
	w.until(w.gone(victim.Name))
	w.settled("store", inFull(2))
	if _, kept := w.uids()["data-"+victim.Name]; kept {
		w.Errorf("the claim of Pod %s is still there, which was asked to go", victim.Name)
	}
	if failed := w.events("FailedCreate"); failed > 0 {
		w.Errorf("%d creations failed", failed)
	}

	w.kubectl("delete", "clone", "store")
	w.until(func() string {
		if claims := w.claims(); len(claims)+len(w.pods()) > 0 {
			return fmt.Sprintf("%d claims and %d Pods outlive the CloneSet", len(claims), len(w.pods()))
		}
		return ""
	})
}

// claimsAreMadeAnew where they are not to be reused, as in v1beta1 unless one says otherwise.
func claimsAreMadeAnew(w cloneSets) {
	w.volumes(w.namespace, 3)
	w.apply(strings.NewReplacer("v1alpha1", "v1beta1", "CLASS", w.namespace,
		"{type: InPlaceIfPossible, maxUnavailable: 1}", "{rollingUpdate: {podUpdatePolicy: InPlaceIfPossible}}").Replace(storing))
	w.settled("store", inFull(2))
	victim := w.pods()[0].Name
	w.kubectl("delete", "pod", victim)
	w.settled("store", inFull(2))
	w.until(func() string {
		if len(w.claims()) != 2 {
			return fmt.Sprintf("there are %d claims, want 2", len(w.claims()))
		}
		return ""
	})
	if _, kept := w.uids()["data-"+victim]; kept {
		w.Errorf("the claim of the deleted Pod %s is still there", victim)
	}
	w.until(w.gone(victim))
	w.restsQuietly("store")
}
