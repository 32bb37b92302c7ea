package webhook

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Match conditions keep requests with the API server that the handlers let pass unread whatever the object says: they cost
// nothing then, and they work while no replica does. That matters most for the last finalizer of an object that is being
// deleted, which a namespace may wait for. A creation always comes: nothing new is being deleted, and
// the API server drops a deletionTimestamp that a client sends with it before it asks anybody.

// living leaves out updates of objects that are being deleted. Nobody can set a deletionTimestamp by an update.
var living = admissionv1.MatchCondition{
	Name:       "not-being-deleted",
	Expression: `request.operation != "UPDATE" || !has(object.metadata.deletionTimestamp)`,
}

// changed leaves out updates that touch nothing that rules look at: those of finalizers, owners, and of status in clients
// that know no subresource.
var changed = admissionv1.MatchCondition{
	Name:       "spec-labels-or-annotations-changed",
	Expression: `request.operation != "UPDATE" || ` + strings.Join([]string{differs("spec"), differs("metadata.labels"), differs("metadata.annotations")}, " || "),
}

// differs is true for a field that is there in one of the two objects only, or in both and not equal. Comparing one that
// is absent would be an error, and an error refuses the request.
func differs(field string) string {
	here, there := "object."+field, "oldObject."+field
	return "has(" + here + ") != has(" + there + ") || has(" + here + ") && " + here + " != " + there
}
