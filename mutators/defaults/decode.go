package defaults

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/api/apps/v1beta1"
	"github.com/fairlead-io/fairlead/api/decoding"
)

// decodeSidecarSetSpec reads a spec whole, not only what its hash needs: container items and volumes pass the CRD's
// schema whatever they hold, and one stored object that the types cannot hold would stop every cache of SidecarSets.
func decodeSidecarSetSpec(raw jsontext.Value) (spec v1beta1.SidecarSetSpec, err error) {
	return spec, decoding.Into(&spec, "spec", raw)
}
