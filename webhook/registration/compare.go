package registration

import (
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// surplusIn lists what a live configuration has that a server-side apply of the desired one would leave there, because
// others own it.
func surplusIn(desired, live *table.Configuration, dropped []string) []string {
	var surplus []string
	for _, name := range dropped {
		surplus = append(surplus, fmt.Sprintf("webhook %s is not in the table", name))
	}
	for _, want := range desired.Webhooks {
		there := live.Entry(want.Name)
		if there == nil {
			continue
		}
		if (there.ClientConfig.URL != nil) != (want.ClientConfig.URL != nil) {
			surplus = append(surplus, fmt.Sprintf("webhook %s is reached otherwise", want.Name))
		}
		for _, condition := range there.MatchConditions {
			if !slices.ContainsFunc(want.MatchConditions, func(c admissionv1.MatchCondition) bool { return c.Name == condition.Name }) {
				surplus = append(surplus, fmt.Sprintf("webhook %s has match condition %s", want.Name, condition.Name))
			}
		}
	}
	for _, owner := range live.OwnerReferences {
		if isAnchor(owner) && !slices.ContainsFunc(desired.OwnerReferences, sameOwner(owner)) {
			surplus = append(surplus, fmt.Sprintf("owner %s with uid %s is gone", owner.Name, owner.UID))
		}
	}
	return surplus
}

// differences lists what is missing or different in a live configuration.
func differences(desired, live *table.Configuration) []string {
	var found []string
	for _, owner := range desired.OwnerReferences {
		if !slices.ContainsFunc(live.OwnerReferences, func(there metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(there, owner) }) {
			found = append(found, "owner "+owner.Name)
		}
	}
	found = append(found, differentKeys("annotation", desired.Annotations, live.Annotations)...)
	found = append(found, differentKeys("label", desired.Labels, live.Labels)...)
	for _, want := range withLiveBundles(desired, live) {
		there := live.Entry(want.Name)
		if there == nil {
			found = append(found, fmt.Sprintf("webhook %s is missing", want.Name))
			continue
		}
		for _, field := range differentFields(want, *there) {
			found = append(found, fmt.Sprintf("webhook %s: %s", want.Name, field))
		}
	}
	return found
}

func differentKeys(what string, desired, live map[string]string) []string {
	var found []string
	for key, value := range desired {
		if there, ok := live[key]; !ok || there != value {
			found = append(found, what+" "+key)
		}
	}
	slices.Sort(found)
	return found
}

// differentFields names the fields that differ, empty and absent being the same.
func differentFields(a, b admissionv1.MutatingWebhook) []string {
	var found []string
	left, right := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range left.NumField() {
		if !equality.Semantic.DeepEqual(left.Field(i).Interface(), right.Field(i).Interface()) {
			found = append(found, left.Type().Field(i).Name)
		}
	}
	return found
}

// withLiveBundles returns the desired webhooks, with the live CA bundles where we have none to write: somebody else
// injects them, and they are neither compared nor overwritten.
func withLiveBundles(desired, live *table.Configuration) []admissionv1.MutatingWebhook {
	webhooks := slices.Clone(desired.Webhooks)
	for i := range webhooks {
		if there := live.Entry(webhooks[i].Name); there != nil && webhooks[i].ClientConfig.CABundle == nil {
			webhooks[i].ClientConfig.CABundle = there.ClientConfig.CABundle
		}
	}
	return webhooks
}

// owners are the live ones with ours in place of any reference to an anchor.
func owners(desired, live *table.Configuration) []metav1.OwnerReference {
	others := slices.DeleteFunc(slices.Clone(live.OwnerReferences), isAnchor)
	return append(others, desired.OwnerReferences...)
}

func sameOwner(owner metav1.OwnerReference) func(metav1.OwnerReference) bool {
	return func(other metav1.OwnerReference) bool { return other.UID == owner.UID }
}
