package terminal

import "strings"

const smallPod = `
apiVersion: v1
kind: Pod
metadata: {name: small, namespace: default}
spec: {containers: [{name: web, image: "bank.test/web:v1"}]}
`

// policiesOfUsersAreAsked sees a review say what the API server says, with what a set sees of the cluster, and doctor look at the set.
func policiesOfUsersAreAsked(w *world) {
	set := strings.Replace(policySet, "no Pod is small enough", "no Pod is small enough\"\n\n    warn contains sprintf(\"%d Service\", [count(known)]) if true\n\n"+
		"    known contains name if some name, _ in data.inventory.namespace[input.request.namespace].v1.Service\n\n"+
		"    dryrun contains \"noted", 1) + "  settings.yaml: |\n    inventory: [{group: '', version: v1, resource: services}]\n"
	w.Must(set, "apply", "-f", "-")
	w.says(smallPod, 1, []string{"review", "-f", "-", "--live"}, "doctored.policies.fairlead.io: denies it (403 Forbidden): the policies of doctored forbid this: doctored.deny: no Pod is small enough",
		"warning: doctored: doctored.warn: 1 Service", "=> refused")
	w.Until("the API server says so", func() bool {
		_, err := w.Try(smallPod, "create", "--dry-run=server", "-f", "-")
		return err != nil && strings.Contains(err.Error(), "no Pod is small enough")
	})
	// The admission service may not list Services with these values, which doctor tells; and the probe is refused.
	w.Until("doctor says what is wrong", func() bool {
		found := w.doctor("policies,probe")
		return w.tells(found, "policies", "ConfigMap kruise-system/doctored", "the inventory lacks") &&
			w.tells(found, "probe", "Namespace kruise-daemon-config", "the set doctored of users' policies refuses a dry-run Pod")
	})
	w.Must(set, "delete", "-f", "-")
	w.Until("all is well again", func() bool {
		_, code := w.run("", "doctor", "--check", "policies,probe,certificates")
		return code == 0
	})
}

// tells says whether there is such a finding.
func (w *world) tells(found []finding, check, object, says string) bool {
	w.Helper()
	for _, f := range found {
		if f.Check == check && f.Object == object && strings.Contains(f.Message, says) && f.Cure != "" {
			return true
		}
	}
	return false
}
