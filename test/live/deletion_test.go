package live

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// labelsKeepWhatTheySay deletes objects of every sort, each first as a dry run. Of the controllers that a real cluster
// has, which finish Pods, bind claims and empty namespaces, the test does what matters here.
func labelsKeepWhatTheySay(w *world) {
	objects, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		w.Fatal(err)
	}
	w.Until("the namespaces have what Pods need", func() bool {
		_, err := w.Try(serviceAccounts("dp-empty"), "apply", "-f", "-")
		_, again := w.Try(string(objects), "apply", "-f", "-")
		return err == nil && again == nil
	})
	w.Must("", "patch", "pod", "finished", "-n", "dp-empty", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Succeeded"}}`)
	w.Must("", "patch", "pvc", "bound", "-n", "dp-claims", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Bound"}}`)
	w.Must("", "patch", "pvc", "waiting", "-n", "dp-empty", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Pending"}}`)
	// The webhook that defaults CloneSets is another feature's.
	w.Must("", "patch", "clone", "one", "-n", "dp-work", "--type=merge", "-p", `{"spec":{"replicas":1}}`)

	both := func(refused []string, args ...string) {
		w.Helper()
		for _, dry := range []string{"--dry-run=server", "--wait=false"} {
			all := append([]string{"delete", dry}, args...)
			if refused != nil {
				w.Refused("", all, append(refused, "ResourcesProtectionDeletion")...)
			} else if out, err := w.Try("", all...); err != nil {
				w.Errorf("%v: %s", err, out)
			}
		}
	}
	both([]string{"policy.kruise.io/delete-protection=Cascading", "Bound pvc 1>0"}, "ns", "dp-claims")
	both(nil, "ns", "dp-empty")
	both(nil, "ns", "dp-typo")
	both([]string{"Deployment dp-work/keep", "policy.kruise.io/delete-protection=Always"}, "deploy", "-l", "tier=web", "-n", "dp-work")
	w.have("deploy", "keep")
	both([]string{"CloneSet dp-work/one", "replicas 1>0"}, "clone", "one", "-n", "dp-work")
	w.Must("", "patch", "clone", "one", "-n", "dp-work", "--type=merge", "-p", `{"spec":{"replicas":0}}`)
	both(nil, "clone", "one", "-n", "dp-work")
	both([]string{"Service dp-work/front"}, "svc", "front", "back", "-n", "dp-work")
	w.have("svc", "front")
	// A collection is judged object by object.
	err = w.client.AppsV1().Deployments("dp-work").DeleteCollection(w.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "Deployment dp-work/keep") {
		w.Errorf("deleting all Deployments: %v", err)
	}
	both(nil, "ns", "dp-work")
	w.Must("", "label", "deploy", "keep", "-n", "dp-work", "policy.kruise.io/delete-protection-")
	both(nil, "deploy", "keep", "-n", "dp-work")
	w.told()
}

// have checks which objects of a kind are left.
func (w *world) have(kind, want string) {
	w.Helper()
	if got := w.Must("", "get", kind, "-n", "dp-work", "-o", "jsonpath={.items[*].metadata.name}"); got != want {
		w.Errorf("%s left: %s, want %s", kind, got, want)
	}
}

// told checks what was said of the denials: no dry run among them, and no name of a user in events or metrics.
func (w *world) told() {
	w.Helper()
	log := w.audit()
	for object, times := range map[string]int{
		`"Kind":"Namespace","Namespace":"","Name":"dp-claims"`:     1,
		`"Kind":"CloneSet","Namespace":"dp-work","Name":"one"`:     1,
		`"Kind":"Service","Namespace":"dp-work","Name":"front"`:    1,
		`"Kind":"Deployment","Namespace":"dp-work","Name":"keep"`:  2, // by name, and in the collection
		`"Kind":"Deployment","Namespace":"dp-work","Name":"lose"`:  0,
		`"Kind":"Service","Namespace":"default","Name":"canary"`:   0, // dry runs only
		`{"Event":"DeletionProtection","Kind":"Namespace","Namesp`: 1,
	} {
		if n := strings.Count(log, object); n != times {
			w.Errorf("the audit log has %d lines of %s, want %d:\n%s", n, object, times, log)
		}
	}
	w.Until("there is an event of the namespace", func() bool {
		events, err := w.client.CoreV1().Events("default").List(w.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=dp-claims"})
		if err != nil {
			w.Fatal(err)
		}
		return len(events.Items) == 1 && events.Items[0].Reason == "DeletionDenied" && strings.Contains(events.Items[0].Message, "Bound pvc 1>0")
	})
	metrics := w.scrape()
	for _, line := range []string{
		`namespace_deletion_protection{mode="Cascading"} 1`,
		`workload_deletion_protection{kind="Deployment",mode="Always"} 2`,
		`workload_deletion_protection{kind="CloneSet",mode="Cascading"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			w.Errorf("the metrics have no line %s", line)
		}
	}
}

func (w *world) scrape() string {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+w.metrics+"/metrics", http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	web := &http.Client{Timeout: 10 * time.Second}
	response, err := web.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return string(body)
}

// aLargeNamespaceIsCountedInTime has more Pods than a page.
func aLargeNamespaceIsCountedInTime(w *world) {
	const pods = 510
	w.Must("{apiVersion: v1, kind: Namespace, metadata: {name: large, labels: {policy.kruise.io/delete-protection: Cascading}}}", "apply", "-f", "-")
	w.Must(serviceAccounts("large"), "apply", "-f", "-")
	config := w.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	for i := range pods {
		_, err := client.CoreV1().Pods("large").Create(w.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", i)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "bank.test/web:v1"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			w.Fatal(err)
		}
	}
	w.Refused("", []string{"delete", "ns", "large", "--wait=false"}, "active pods 500>0 (there may be more)")
}

// aDefinitionWithObjectsStays also shows that the right to list covers kinds that nobody knew when it was given.
func aDefinitionWithObjectsStays(w *world) {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com, labels: {policy.kruise.io/delete-protection: Cascading}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	w.Must(definition, "apply", "-f", "-")
	w.Must("", "wait", "--for=condition=Established", "--timeout=60s", "crd/things.example.com")
	w.Until("things can be created", func() bool {
		_, err := w.Try("{apiVersion: example.com/v1alpha1, kind: Thing, metadata: {name: one, namespace: default}}", "apply", "-f", "-")
		return err == nil
	})
	w.Refused("", []string{"delete", "crd", "things.example.com", "--wait=false"}, "ResourcesProtectionDeletion", "active CRs 1>0")
	w.Must("", "delete", "thing", "one")
	w.Must("", "delete", "crd", "things.example.com", "--wait=false")
}

// serviceAccounts are what Pods need, which no controller manager is here to create.
func serviceAccounts(namespace string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + ", labels: {policy.kruise.io/delete-protection: Cascading}}}\n---\n" +
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: " + namespace + "}}\n"
}
