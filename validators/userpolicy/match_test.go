package userpolicy

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

func match(groups, resources []string, operations ...admissionv1.OperationType) Match {
	return Match{APIGroups: groups, Resources: resources, Operations: operations}.withDefaults()
}

func TestMatchCoversAsTheAPIServerDoes(t *testing.T) {
	core, apps, every := []string{""}, []string{"apps"}, []string{"*"}
	podCreate := target{version: "v1", resource: "pods", operation: admission.Create, namespaced: true}
	resize := target{version: "v1", resource: "pods", subresource: "resize", operation: admission.Update, namespaced: true}
	scale := target{group: "apps", version: "v1", resource: "deployments", subresource: "scale", operation: admission.Update, namespaced: true}
	for name, c := range map[string]struct {
		m    Match
		t    target
		want bool
	}{
		"a resource":                {match(core, []string{"pods"}), podCreate, true},
		"another group":             {match(apps, []string{"pods"}), podCreate, false},
		"every group":               {match(every, []string{"pods"}), podCreate, true},
		"another resource":          {match(core, []string{"services"}), podCreate, false},
		"another operation":         {match(core, []string{"pods"}, admissionv1.Delete), podCreate, false},
		"every operation":           {match(core, []string{"pods"}, "*"), podCreate, true},
		"all resources":             {match(core, []string{"*"}), podCreate, true},
		"all but subresources":      {match(core, []string{"*"}), resize, false},
		"all with subresources":     {match(core, []string{"*/*"}), resize, true},
		"all with, and without":     {match(core, []string{"*/*"}), podCreate, true},
		"a resource's subresource":  {match(core, []string{"pods/resize"}), resize, true},
		"the resource alone":        {match(core, []string{"pods"}), resize, false},
		"its subresources":          {match(core, []string{"pods/*"}), resize, true},
		"its subresources, but it":  {match(core, []string{"pods/*"}), podCreate, false},
		"a subresource everywhere":  {match(apps, []string{"*/scale"}), scale, true},
		"another everywhere":        {match(apps, []string{"*/status"}), scale, false},
		"another version":           {Match{APIGroups: core, APIVersions: []string{"v2"}, Resources: []string{"pods"}}.withDefaults(), podCreate, false},
		"what is in no namespace":   {Match{APIGroups: core, Resources: []string{"pods"}, Scope: admissionv1.ClusterScope}.withDefaults(), podCreate, false},
		"what is in some namespace": {Match{APIGroups: core, Resources: []string{"pods"}, Scope: admissionv1.NamespacedScope}.withDefaults(), podCreate, true},
	} {
		if got := c.m.covers(c.t); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	namespace := &admission.Request{Operation: admission.Create, Namespace: "shop", Name: "shop", Resource: metav1.GroupVersionResource{Version: "v1", Resource: "namespaces"}}
	if !(Match{APIGroups: core, Resources: []string{"namespaces"}, Scope: admissionv1.ClusterScope}).withDefaults().Covers(namespace) {
		t.Error("a Namespace is taken for something in one")
	}
}

// What the API server would refuse is refused before it: one bad set must not keep the others from being registered.
func TestBadMatchesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                    "it is empty",
		"[{apiGroups: [apps]}]": "resources: it is required",
		"[{resources: [pods]}]": "apiGroups: it is required",
		"[{apiGroups: ['*', apps], resources: [pods]}]":               "apiGroups: * stands for all others",
		"[{apiGroups: [apps, apps], resources: [a]}]":                 `"apps" is there twice`,
		"[{apiGroups: [apps], resources: ['*', pods]}]":               "is in another element already",
		"[{apiGroups: [apps], resources: ['*/*', pods]}]":             "*/* stands for all others",
		"[{apiGroups: [apps], resources: ['a/*', 'a/b']}]":            "is in another element already",
		"[{apiGroups: [apps], resources: ['a/b/c']}]":                 "must be a plural",
		"[{apiGroups: [apps], resources: [a], operations: [create]}]": "must be one of CREATE",
		"[{apiGroups: [apps], resources: [a], apiVersions: ['']}]":    "apiVersions: an element is empty",
		"[{apiGroups: [apps], resources: [a], scope: Cluster-wide}]":  "scope:",
		"[{apiGroups: [''], resources: [events]}]":                    "never judged",
		"[{apiGroups: [''], resources: [pods/status]}]":               "never judged",
		"[{apiGroups: [storage.k8s.io], resources: [csinodes]}]":      "never judged",
		"[{apiGroups: [authorization.k8s.io], resources: ['*']}]":     "never judged",
	} {
		source, err := Parse("p", map[string]string{"a.rego": "# METADATA\n# scope: package\n# custom: {match: " + text + "}\npackage p\n\ndeny contains \"x\"\n"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Compile(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestEntryIsThatOfTheMatch(t *testing.T) {
	entry := Installation{Namespace: "kruise-system"}.Entry(imageSet(t, "timeoutSeconds: 2\n"))
	if entry.Name != "images.policies.fairlead.io" || entry.Path != "/policies/images" || entry.FailurePolicy != admissionv1.Ignore || entry.TimeoutSeconds != 2 || len(entry.Rules) != 2 {
		t.Errorf("the entry is %+v", entry)
	}
	var all []string
	for _, c := range entry.MatchConditions {
		all = append(all, c.Expression)
	}
	conditions := strings.Join(all, " && ")
	for _, part := range []string{"'coordination.k8s.io'", "'/events'", "'/nodes'", "'/serviceaccounts/token'", "authorization.k8s.io", "authentication.k8s.io", "system:serviceaccount:kruise-system:kruise-webhook"} {
		if !strings.Contains(conditions, part) {
			t.Errorf("%s is not left out by %s", part, conditions)
		}
	}
	swapped := set(t, map[string]string{"images.rego": strings.ReplaceAll(images, "moves", "changes"), SettingsFile: imageSettings + "timeoutSeconds: 2\n"})
	if again := (Installation{Namespace: "kruise-system"}).Entry(swapped); swapped.Revision() == imageSet(t, "timeoutSeconds: 2\n").Revision() || len(again.Rules) != 2 || again.Path != entry.Path {
		t.Error("what a rule says is a matter of the entry")
	}
}

func TestExcludedRequests(t *testing.T) {
	i := Installation{Namespace: "kruise-system"}
	lease := request(metav1.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "Lease", `{}`)
	controllers := func(operation admission.Operation, resource string) *admission.Request {
		req := pod("x")
		req.UserInfo.Username, req.Operation, req.Resource.Resource = "system:serviceaccount:kruise-system:kruise-manager", operation, resource
		return req
	}
	probe, status, resize := controllers(admission.Create, "pods"), controllers(admission.Update, "pods"), controllers(admission.Update, "pods")
	probe.DryRun, status.SubResource, resize.SubResource = true, "status", "resize"
	ephemeral := controllers(admission.Update, "pods")
	ephemeral.SubResource = "ephemeralcontainers"
	service := pod("x")
	service.UserInfo.Username = "system:serviceaccount:kruise-system:kruise-webhook"
	theirs := pod("x")
	theirs.UserInfo.Username = "system:serviceaccount:shop:kruise-manager"
	system, release := pod("x"), pod("x")
	system.Namespace, release.Namespace = "kube-system", "kruise-system"
	for name, c := range map[string]struct {
		req  *admission.Request
		want bool
	}{
		"a Lease": {lease, true}, "the service's": {service, true},
		"a claim of the controllers": {controllers(admission.Create, "persistentvolumeclaims"), true}, "a Pod that they delete": {controllers(admission.Delete, "pods"), true},
		"a tenant's Pod that they create": {controllers(admission.Create, "pods"), false}, "one that they change": {controllers(admission.Update, "pods"), false},
		"their dry run": {probe, true}, "a status that they write": {status, true}, "a Pod that they resize": {resize, false},
		"a container that they add": {ephemeral, false},
		"a tenant's of our name":    {theirs, false}, "kube-system": {system, true},
		"our namespace": {release, true}, "a Pod": {pod("x"), false},
	} {
		if got := i.Excluded(c.req); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
