package inventory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/opa/v1/ast"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
	"github.com/fairlead-io/fairlead/webhook/admission"
)

func with(t *testing.T, objects ...string) *Objects {
	t.Helper()
	o := NewObjects()
	for _, object := range objects {
		if err := o.Upsert([]byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func service(namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":%q,"managedFields":[{}]},"spec":{"port":80}}`, name, namespace)
}

func read(v *View, path string) string {
	var names []string
	if path != "" {
		names = strings.Split(path, "/")
	}
	value := v.Read(names)
	if value == nil {
		return "nothing"
	}
	return value.String()
}

func TestAViewHasObjectsByTheirPlace(t *testing.T) {
	services := with(t, service("shop", "web"), service("shop", "db"), service("bank", "web"))
	pods := with(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop"}}`)
	classes := with(t, `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"}}`)
	view := Static(services, pods, classes)
	web := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"port": 80}}`
	class := `{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}`
	for path, want := range map[string]string{
		"namespace/shop/v1/Service/web":           web,
		"namespace/shop/v1/Service/web/spec/port": "80",
		"namespace/shop/v1/Service/gone":          "nothing",
		"namespace/gone":                          "nothing",
		"namespace/shop/v2":                       "nothing",
		"namespace/shop/v1/Pod":                   `{"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}}}`,
		"cluster/storage.k8s.io%2Fv1":             "nothing",
		"cluster":                                 `{"storage.k8s.io/v1": {"StorageClass": {"fast": ` + class + `}}}`,
		"elsewhere":                               "nothing",
	} {
		if got := read(view, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	whole := view.Read(nil).(ast.Object)
	shop, err := whole.Find(ast.MustParseRef("x.namespace.shop.v1")[1:])
	if err != nil || shop.(ast.Object).Len() != 2 {
		t.Errorf("the whole has %v, %v", shop, err)
	}
	if value := view.Read([]string{"cluster", "storage.k8s.io/v1", "StorageClass", "fast"}); value == nil || value.String() != class {
		t.Errorf("the class is %v", value)
	}
}

func TestAViewFollowsChanges(t *testing.T) {
	services := with(t, service("shop", "web"))
	view := Static(services)
	before := view.Read([]string{"namespace", "shop", "v1", "Service"}).String()
	if err := services.Upsert([]byte(service("shop", "db"))); err != nil {
		t.Fatal(err)
	}
	if after := view.Read([]string{"namespace", "shop", "v1", "Service"}).(ast.Object); after.Len() != 2 {
		t.Errorf("%s became %s", before, after)
	}
	services.Delete("shop", "web")
	services.Delete("shop", "db")
	services.Delete("shop", "never")
	if got := read(view, "namespace/shop"); got != "nothing" {
		t.Errorf("left is %s", got)
	}
}

// A set that names namespaces sees no others, also where another set watches them all.
func TestAViewIsNarrowed(t *testing.T) {
	view := &View{missing: func() error { return nil }, parts: []part{{objects: with(t, service("shop", "web"), service("bank", "web")), namespaces: []string{"shop"}}}}
	if got := read(view, "namespace/bank/v1/Service/web"); got != "nothing" {
		t.Errorf("of another namespace it sees %s", got)
	}
	if all := view.Read([]string{"namespace"}).(ast.Object); all.Len() != 1 {
		t.Errorf("it sees %s", all)
	}
}

const rules = `# METADATA
# scope: package
# custom: {match: [{apiGroups: [""], resources: [pods]}]}
package seen

deny contains sprintf("services: %d", [count(known)])

known contains name if some name, _ in data.inventory.namespace[input.request.namespace].v1.Service

warn contains "always"
`

// What cannot be watched at all is missing, too.
func TestWhatCannotBeWatchedIsMissing(t *testing.T) {
	source, err := userpolicy.Parse("seen", map[string]string{"a.rego": rules, "settings.yaml": "inventory: [{version: v1, resource: services}]"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := userpolicy.Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	f := NewFollower(&rest.Config{Host: "http://[::1"}, clock.RealClock{}, logr.Discard())
	f.Require(set)
	if waiting, err := f.Missing(set); waiting || err == nil || !strings.Contains(err.Error(), "the inventory lacks services") {
		t.Errorf("waiting %t: %v", waiting, err)
	}
	if err := f.Of(set).Missing(); err == nil {
		t.Error("rules are asked as if it were whole")
	}
}

// Rules see it as data.inventory, and are asked only when it is whole.
func TestRulesSeeTheInventory(t *testing.T) {
	source, err := userpolicy.Parse("seen", map[string]string{"a.rego": rules, "settings.yaml": "inventory: [{version: v1, resource: services}]"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := userpolicy.Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	says := func(inventory userpolicy.Inventory) string {
		decision, err := set.Evaluate(t.Context(), userpolicy.Request{Time: time.Now(), Request: &admission.Request{
			Namespace: "shop", Operation: admission.Create, Object: []byte(`{}`), Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		}}, inventory)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(decision.Violations)
	}
	view := Static(with(t, service("shop", "web"), service("shop", "db"), service("bank", "web")))
	if got := says(view); got != "[seen.deny: services: 2 seen.warn: always]" {
		t.Errorf("said %s", got)
	}
	view.missing = func() error { return errors.New("services may not be read") }
	if got := says(view); got != "[seen.warn: always]" {
		t.Errorf("without all of it, said %s", got)
	}
	if got := says(nil); got != "[seen.warn: always]" {
		t.Errorf("without any, said %s", got)
	}
	if rules := set.Rules(); !rules[0].Inventory || rules[1].Inventory {
		t.Errorf("depending on it are %v", rules)
	}
}
