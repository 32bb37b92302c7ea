package controllers

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const account = "system:serviceaccount:kruise-system:kruise-manager"

// limited is a configuration with the rights that the chart gives the controllers, and no others.
func (s *suite) limited() *rest.Config {
	cfg := s.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	return cfg
}

// grant gives the account its rights: everywhere, in the namespace of the Lease, and in that of the dry-run Pod.
func (s *suite) grant(t *testing.T) {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}}
	meta := metav1.ObjectMeta{Name: "controllers-under-test"}
	s.create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}},
		{
			APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: []string{"get"},
			Resources:     []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
			ResourceNames: []string{"kruise-mutating-webhook-configuration", "kruise-validating-webhook-configuration"},
		},
	}})
	s.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})
	for namespace, rules := range map[string][]rbacv1.PolicyRule{
		"kruise-system": {
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"kruise-manager"}, Verbs: []string{"get", "update"}},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		},
		"kruise-daemon-config": {{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}},
	} {
		local := metav1.ObjectMeta{Namespace: namespace, Name: meta.Name}
		s.create(t, &rbacv1.Role{ObjectMeta: local, Rules: rules})
		s.create(t, &rbacv1.RoleBinding{
			ObjectMeta: local, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		})
	}
}
