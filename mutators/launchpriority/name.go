package launchpriority

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/mutators/podview"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

// The API server cuts a generateName so that the name with its suffix is a DNS label, of 63 characters at most.
const (
	suffixLength      = 5
	maxPrefixLength   = 63 - suffixLength
	maxNameLength     = 253 // of a ConfigMap, a DNS subdomain
	maxBarredPodName  = maxNameLength - len(v1beta1.ContainerLaunchBarrierSuffix)
	nameTooLongReason = "must have at most %d characters when containers have launch priorities, since these need a ConfigMap called NAME%s"
)

// name gives the Pod its final name now if it only has generateName, because the barrier's ConfigMap is called after
// it. It reports false for a Pod that has neither, which the API server will refuse.
func (m Mutator) name(pod *podview.Pod) (named bool, err error) {
	switch {
	case pod.Name != "":
	case pod.GenerateName == "":
		return false, nil
	default:
		prefix := pod.GenerateName
		pod.SetName(prefix[:min(len(prefix), maxPrefixLength)] + m.suffix(suffixLength))
	}
	if len(pod.Name) > maxBarredPodName {
		return false, admission.Invalid(schema.GroupKind{Kind: "Pod"}, pod.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), pod.Name,
				fmt.Sprintf(nameTooLongReason, maxBarredPodName, v1beta1.ContainerLaunchBarrierSuffix)),
		})
	}
	return true, nil
}
