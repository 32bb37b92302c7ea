package defaults

import (
	"github.com/distribution/reference"
)

// pullPolicy is the default of a pull policy: Always for the tag latest, or for neither tag nor digest, which means
// latest; IfNotPresent for everything else, including what is no image reference at all. The image is in member from.
func pullPolicy(name, from string) rule {
	return derived(name, func(object *node) string {
		named, err := reference.ParseNormalizedNamed(object.text(from))
		if err != nil {
			return "IfNotPresent"
		}
		if tagged, ok := named.(reference.Tagged); ok && tagged.Tag() == "latest" || reference.IsNameOnly(named) {
			return "Always"
		}
		return "IfNotPresent"
	})
}
