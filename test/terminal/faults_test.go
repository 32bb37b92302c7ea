package terminal

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/certs"
	"github.com/fairlead-io/fairlead/webhook/table"
)

const (
	mutating   = "mutatingwebhookconfiguration/" + table.MutatingName
	validating = "validatingwebhookconfiguration/" + table.ValidatingName
)

// changed is an object that a plan changes, or deletes, and puts back.
func changed(object string, change func(*world)) (plant, undo func(*world)) {
	var saved map[string]any
	plant = func(w *world) {
		w.Helper()
		if err := json.Unmarshal([]byte(w.Must("", "get", object, "-n", namespace, "-o", "json")), &saved); err != nil {
			w.Fatal(err)
		}
		change(w)
	}
	undo = func(w *world) {
		w.Helper()
		metadata := saved["metadata"].(map[string]any)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		verb := "create"
		if version, err := w.Try("", "get", object, "-n", namespace, "-o", "jsonpath={.metadata.resourceVersion}"); err == nil {
			metadata["resourceVersion"], verb = version, "replace"
		}
		text, err := json.Marshal(saved)
		if err != nil {
			w.Fatal(err)
		}
		w.Must(string(text), verb, "-f", "-")
	}
	return plant, undo
}

// changing makes a fault of a change.
func changing(f fault, object string, change func(*world)) fault {
	f.plant, f.undo = changed(object, change)
	return f
}

func patch(object, kind, text string) func(*world) {
	return kubectl("patch", object, "-n", namespace, "--type="+kind, "-p", text)
}

// expired is a CA whose time is over.
func expired(w *world) string {
	w.Helper()
	source, err := certs.SelfSigned([]string{"x"}, past{})
	if err != nil {
		w.Fatal(err)
	}
	return string(source.Bundle())
}

// past is a clock that is far behind.
type past struct{ clock.RealClock }

func (p past) Now() time.Time { return p.RealClock.Now().AddDate(-30, 0, 0) }

func quoted(w *world, text string) string {
	w.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		w.Fatal(err)
	}
	return string(encoded)
}

// impostor serves, where the replica did, a certificate that nobody trusts.
func impostor() (plant, undo func(*world)) {
	var listener net.Listener
	plant = func(w *world) {
		w.Helper()
		source, err := certs.SelfSigned([]string{"127.0.0.1"}, clock.RealClock{})
		if err != nil {
			w.Fatal(err)
		}
		if listener, err = tls.Listen("tcp", w.address, &tls.Config{GetCertificate: source.GetCertificate}); err != nil {
			w.Fatal(err)
		}
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				_ = connection.(*tls.Conn).Handshake()
				_ = connection.Close()
			}
		}()
	}
	return plant, func(*world) { _ = listener.Close() }
}

