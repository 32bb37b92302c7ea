package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// right is what a service account must be allowed to do; namespace "" is everywhere, object "" any, and why says what does not
// work without it.
type right struct {
	verbs                  []string
	group, resource        string
	namespace, object, why string
}

// verbs that go together.
var (
	get    = []string{"get"}
	list   = []string{"list"}
	create = []string{"create"}
	update = []string{"update"}
	read   = []string{"get", "list", "watch"}
	manage = []string{"get", "list", "watch", "create", "patch", "delete"}
)

// checkRights asks the API server what the service accounts may do. Who may not ask that learns what they may do themselves,
// which says nothing of the service accounts, and is said to be so.
func checkRights(ctx context.Context, d *Doctor, r *report) error {
	for _, account := range []struct {
		name   string
		rights []right
	}{{"kruise-webhook", d.webhookRights()}, {"kruise-manager", d.managerRights()}} {
		err := d.checkAccount(ctx, r, account.name, account.rights)
		if apierrors.IsForbidden(err) {
			return d.checkSelf(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Doctor) checkAccount(ctx context.Context, r *report, account string, rights []right) error {
	user := fmt.Sprintf("system:serviceaccount:%s:%s", d.config.Namespace, account)
	for _, wanted := range rights {
		var lacking []string
		for _, verb := range wanted.verbs {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + d.config.Namespace, "system:authenticated"},
				ResourceAttributes: wanted.attributes(verb),
			}}
			answer, err := d.cluster.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if !answer.Status.Allowed {
				lacking = append(lacking, verb)
			}
		}
		if len(lacking) > 0 {
			r.add(Error, fmt.Sprintf("ServiceAccount %s/%s", d.config.Namespace, account), "it may not "+strings.Join(lacking, ", ")+" "+wanted.what(), wanted.why, chartCure)
		}
	}
	return nil
}

// checkSelf tells the person what they may not read, and that the service accounts are not looked at.
func (d *Doctor) checkSelf(ctx context.Context, r *report) error {
	for _, wanted := range d.webhookRights() {
		if !slices.Contains(wanted.verbs, "get") {
			continue
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: wanted.attributes("get")}}
		answer, err := d.cluster.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !answer.Status.Allowed {
			r.add(Info, "you", "you may not get "+wanted.what(), "findings about that are missing; it says nothing of the service accounts", "")
		}
	}
	r.add(Info, "", "you may not ask what the service accounts may do", "their rights are not looked at", "kubectl auth can-i create subjectaccessreviews")
	return nil
}

func (w right) attributes(verb string) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(w.resource, "/")
	return &authorizationv1.ResourceAttributes{Verb: verb, Group: w.group, Resource: resource, Subresource: subresource, Namespace: w.namespace, Name: w.object}
}

func (w right) what() string {
	what := w.resource
	if w.group != "" {
		what += "." + w.group
	}
	if w.object != "" {
		what += " " + w.object
	}
	if w.namespace != "" {
		what += " in namespace " + w.namespace
	}
	return what
}
