package registration

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fairlead-io/fairlead/webhook/table"
)

// Drift lists in what the mutating or the validating configuration, nil if there is none, is not as the service would
// write it with these entries; neither CA bundles nor owners count. config must be complete.
func Drift(config table.Config, entries []table.Entry, mutating bool, live *table.Configuration) []string {
	return drift(config.Render(entries, mutating, table.Target{}), config.Empty(table.NameOf(mutating), nil), live, nil)
}

// PoliciesDrift lists in what the configuration of users' policies, nil if there is none, is not as the service would write it with
// these entries, and in any state with those that are named in others.
func PoliciesDrift(config table.Config, entries []table.Entry, others []string, live *table.Configuration) []string {
	return drift(config.RenderInto(table.PoliciesName, entries, table.Target{}), config.Empty(table.PoliciesName, nil), live, others)
}

// drift compares the live configuration with the desired one, nil for none, which then is empty.
func drift(desired, empty, live *table.Configuration, others []string) []string {
	switch {
	case desired == nil && live == nil:
		return nil
	case desired == nil:
		desired = empty
	case live == nil:
		live = &table.Configuration{}
	}
	var dropped []string
	for _, there := range live.Webhooks {
		if desired.Entry(there.Name) == nil && !slices.Contains(others, there.Name) {
			dropped = append(dropped, there.Name)
		}
	}
	mine := *live
	mine.OwnerReferences = nil
	return slices.Concat(surplusIn(desired, &mine, dropped), differences(desired, &mine))
}

// ConversionDrift lists in what the conversion of a definition is not as the service would write it; the CA bundle does
// not count. service is that of conversion, and path where it is served.
func ConversionDrift(config table.Config, service, path string, crd *apiextensionsv1.CustomResourceDefinition) []string {
	return newConverting(config, service, path, nil, true).differences(readDefinition(crd))
}
