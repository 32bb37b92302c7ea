package defaults

import (
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
)

// roundUp replaces the quantities of a resource list that are finer than a thousandth: Kubernetes stores no finer ones
// and rounds them up. Every other quantity keeps its spelling. What is no quantity stays for the decoder to refuse.
func roundUp(name string) rule {
	return func(object *node) {
		list := object.object(name)
		if list == nil {
			return
		}
		for _, m := range list.members {
			if rounded, ok := rounded(m.value); ok {
				list.put("replace", m.name, rounded)
			}
		}
	}
}

// rounded is the quantity rounded up to thousandths, if that changes it.
func rounded(n *node) (jsontext.Value, bool) {
	text := n.string()
	if n.kind() == jsontext.KindNumber {
		text = string(n.raw)
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.RoundUp(resource.Milli) {
		return nil, false
	}
	return quote(quantity.String()), true
}
