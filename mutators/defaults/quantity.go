package defaults

import (
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/api/decoding"
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
	if decoding.CheckQuantity(text) != nil {
		return nil, false
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.RoundUp(resource.Milli) {
		return nil, false
	}
	return jsontree.Quote(quantity.String()), true
}
