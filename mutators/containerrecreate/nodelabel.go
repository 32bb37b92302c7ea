package containerrecreate

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hashLength is how many hexadecimal digits tell long names apart: 64 bits, so that two nodes never share a value.
const hashLength = 16

// NodeLabelValue is the value of the label crr.apps.kruise.io/node-name, by which a node's daemon selects its requests.
// It is the node's name; of a name that is longer than a label's value may be, its beginning and a hash of the whole.
func NodeLabelValue(node string) string {
	if len(node) <= validation.LabelValueMaxLength {
		return node
	}
	sum := sha256.Sum256([]byte(node))
	return node[:validation.LabelValueMaxLength-hashLength-1] + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
