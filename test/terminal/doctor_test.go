package terminal

import "strings"

// everyCheck names all checks, so that one that is added must be thought of here.
const everyCheck = "version,deployments,endpoints,anchor,configurations,certificates,serving,definitions,rights,probe,namespaces,other-webhooks,leftovers,sidecarsets,policies"

// allIsWell sees every check pass.
func allIsWell(w *world) {
	out, code := w.run("", "doctor")
	if code != 0 || !strings.HasSuffix(out, "All is well.\n") {
		w.Errorf("exit %d:\n%s", code, out)
	}
	for _, check := range strings.Split(everyCheck, ",") {
		if !strings.Contains(out, "ok      "+check) {
			w.Errorf("%s does not pass:\n%s", check, out)
		}
	}
}

// fault is something wrong, and what doctor says of it.
type fault struct {
	name, check      string
	plant, undo      func(w *world)
	severity, object string
	says             string
}

func kubectl(args ...string) func(*world) {
	return func(w *world) { w.Helper(); w.Must("", args...) }
}

func apply(text string) func(*world) {
	return func(w *world) { w.Helper(); w.Must(text, "apply", "-f", "-") }
}

func remove(text string) func(*world) {
	return func(w *world) { w.Helper(); w.Must(text, "delete", "-f", "-", "--ignore-not-found") }
}

const (
	laterWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: zz-mesh}
webhooks:
- name: inject.mesh.test
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {namespace: mesh, name: injector}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`
	openKruiseManager = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kruise-controller-manager, namespace: default}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec: {containers: [{name: manager, image: "openkruise/kruise-manager:v1.8.0", command: [/manager]}]}
`
	openKruiseDaemon = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kruise-daemon, namespace: kruise-system}
spec:
  selector: {matchLabels: {control-plane: daemon}}
  template:
    metadata: {labels: {control-plane: daemon}}
    spec: {containers: [{name: daemon, image: "mirror.test/kruise:v1.8.0", command: [/kruise-daemon]}]}
`
	openKruiseService = `
apiVersion: v1
kind: Service
metadata: {name: kruise-webhook-service, namespace: kruise-system}
spec: {ports: [{port: 443}]}
`
	openKruiseWebhooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: old-validating}
webhooks:
- name: vpod.kb.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {namespace: kruise-system, name: kruise-webhook-service}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [pods]}]
`
	unusable = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: unusable, annotations: {kruise.io/sidecarset-hash: h, kruise.io/sidecarset-hash-without-image: w}}
spec: {selector: {matchLabels: {"-": x}}}
`
	policySet = `
apiVersion: v1
kind: ConfigMap
metadata: {name: doctored, namespace: kruise-system, labels: {fairlead.io/policy: "true"}}
data:
  doctored.rego: |
    # METADATA
    # custom: {match: [{apiGroups: [""], resources: [pods]}]}
    package doctored

    deny contains "no Pod is small enough"
`
)
