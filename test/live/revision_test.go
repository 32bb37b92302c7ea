package live

import "strings"

const (
	versionOne = `
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: tools-1
  namespace: kruise-system
  labels: {kruise.io/sidecarset-name: tools, apps.kruise.io/sidecarset-custom-version: v1}
revision: 1
data: {spec: {$patch: replace, containers: [{name: tool, image: "bank.test/tool:v1"}], initContainers: null}}
`
	tools = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: tools}
spec:
  selector: {matchLabels: {app: till}}
  updateStrategy: {type: NotUpdate}
  injectionStrategy: {revision: {customVersion: v1}}
  containers:
  - name: tool
    image: bank.test/tool:v2
    resourcesPolicy: {targetContainersMode: sum, targetContainersNameRegex: "^till", resourcesExpr: {limits: {cpu: "max(cpu*50%, 50m)"}}}
`
	till = `
apiVersion: v1
kind: Pod
metadata: {name: till, namespace: versions, labels: {app: till}}
spec:
  containers:
  - {name: till, image: "bank.test/till:v1", resources: {limits: {cpu: 400m}}}
  - {name: till-2, image: "bank.test/till:v1", resources: {limits: {cpu: 200m}}}
`
)

// admitted is the image and the limit of cpu of each container that a Pod of app till would have.
func (w *world) admitted() string {
	w.Helper()
	out, err := w.Try(till, "create", "--dry-run=server", "-f", "-", "-o",
		`jsonpath={range .spec.containers[*]}{.image} {.resources.limits.cpu},{end}`)
	if err != nil {
		return err.Error()
	}
	return out
}

func aPodGetsTheVersionThatItsSidecarSetAsksFor(w *world) {
	const own = "bank.test/till:v1 400m,bank.test/till:v1 200m,"
	w.Must(serviceAccounts("versions"), "apply", "-f", "-")
	w.Must(versionOne+"---"+tools, "apply", "-f", "-")
	w.Until("the older version is injected", func() bool { return w.admitted() == "bank.test/tool:v1 ,"+own })
	w.Must("", "delete", "-n", "kruise-system", "controllerrevision", "tools-1")
	w.Until("the older version is missed", func() bool {
		said := w.admitted()
		return strings.Contains(said, `SidecarSet tools: injectionStrategy.revision asks for customVersion "v1", which is not among`)
	})
	w.Must(strings.Replace(tools, "injectionStrategy: {revision: {customVersion: v1}}", "injectionStrategy: {}", 1), "replace", "-f", "-")
	w.Until("the current version is injected, with half of what the Pod has", func() bool {
		return w.admitted() == "bank.test/tool:v2 300m,"+own
	})
	w.Must("", "delete", "sidecarset", "tools")
}