func faults(w *world) []fault {
	secret := "secret/kruise-webhook-certs"
	served, withdrawn := impostor()
	return []fault{
		{name: "no replica is ready", check: "deployments", plant: func(w *world) { w.ready("kruise-webhook", 0) }, undo: func(w *world) { w.ready("kruise-webhook", 2) },
			severity: "error", object: "Deployment kruise-system/kruise-webhook", says: "none of its 2 replicas is ready"},
		{name: "one replica is away", check: "deployments", plant: func(w *world) { w.ready("kruise-controller-manager", 1) }, undo: func(w *world) { w.ready("kruise-controller-manager", 2) },
			severity: "warning", object: "Deployment kruise-system/kruise-controller-manager", says: "1 of 2"},
		changing(fault{name: "no Deployment", check: "deployments", severity: "error", object: "kruise-controller-manager", says: "does not exist"},
			"deployment/kruise-controller-manager", kubectl("delete", "deployment", "kruise-controller-manager", "-n", namespace)),
		changing(fault{name: "no endpoint", check: "endpoints", severity: "error", object: "Service kruise-system/kruise-admission", says: "no ready endpoint"},
			"deployment/kruise-webhook", kubectl("set", "env", "-n", namespace, "deployment/kruise-webhook", "WEBHOOK_HOST-")),
		changing(fault{name: "no anchor", check: "anchor", severity: "error", object: "kruise-anchor", says: "does not exist"},
			"validatingwebhookconfiguration/kruise-anchor", kubectl("delete", "validatingwebhookconfiguration", "kruise-anchor")),
		changing(fault{name: "a failure policy", check: "configurations", severity: "warning", object: table.MutatingName, says: "webhook mpod.kb.io: FailurePolicy"},
			mutating, patch(mutating, "json", `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)),
		changing(fault{name: "an entry is missing", check: "configurations", severity: "error", object: table.ValidatingName, says: "is missing"},
			validating, patch(validating, "json", `[{"op":"remove","path":"/webhooks/0"}]`)),
		changing(fault{name: "no configuration", check: "configurations", severity: "error", object: table.MutatingName, says: "does not exist"},
			mutating, kubectl("delete", mutating)),
		changing(fault{name: "no Secret", check: "certificates", severity: "error", object: "Secret kruise-system/kruise-webhook-certs", says: "does not exist"},
			secret, kubectl("delete", secret, "-n", namespace)),
		changing(fault{name: "an empty Secret", check: "certificates", severity: "error", object: "Secret", says: "has no ca-cert.pem"},
			secret, patch(secret, "json", `[{"op":"remove","path":"/data/ca-cert.pem"}]`)),
		changing(fault{name: "an expired CA", check: "certificates", severity: "error", object: "Secret", says: "expired at"},
			secret, patch(secret, "merge", `{"stringData":{"ca-cert.pem":`+quoted(w, expired(w))+`}}`)),
		changing(fault{name: "a CA that is none", check: "certificates", severity: "error", object: "Secret", says: "cannot be read"},
			secret, patch(secret, "merge", `{"stringData":{"ca-cert.pem":"x"}}`)),
		changing(fault{name: "another caBundle", check: "certificates", severity: "error", object: table.MutatingName, says: "caBundle lacks the CA of the service: mpod.kb.io"},
			mutating, patch(mutating, "json", `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)),
		{name: "a certificate that nobody trusts", check: "serving", plant: served, undo: withdrawn, severity: "error", object: "replica " + w.address, says: "is not trusted by caBundle"},
		changing(fault{name: "no definition", check: "definitions", severity: "error", object: "broadcastjobs.apps.kruise.io", says: "does not exist"},
			"crd/broadcastjobs.apps.kruise.io", kubectl("delete", "crd", "broadcastjobs.apps.kruise.io")),
		changing(fault{name: "no conversion", check: "definitions", severity: "error", object: "clonesets.apps.kruise.io", says: "does not lead to kruise-conversion"},
			"crd/clonesets.apps.kruise.io", patch("crd/clonesets.apps.kruise.io", "merge", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)),
		{name: "an old version is stored", check: "definitions", plant: storedAs(`["v1alpha1","v1beta1"]`), undo: storedAs(`["v1beta1"]`),
			severity: "warning", object: "clonesets.apps.kruise.io", says: "may be stored as v1alpha1, v1beta1"},
		changing(fault{name: "rights of the service", check: "rights", severity: "error", object: "ServiceAccount kruise-system/kruise-webhook", says: "may not get, list, watch sidecarsets.apps.kruise.io"},
			"clusterrolebinding/kruise-webhook-rolebinding", kubectl("delete", "clusterrolebinding", "kruise-webhook-rolebinding")),
		changing(fault{name: "rights of the controllers", check: "rights", severity: "error", object: "ServiceAccount kruise-system/kruise-manager", says: "may not patch pods/status"},
			"clusterrolebinding/kruise-manager-rolebinding", kubectl("delete", "clusterrolebinding", "kruise-manager-rolebinding")),
		changing(fault{name: "a namespace is left out", check: "namespaces", severity: "warning", object: table.MutatingName, says: "it also leaves out default"},
			mutating, patch(mutating, "json", `[{"op":"add","path":"/webhooks/0/namespaceSelector/matchExpressions/0/values/-","value":"default"}]`)),
		{name: "a webhook after ours", check: "other-webhooks", plant: apply(laterWebhook), undo: remove(laterWebhook), severity: "info", object: "zz-mesh", says: "inject.mesh.test changes Pods after"},
		{name: "another manager", check: "leftovers", plant: apply(openKruiseManager), undo: remove(openKruiseManager), severity: "error", object: "Deployment default/kruise-controller-manager", says: "another implementation"},
		{name: "another daemon", check: "leftovers", plant: apply(openKruiseDaemon), undo: remove(openKruiseDaemon), severity: "error", object: "DaemonSet kruise-system/kruise-daemon", says: "another implementation"},
		{name: "another Service", check: "leftovers", plant: apply(openKruiseService), undo: remove(openKruiseService), severity: "warning", object: "Service kruise-system/kruise-webhook-service", says: "another installation"},
		{name: "other webhooks", check: "leftovers", plant: apply(openKruiseWebhooks), undo: remove(openKruiseWebhooks), severity: "error", object: "old-validating", says: "vpod.kb.io"},
		changing(fault{name: "conversion by another Service", check: "leftovers", severity: "error", object: "clonesets.apps.kruise.io", says: "leads to Service kruise-system/kruise-webhook-service"},
			"crd/clonesets.apps.kruise.io", patch("crd/clonesets.apps.kruise.io", "merge",
				`{"spec":{"conversion":{"webhook":{"clientConfig":{"url":null,"service":{"namespace":"kruise-system","name":"kruise-webhook-service","path":"/convert"}}}}}}`)),
		changing(fault{name: "a SidecarSet that cannot be used", check: "sidecarsets", severity: "error", object: "SidecarSet", says: "unusable"},
			validating, func(w *world) {
				w.Must("", "delete", validating)
				w.Must("", "patch", mutating, "--type=json", "-p", `[{"op":"replace","path":"/webhooks/1/failurePolicy","value":"Ignore"}]`)
				w.Must(unusable, "apply", "-f", "-")
			}),
		{name: "a set of policies that nobody has taken in", check: "policies", plant: apply(policySet), undo: remove(policySet),
			severity: "warning", object: "ConfigMap kruise-system/doctored", says: "no status"},
		{name: "a set of policies that nobody is asked about", check: "policies", plant: apply(policySet), undo: remove(policySet),
			severity: "error", object: table.PoliciesName, says: "does not exist"},
	}
}

