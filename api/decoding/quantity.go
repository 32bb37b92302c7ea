package decoding

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Kubernetes' parser needs seconds for an exponent of ten millions, or as many digits, and minutes for a hundred
// millions. Quantities end at 2^63-1 and are rounded to 1e-9, so that nobody needs more than these.
const (
	maxQuantityLength   = 256
	maxQuantityExponent = 100
)

var errQuantityTooFar = errors.New("quantity is too long, or its exponent too far from 0: write it with a suffix such as m or Gi")

// CheckQuantity refuses what would take the parser of quantities long; it does not tell whether the rest is right.
func CheckQuantity(text string) error {
	if len(text) > maxQuantityLength {
		return errQuantityTooFar
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(strings.TrimRight(text[i+1:], " \t\r\n"))
	if errors.Is(err, strconv.ErrRange) || exponent > maxQuantityExponent || exponent < -maxQuantityExponent {
		return errQuantityTooFar
	}
	return nil
}

// quantities is Quantity's own decoder behind CheckQuantity.
var quantities = json.WithUnmarshalers(json.UnmarshalFunc(func(raw []byte, quantity *resource.Quantity) error {
	if err := CheckQuantity(strings.Trim(string(raw), `"`)); err != nil {
		return err
	}
	return quantity.UnmarshalJSON(raw)
}))
