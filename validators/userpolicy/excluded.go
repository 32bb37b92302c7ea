package userpolicy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// What no set ever judges, whatever its match says: by it a cluster knows who is there and what works, and heals itself. It
// must wait for nobody's rules, nor be refused by them, least of all while the service is away and a set says Fail.

// neverGroups are API groups: asking who somebody is and what he may do, giving kubelets their certificates, what API servers
// tell each other, and what would have to be mended if policies, webhooks or extensions were what is broken.
var neverGroups = []string{
	"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "internal.apiserver.k8s.io",
	"admissionregistration.k8s.io", "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io", "discovery.k8s.io", "events.k8s.io",
}

// neverResources are resources, by group, with a subresource if it alone is meant: what nodes and their drivers say of
// themselves, what Pods run on and where, and what a Pod shows to be itself.
var neverResources = []struct {
	group     string
	resources []string
}{
	{"", []string{"events", "nodes", "endpoints", "bindings", "pods/binding", "pods/status", "serviceaccounts/token"}},
	{"storage.k8s.io", []string{"csinodes", "csistoragecapacities", "volumeattachments"}},
	{"resource.k8s.io", []string{"resourceslices", "resourceclaims/status"}},
	{"networking.k8s.io", []string{"ipaddresses"}},
}

// apiServers is who API servers are to each other and themselves: they make the roles, priority classes and Services that a
// cluster cannot start without.
const apiServers = "system:apiserver"

// controllersAccount is the name of the ServiceAccount of the controllers. The Pods that they create and change are the tenants',
// whose workloads say what is in them: were they left out, a CloneSet would run what a Deployment may not.
const controllersAccount = "kruise-manager"

// ownAccounts are the names of the ServiceAccounts of an installation.
var ownAccounts = []string{"kruise-webhook", controllersAccount, "kruise-daemon"}

// podParts are the subresources, "" for none, by which controllers say what is in a Pod; EphemeralJobs do it by the last.
var podParts = []string{"", "resize", "ephemeralcontainers"}

// tenantsPods says whether a request, if it is the controllers', is about a Pod that a tenant's workload describes. What they delete
// is left out: workloads must come out of what policies did not foresee. So is what they say of a Pod's status, and their dry run,
// which is nobody's Pod: they would create none as long as a policy refused that one.
func tenantsPods(req *admission.Request) bool {
	return req.Resource.Group == "" && req.Resource.Resource == "pods" && slices.Contains(podParts, req.SubResource) &&
		(req.Operation == admission.Create || req.Operation == admission.Update) && !req.DryRun
}

// never says whether a resource is left out, or a subresource of it; "" for none.
func never(group, resource, sub string) bool {
	if slices.Contains(neverGroups, group) {
		return true
	}
	for _, left := range neverResources {
		if left.group == group {
			return slices.Contains(left.resources, resource) || slices.Contains(left.resources, resource+"/"+sub)
		}
	}
	return false
}

// Installation is whose sets they are.
type Installation struct {
	// Namespace is the release namespace. What is in it is left out, and what its ServiceAccounts of Fairlead ask.
	Namespace string
}

// Excluded says whether no set may judge a request. The API server is told so by the entry; this is for requests that come
// all the same.
func (i Installation) Excluded(req *admission.Request) bool {
	if req.Namespace == metav1.NamespaceSystem || req.Namespace == i.Namespace || never(req.Resource.Group, req.Resource.Resource, req.SubResource) {
		return true
	}
	if req.UserInfo.Username == apiServers {
		return true
	}
	account, ours := strings.CutPrefix(req.UserInfo.Username, "system:serviceaccount:"+i.Namespace+":")
	return ours && slices.Contains(ownAccounts, account) && (account != controllersAccount || !tenantsPods(req))
}

// conditions tell the API server what is excluded, beside namespaces.
func (i Installation) conditions() []admissionv1.MatchCondition {
	quoted := func(list []string) string { return "['" + strings.Join(list, "', '") + "']" }
	users := make([]string, len(ownAccounts))
	for n, account := range ownAccounts {
		users[n] = "system:serviceaccount:" + i.Namespace + ":" + account
	}
	return []admissionv1.MatchCondition{
		{Name: "not-what-keeps-a-cluster-alive", Expression: keepsAlive(quoted)},
		{
			Name: "not-from-fairlead",
			Expression: "!(request.userInfo.username in " + quoted(users) + ")" +
				" || (request.userInfo.username == 'system:serviceaccount:" + i.Namespace + ":" + controllersAccount + "'" +
				" && request.operation in ['CREATE', 'UPDATE'] && request.resource.group == '' && request.resource.resource == 'pods'" +
				" && request.?subResource.orValue('') in " + quoted(podParts) + " && !request.?dryRun.orValue(false))",
		},
	}
}

// keepsAlive is never in CEL.
func keepsAlive(quoted func([]string) string) string {
	var left []string
	for _, in := range neverResources {
		for _, resource := range in.resources {
			left = append(left, in.group+"/"+resource)
		}
	}
	const resource = "request.resource.group + '/' + request.resource.resource"
	return "request.userInfo.username != '" + apiServers + "' && !(request.resource.group in " + quoted(neverGroups) + ") && !(" + resource + " in " + quoted(left) + ")" +
		" && !(" + resource + " + '/' + request.?subResource.orValue('') in " + quoted(left) + ")"
}

// checkCovered refuses a match that names what is left out, as far as that can be told: by its group, or in its only group.
func (m Match) checkCovered() error {
	for _, group := range m.APIGroups {
		if slices.Contains(neverGroups, group) {
			return fmt.Errorf("apiGroups: %s is never judged by policies", group)
		}
		for _, resource := range m.Resources {
			if name, sub, _ := strings.Cut(resource, "/"); len(m.APIGroups) == 1 && never(group, name, sub) {
				return fmt.Errorf("resources: %s of the group %q are never judged by policies", resource, group)
			}
		}
	}
	return nil
}
