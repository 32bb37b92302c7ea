package userpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// All of what an exemption names must hold, of each list one element, and only until it ends.
func TestExemptions(t *testing.T) {
	for name, c := range map[string]struct {
		exemption string
		want      int // violations that are left of two
		exempt    int // and those that are told of as exempt
	}{
		"nobody":                      {"", 2, 0},
		"the user":                    {"{users: [bob, ada]}", 0, 0},
		"another user":                {"{users: [bob]}", 2, 0},
		"a group":                     {"{groups: [dev]}", 0, 0},
		"another group":               {"{groups: [ops]}", 2, 0},
		"the namespace":               {"{namespaces: [shop]}", 0, 0},
		"another namespace":           {"{namespaces: [bank]}", 2, 0},
		"the user elsewhere":          {"{users: [ada], namespaces: [bank]}", 2, 0},
		"the user here":               {"{users: [ada], namespaces: [shop]}", 0, 0},
		"a rule":                      {"{users: [ada], rules: [registry]}", 1, 1},
		"a rule without an id":        {"{users: [ada], rules: [images.warn]}", 1, 1},
		"a rule of another user":      {"{users: [bob], rules: [registry]}", 2, 0},
		"not over yet":                {"{users: [ada], until: '2026-03-01T12:00:01Z'}", 0, 0},
		"over":                        {"{users: [ada], until: '2026-03-01T12:00:00Z'}", 2, 0},
		"over, in another time zone":  {"{users: [ada], until: '2026-03-01T12:30:00+01:00'}", 2, 0},
		"an account of the same name": {"{serviceAccounts: ['shop:ada']}", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decide(t, imageSet(t, "exemptions: ["+c.exemption+"]\n"), pod("evil/x:latest"))
			if len(decision.Violations) != c.want || len(decision.Exempt) != c.exempt {
				t.Errorf("left are %v, exempt %v", decision.Violations, decision.Exempt)
			}
		})
	}
	account := pod("evil/x:1")
	account.UserInfo = admission.UserInfo{Username: "system:serviceaccount:ci:deployer"}
	if decision := decide(t, imageSet(t, "exemptions: [{serviceAccounts: ['ci:deployer']}]\n"), account); !decision.Allowed() {
		t.Errorf("the service account is not exempt: %v", decision)
	}
}

// Nothing that a request's object has makes an exemption.
func TestObjectsExemptNothing(t *testing.T) {
	s := imageSet(t, "exemptions: [{users: [bob], namespaces: [bank]}]\n")
	req := pod("evil/x:1")
	req.Object = []byte(strings.Replace(string(req.Object), `"spec"`,
		`"metadata":{"namespace":"bank","labels":{"fairlead.io/exempt":"true"},"annotations":{"exemptions":"[{users: [ada]}]"}},"spec"`, 1))
	if decide(t, s, req).Allowed() {
		t.Error("the object exempted itself")
	}
}

// By these a cluster lives; what stands beside them is judged.
func TestWhatKeepsAClusterAliveIsLeftOut(t *testing.T) {
	for resource, out := range map[string]bool{
		"/nodes": true, "/nodes/status": true, "/events": true, "/endpoints": true, "/bindings": true, "/pods/binding": true,
		"/pods/status": true, "/serviceaccounts/token": true, "coordination.k8s.io/leases": true, "events.k8s.io/events": true,
		"discovery.k8s.io/endpointslices": true, "certificates.k8s.io/certificatesigningrequests": true,
		"certificates.k8s.io/certificatesigningrequests/approval": true, "storage.k8s.io/csinodes": true,
		"storage.k8s.io/volumeattachments": true, "storage.k8s.io/volumeattachments/status": true, "apiregistration.k8s.io/apiservices": true,
		"flowcontrol.apiserver.k8s.io/flowschemas": true, "authorization.k8s.io/subjectaccessreviews": true,
		"resource.k8s.io/resourceslices": true, "networking.k8s.io/ipaddresses": true, "resource.k8s.io/resourceclaims/status": true,

		"/pods": false, "/pods/eviction": false, "/pods/resize": false, "/pods/exec": false, "/serviceaccounts": false, "/services": false,
		"apps/nodes": false, "storage.k8s.io/storageclasses": false, "resource.k8s.io/resourceclaims": false,
		"networking.k8s.io/networkpolicies": false, "rbac.authorization.k8s.io/clusterroles": false,
	} {
		group, name, _ := strings.Cut(resource, "/")
		name, sub, _ := strings.Cut(name, "/")
		req := &admission.Request{Namespace: "shop", Resource: metav1.GroupVersionResource{Group: group, Version: "v1", Resource: name}, SubResource: sub}
		if got := (Installation{Namespace: "kruise-system"}).Excluded(req); got != out {
			t.Errorf("%s is left out: %v, want %v", resource, got, out)
		}
	}
	roles := &admission.Request{Resource: metav1.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}}
	roles.UserInfo.Username = "system:apiserver"
	if !(Installation{Namespace: "kruise-system"}).Excluded(roles) {
		t.Error("what the API server itself makes is judged")
	}
}

