package defaults

import (
	"github.com/distribution/reference"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// maxReference is more than any image reference has, with its name of at most 255 bytes, its tag of at most 128 and the
// digest; the parser is regular expressions, which take seconds for an image of megabytes.
const maxReference = 1024

// pullPolicy is the default of a pull policy: Always for the tag latest, or for neither tag nor digest, which means
// latest; IfNotPresent for everything else, including what is no image reference at all. The image is in member from.
func pullPolicy(name, from string) rule {
	return derived(name, func(object *jsontree.Node) string {
		image := object.TextOf(from)
		if len(image) > maxReference {
			return "IfNotPresent"
		}
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			return "IfNotPresent"
		}
		if tagged, ok := named.(reference.Tagged); ok && tagged.Tag() == "latest" || reference.IsNameOnly(named) {
			return "Always"
		}
		return "IfNotPresent"
	})
}
