package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	agents = `
apiVersion: apps.kruise.io/v1beta1
kind: SidecarSet
metadata: {name: agents}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: agent, image: "bank.test/agent:v1"}]
`
	elsewhere = `
apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata: {name: elsewhere}
spec:
  namespace: bank
  selector: {matchLabels: {app: web}}
  containers: [{name: other, image: "bank.test/other:v1"}]
`
	web = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: default, labels: {app: web}}
spec: {containers: [{name: web, image: "bank.test/web:v1"}]}
`
	protected = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: till, namespace: default, finalizers: [bank.test/hold], labels: {policy.kruise.io/delete-protection: Cascading}}
spec:
  replicas: 2
  selector: {matchLabels: {app: till}}
  template: {metadata: {labels: {app: till}}, spec: {containers: [{name: till, image: "bank.test/till:v1"}]}}
`
	floor = `
apiVersion: policy.kruise.io/v1beta1
kind: PodUnavailableBudget
metadata: {name: floor, namespace: default}
spec: {selector: {matchLabels: {app: web}}, minAvailable: 1}
`
)

// says fails unless the program ends with the code and prints all of the words.
func (w *world) says(stdin string, code int, args []string, words ...string) {
	w.Helper()
	out, got := w.run(stdin, args...)
	if got != code {
		w.Errorf("%v: exit %d, want %d: %s", args, got, code, out)
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.Errorf("%v: %q is not in: %s", args, word, out)
		}
	}
}

// answersAreThoseOfTheCluster compares what is said with what the API server then does.
func answersAreThoseOfTheCluster(w *world) {
	w.Must(agents, "apply", "-f", "-")
	w.Must(elsewhere, "apply", "-f", "-")
	w.Must(protected, "apply", "-f", "-")
	w.Must(floor, "apply", "-f", "-")
	w.says(web, 0, []string{"review", "-f", "-", "--live"}, "create Pod default/web-0 (stdin:2)", "mpod.kb.io: changes it", "image: bank.test/agent:v1", "=> allowed")
	w.Until("the replica knows the SidecarSet and the budget", func() bool {
		const seen = `jsonpath={.spec.containers[*].name} {.metadata.annotations.pub\.kruise\.io/related-pub}`
		return w.Must(web, "create", "--dry-run=server", "-f", "-", "-o", seen) == "agent web floor"
	})
	w.Must(web, "apply", "-f", "-")
	w.says("", 0, []string{"explain", "pod", "web-0"}, "1. agents: injects agent", "the Pod has", "elsewhere: not injected (OtherNamespace): namespace default has the label kubernetes.io/metadata.name=default",
		"budget floor, by the Pod's annotation pub.kruise.io/related-pub: the Pod is not available", "keeps its floor", "enforce")
	w.says("", 0, []string{"explain", "sidecarset", "agents", "--all"}, "Pods: 1", "default/web-0: UpToDate")
	w.Must(strings.Replace(agents, "agent:v1", "agent:v2", 1), "apply", "-f", "-")
	w.says("", 0, []string{"explain", "sidecarset", "agents"}, "Outdated: 1", "default/web-0: Outdated: the Pod has another version")
	w.says("", 2, []string{"explain", "pod", "web-9"}, `"web-9" not found`)
	w.says("", 1, []string{"explain", "deletion", "deploy/till"}, "vbuiltindeployment.kb.io: denies it", "replicas 2>0", "finalizer bank.test/hold", "=> refused")
	w.says("", 0, []string{"explain", "deletion", "sidecarset/agents"}, "no webhook of Fairlead is asked", "lets it go")
	w.says("", 2, []string{"explain", "deletion", "gizmo/x"}, `there is no kind "gizmo"`)
	w.says(protected, 1, []string{"review", "-f", "-", "--operation", "delete", "--live"}, "denies it (403 Forbidden)")
	w.says(strings.Replace(agents, "{matchLabels: {app: web}}", "{}", 1), 1, []string{"review", "-f", "-", "--operation", "update", "--live"},
		"vsidecarset.kb.io: denies it (422 Invalid)", "spec.selector")
	w.says(strings.Replace(agents, "name: agents", "name: unknown", 1), 2, []string{"review", "-f", "-", "--operation", "update", "--live"}, "review it with --operation create")
	w.says("{apiVersion: v1, kind: Gizmo, metadata: {name: x}}", 2, []string{"review", "-f", "-", "--live"}, "no such kind")
	w.says("", 3, []string{"doctor", "--server", "https://127.0.0.1:1"}, "asking the API server")
	w.Must("", "patch", "deployment", "till", "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"},{"op":"remove","path":"/metadata/labels"}]`)
	for _, object := range []string{"pod/web-0", "deployment/till", "sidecarset/agents", "sidecarset/elsewhere", "pub/floor"} {
		w.Must("", "delete", object, "--grace-period=0", "--force")
	}
}

// kubectlRunsThePlugin calls the program as kubectl does.
func kubectlRunsThePlugin(w *world) {
	dir := w.TempDir()
	for _, name := range []string{"kubectl-fairlead", "kubectl_complete-fairlead"} {
		if err := os.Symlink(w.program, filepath.Join(dir, name)); err != nil {
			w.Fatal(err)
		}
	}
	path := ""
	for _, variable := range w.Environment() {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = dir + string(os.PathListSeparator) + value
		}
	}
	w.Setenv("PATH", path)
	for _, tt := range []struct {
		args  []string
		words string
	}{
		{[]string{"fairlead", "review", "--help"}, "kubectl fairlead review -f pod.yaml"},
		{[]string{"fairlead", "doctor", "--check", "version"}, "All is well."},
		{[]string{"__complete", "fairlead", "explain", "dele"}, "deletion"},
		{[]string{"__complete", "fairlead", "explain", "sidecarset", ""}, ":4"},
	} {
		cmd := exec.CommandContext(w.Context(), "kubectl", tt.args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.words) {
			w.Errorf("kubectl %v: %v: %s", tt.args, err, out)
		}
	}
}