// A name in what a rule says is for people: it may come from the request.
func TestNamesThatRulesSayExemptNothing(t *testing.T) {
	const head = "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [''], resources: [pods]}]}\npackage a\n\n"
	for name, rego := range map[string]string{
		"chosen":      `deny contains {"rule": input.request.object.metadata.name, "message": "x"}`,
		"put in":      `deny contains object.union({"rule": "hard", "message": "x"}, json.unmarshal(input.request.object.metadata.annotations.said))`,
		"another's":   "# METADATA\n# custom: {id: soft}\nwarn contains \"y\" if false\n" + `deny contains {"rule": input.request.object.metadata.name, "message": "x"}`,
		"even if not": `deny contains {"rule": "soft", "message": "x"}`,
	} {
		req := pod("x:1")
		req.Object = []byte(`{"metadata":{"name":"soft","annotations":{"said":"{\"rule\":\"soft\"}"}}}`)
		decision := decide(t, set(t, map[string]string{"a.rego": head + rego, SettingsFile: "exemptions: [{users: [ada], rules: [soft]}]\n"}), req)
		if decision.Allowed() || len(decision.Exempt) > 0 || decision.Violations[0].Rule != "soft" {
			t.Errorf("%s: left are %v, exempt %v", name, decision.Violations, decision.Exempt)
		}
	}
}

func TestEnforcementCapsWhatRulesDo(t *testing.T) {
	for enforcement, want := range map[Action][]Action{
		"":     {Deny, Warn},
		Deny:   {Deny, Warn},
		Warn:   {Warn, Warn},
		DryRun: {DryRun, DryRun},
	} {
		settings := ""
		if enforcement != "" {
			settings = "enforcement: " + string(enforcement) + "\n"
		}
		decision := decide(t, imageSet(t, settings), pod("evil/x:latest"))
		for i, action := range want {
			if decision.Violations[i].Action != action {
				t.Errorf("%q: %v, want %v", enforcement, decision.Violations, want)
			}
		}
		if decision.Allowed() != (want[0] != Deny) {
			t.Errorf("%q: allowed is %v", enforcement, decision.Allowed())
		}
	}
}

func TestUnknownRulesInExemptionsAreTold(t *testing.T) {
	warnings := imageSet(t, "exemptions: [{users: [ada], rules: [registry, tagged]}]\n").Warnings()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tagged") {
		t.Errorf("warnings %q", warnings)
	}
}

// The API server converts what it asks about only if no match is of the version that a request comes in.
func TestVersionsThatPassARuleAreTold(t *testing.T) {
	const narrow, wide = `{apiGroups: [apps.kruise.io], apiVersions: [v1beta1], resources: [clonesets]}`, `{apiGroups: ["*"], resources: ["*"]}`
	module := func(name, match, own string) string {
		return "# METADATA\n# scope: package\n# custom: {match: [" + match + "]}\npackage " + name + "\n\n# METADATA\n# custom: {id: " + name + "-rule" + own + "}\ndeny contains \"x\" if true\n"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one version":     {map[string]string{"a.rego": module("a", narrow, "")}, nil},
		"another package": {map[string]string{"a.rego": module("a", narrow, ""), "b.rego": module("b", wide, "")}, []string{"a-rule"}},
		"a rule's own":    {map[string]string{"b.rego": module("b", wide, ", match: ["+narrow+"]")}, []string{"b-rule"}},
		"other resources": {map[string]string{"a.rego": module("a", narrow, ""), "b.rego": module("b", `{apiGroups: [apps], resources: [deployments]}`, "")}, nil},
		"both versions": {map[string]string{
			"a.rego": module("a", `{apiGroups: [apps.kruise.io], apiVersions: [v1beta1, v1alpha1], resources: [clonesets]}`, ""),
			"b.rego": module("b", `{apiGroups: [apps.kruise.io], apiVersions: [v1alpha1], resources: [clonesets]}`, ""),
		}, []string{"b-rule"}},
		"Pods": {map[string]string{"a.rego": module("a", `{apiGroups: [""], apiVersions: [v1], resources: [pods]}`, ""), "b.rego": module("b", wide, "")}, nil},
	} {
		var got []string
		for _, warning := range set(t, c.files).Warnings() {
			rule, _, _ := strings.Cut(warning, " is asked about ")
			got = append(got, rule)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