func storedAs(versions string) func(*world) {
	return kubectl("patch", "crd/clonesets.apps.kruise.io", "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":`+versions+`}}`)
}

// faultsAreFound plants each fault while no replica runs that would put it right, sees it found, and gone again.
func faultsAreFound(w *world) {
	w.stop()
	for _, f := range append(faults(w), fault{
		name: "no replica answers", check: "probe", plant: func(*world) {}, severity: "error", object: "Namespace kruise-daemon-config", says: "mpod.kb.io",
	}) {
		if f.undo != nil && w.finds(f) {
			w.Errorf("%s is found before it is there", f.name)
		}
		f.plant(w)
		if !w.finds(f) {
			w.Errorf("%s: not found in %+v", f.name, w.doctor(f.check))
		}
		if f.undo == nil {
			continue
		}
		f.undo(w)
		if f.name == "a SidecarSet that cannot be used" {
			w.Must("", "delete", "sidecarset", "unusable")
		}
		if w.finds(f) {
			w.Errorf("%s is found after it is gone", f.name)
		}
	}
	rightsOfThePerson(w)
	w.ready("kruise-controller-manager", 2) // it was made anew, and a new one has no status
	w.serve()
	w.Until("all is well again", func() bool {
		out, code := w.run("", "doctor")
		return code == 0 && strings.HasSuffix(out, "All is well.\n")
	})
}

func (w *world) finds(f fault) bool {
	w.Helper()
	for _, found := range w.doctor(f.check) {
		if found.Check == f.check && found.Severity == f.severity && strings.Contains(found.Object, f.object) && strings.Contains(found.Message, f.says) {
			if f.severity != "info" && found.Means == "" {
				w.Errorf("%s: it is not said what it means: %+v", f.name, found)
			}
			return true
		}
	}
	return false
}

// rightsOfThePerson sees that who may not look learns just that, and that it is no fault of the installation.
func rightsOfThePerson(w *world) {
	var lines []string
	for _, f := range w.doctor("rights,certificates,leftovers", "--as", "somebody") {
		if f.Severity != "info" {
			w.Errorf("%+v", f)
		}
		lines = append(lines, f.Message)
	}
	said := strings.Join(lines, "\n")
	for _, words := range []string{"you may not ask what the service accounts may do", "cannot look"} {
		if !strings.Contains(said, words) {
			w.Errorf("%q is not said: %s", words, said)
		}
	}
}
