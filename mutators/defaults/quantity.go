package defaults

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// roundUp replaces the quantities of a resource list that are finer than a thousandth: Kubernetes stores no finer ones
// and rounds them up. Every other quantity keeps its spelling. What is no quantity stays for the decoder to refuse.
func roundUp(name string) rule {
	return func(object *jsontree.Node) {
		list := object.Object(name)
		if list == nil {
			return
		}
		for _, m := range list.Members() {
			if rounded, ok := rounded(m.Value); ok {
				m.Value.Overwrite(jsontree.Replace, rounded)
			}
		}
	}
}

// rounded is the quantity rounded up to thousandths, if that changes it.
func rounded(n *jsontree.Node) (jsontext.Value, bool) {
	text := n.Text()
	if n.Kind() == jsontext.KindNumber {
		text = string(n.Bytes())
	}
	if checkQuantity(text) != nil {
		return nil, false
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.RoundUp(resource.Milli) {
		return nil, false
	}
	return jsontree.Quote(quantity.String()), true
}

// Kubernetes' parser needs seconds for an exponent of ten millions, or as many digits, and minutes for a hundred
// millions. Quantities end at 2^63-1 and are rounded to 1e-9, so that nobody needs more than these.
const (
	maxQuantityLength   = 256
	maxQuantityExponent = 100
)

var errQuantityTooFar = errors.New("quantity is too long, or its exponent too far from 0: write it with a suffix such as m or Gi")

// checkQuantity refuses what would take the parser long; it does not tell whether the rest is right.
func checkQuantity(text string) error {
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

// decodeQuantity is Quantity's own decoder behind checkQuantity.
func decodeQuantity(raw []byte, quantity *resource.Quantity) error {
	if err := checkQuantity(strings.Trim(string(raw), `"`)); err != nil {
		return err
	}
	return quantity.UnmarshalJSON(raw)
}
