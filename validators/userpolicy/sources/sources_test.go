package sources

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-io/fairlead/validators/userpolicy"
)

const namespace = "kruise-system"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func rules(body string) string {
	return "# METADATA\n# scope: package\n# custom: {match: [{apiGroups: [\"\"], resources: [pods]}]}\npackage p\n\n" + body + "\n"
}

// labelledMap is a set as the API server sends it.
func labelledMap(in, name, rego, status string, labels map[string]string) []byte {
	raw, err := json.Marshal(corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name, UID: "u1", Labels: labels, Annotations: map[string]string{StatusAnnotation: status}},
		Data:       map[string]string{"a.rego": rego},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// ofUID is the same of another uid.
func ofUID(uid types.UID, raw []byte) []byte {
	return bytes.Replace(raw, []byte(`"uid":"u1"`), fmt.Appendf(nil, `"uid":%q`, uid), 1)
}

var labelled = map[string]string{Label: "true"}

// inventories lack what they are told to.
type inventories struct {
	required, released []string
	waiting            bool
	missing            error
}

func (i *inventories) Require(set *userpolicy.Set) { i.required = append(i.required, set.Name()) }
func (i *inventories) Release(name string)         { i.released = append(i.released, name) }
func (i *inventories) Missing(*userpolicy.Set) (waiting bool, err error) {
	return i.waiting, i.missing
}

type rig struct {
	*Keeper
	sink        *ConfigMaps
	inventories *inventories
	registry    *prometheus.Registry
	changes     int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{inventories: &inventories{}, registry: prometheus.NewRegistry()}
	r.Keeper = NewKeeper(Options{
		Sets: &userpolicy.Sets{}, Inventories: r.inventories, Metrics: userpolicy.NewMetrics(r.registry), Log: logr.Discard(),
	})
	r.sink = NewConfigMaps(t.Context(), r.Keeper, namespace)
	r.Notify(func() { r.changes++ })
	return r
}

func (r *rig) upsert(t *testing.T, raw []byte) {
	t.Helper()
	if err := r.sink.Upsert(raw); err != nil {
		t.Fatal(err)
	}
}

func TestSetsFollowTheirConfigMaps(t *testing.T) {
	r := newRig(t)
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	first := r.Sets.Get("p")
	if first == nil {
		t.Fatal("it is not in force")
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), `{"state":"Active"}`, labelled))
	if r.Sets.Get("p") != first {
		t.Error("a status made another version")
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains x`), "", labelled))
	if r.Sets.Get("p") != first {
		t.Error("a version with a mistake replaced the one before")
	}
	if state := r.States()[0]; state.Failure == nil || !strings.Contains(state.Failure.Error(), "a.rego:6") || state.Set != first {
		t.Errorf("its state is %+v", state)
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "two"`), "", labelled))
	if second := r.Sets.Get("p"); second == first || r.States()[0].Failure != nil {
		t.Errorf("the version after is not in force: %+v", r.States()[0])
	}
	r.sink.Delete(namespace, "p")
	if r.Sets.Get("p") != nil || len(r.States()) != 0 || fmt.Sprint(r.inventories.released) != "[p]" {
		t.Error("it is not gone")
	}
}

// A list that a watch begins with says nothing of what was deleted before it.
func TestASetThatIsMadeAnewHasNoVersionBefore(t *testing.T) {
	r := newRig(t)
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	r.upsert(t, ofUID("u2", labelledMap(namespace, "p", rules(`deny contains x`), "", labelled)))
	if set := r.Sets.Get("p"); set != nil {
		t.Errorf("in force is %v of the ConfigMap before", set.Revision())
	}
	if _, unusable := r.Unusable()["p"]; !unusable {
		t.Error("requests are not told that it is unusable")
	}
}

// A ConfigMap elsewhere, or without the label, is no set: any tenant could write it.
func TestOnlyLabelledConfigMapsOfTheNamespaceAreSets(t *testing.T) {
	r := newRig(t)
	good := rules(`deny contains "one"`)
	r.upsert(t, labelledMap("shop", "p", good, "", labelled))
	r.upsert(t, labelledMap(namespace, "p", good, "", nil))
	r.upsert(t, labelledMap(namespace, "p", good, "", map[string]string{Label: "false"}))
	r.upsert(t, labelledMap(namespace, "p", good, "", map[string]string{Label: "true", BundleLabel: "org"})) // it has the bundle's status
	if sets := r.Sets.All(); len(sets) != 0 {
		t.Fatalf("%d sets are in force", len(sets))
	}
	r.upsert(t, labelledMap(namespace, "p", good, "", labelled))
	r.sink.Delete("shop", "p")
	if r.Sets.Get("p") == nil {
		t.Error("the deletion of another ConfigMap of its name took it away")
	}
	r.upsert(t, labelledMap(namespace, "p", good, "", nil))
	if r.Sets.Get("p") != nil {
		t.Error("without its label it is in force")
	}
}

func TestLongNamesAreRefused(t *testing.T) {
	r := newRig(t)
	name := strings.Repeat("a", 240)
	r.upsert(t, labelledMap(namespace, name, rules(`deny contains "one"`), "", labelled))
	if state := r.States()[0]; state.Failure == nil || !strings.Contains(state.Failure.Error(), "at most 232") {
		t.Errorf("%v", state.Failure)
	}
}

func TestStatusSaysWhatIsInForce(t *testing.T) {
	r := newRig(t)
	r.upsert(t, labelledMap(namespace, "p", rules("# METADATA\n# custom: {id: one}\ndeny contains \"one\""), "", labelled))
	good := statusOf(r.States()[0], nil)
	if good.State != Active || good.Revision == "" || good.Rules != 1 || good.Message != "" || fmt.Sprint(good.Entries) != "[p.policies.fairlead.io]" {
		t.Errorf("%+v", good)
	}
	r.upsert(t, labelledMap(namespace, "p", rules("deny := 1"), "", labelled))
	bad := statusOf(r.States()[0], nil)
	if bad.State != Invalid || bad.Revision != good.Revision || bad.Observed == good.Observed || !strings.Contains(bad.Message, "a.rego:6") {
		t.Errorf("%+v", bad)
	}
	r.Refuse("p", errors.New("the server is away"))
	if status := statusOf(r.States()[0], errors.New("the inventory lacks secrets")); !strings.Contains(status.Message, "away") || !strings.Contains(status.Message, "lacks secrets") {
		t.Errorf("%+v", status)
	}
}

// What has not changed is not written again.
func TestNextAnnotation(t *testing.T) {
	status := Status{State: Active, Observed: "1", Revision: "r"}
	first, err := next("", status, noon)
	if err != nil || !strings.Contains(first, `"changed":"2026-03-01T12:00:00Z"`) {
		t.Fatalf("%s %v", first, err)
	}
	if again, _ := next(first, status, noon.Add(time.Hour)); again != first {
		t.Errorf("written again: %s", again)
	}
	status.State, status.Message = Invalid, "a.rego:1"
	if changed, _ := next(first, status, noon.Add(time.Hour)); !strings.Contains(changed, `"changed":"2026-03-01T13:00:00Z"`) || !strings.Contains(changed, "a.rego:1") {
		t.Errorf("%s", changed)
	}
	// A set of which nothing is in force is registered as it was.
	status.Revision, status.Entries = "", nil
	withEntry := Status{State: Active, Revision: "r", Entries: []string{"p.policies.fairlead.io"}}
	if before, err := encode(withEntry); err != nil {
		t.Fatal(err)
	} else if after, _ := next(before, status, noon); !strings.Contains(after, "p.policies.fairlead.io") || !strings.Contains(after, `"state":"Invalid"`) {
		t.Errorf("the entry is lost: %s", after)
	}
	if repaired, _ := next("broken", status, noon); !strings.Contains(repaired, "a.rego:1") {
		t.Errorf("over somebody's text: %s", repaired)
	}
}

func TestWriterWritesOnce(t *testing.T) {
	r := newRig(t)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}}
	client := fake.NewClientset(object)
	recorder := record.NewFakeRecorder(10)
	w := NewWriter(r.Keeper, client, namespace, recorder, clocktesting.NewFakeClock(noon))
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	r.inventories.waiting = true
	w.round(t.Context())
	if n := patches(client); n != 0 {
		t.Fatalf("%d writes while the inventory is on its way", n)
	}
	r.inventories.waiting = false
	w.round(t.Context())
	w.round(t.Context())
	written, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var status Status
	if err := json.Unmarshal([]byte(written.Annotations[StatusAnnotation]), &status); err != nil || status.State != Active {
		t.Errorf("%v: %s", err, written.Annotations[StatusAnnotation])
	}
	if n := patches(client); n != 1 {
		t.Errorf("%d writes, want one", n)
	}
	if event := <-recorder.Events; !strings.Contains(event, ReasonActive) {
		t.Errorf("event %s", event)
	}
	// The watch brings our own write, which is no news.
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), written.Annotations[StatusAnnotation], labelled))
	w.round(t.Context())
	if n := patches(client); n != 1 {
		t.Errorf("%d writes after our own, want one", n)
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains x`), "", labelled))
	w.round(t.Context())
	if event := <-recorder.Events; !strings.Contains(event, ReasonInvalid) || !strings.Contains(event, "a.rego:6") {
		t.Errorf("event %s", event)
	}
}

// A set may be deleted, and made anew, while the API server answers that its status is written.
func TestWriterHasNoSetsThatAreGone(t *testing.T) {
	for _, anew := range []bool{false, true} {
		r := newRig(t)
		client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
		client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (handled bool, result runtime.Object, err error) {
			r.sink.Delete(namespace, "p")
			if anew {
				r.upsert(t, ofUID("u2", labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled)))
			}
			return true, &corev1.ConfigMap{}, nil
		})
		r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
		if err := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon)).write(t.Context(), r.States()[0], ""); err != nil {
			t.Fatal(err)
		}
		switch states := r.States(); {
		case !anew && len(states) != 0:
			t.Errorf("a set that is gone is %+v", states)
		case anew && (len(states) != 1 || states[0].Object.UID != "u2" || states[0].Object.Status != ""):
			t.Errorf("a set that was made anew is %+v", states)
		}
	}
}

// What is in force and not whole is no good news.
func TestEventsOfWhatIsIncomplete(t *testing.T) {
	r := newRig(t)
	recorder := record.NewFakeRecorder(10)
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	w := NewWriter(r.Keeper, client, namespace, recorder, clocktesting.NewFakeClock(noon))
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains "one"`), "", labelled))
	r.inventories.missing = errors.New("the inventory lacks secrets")
	w.round(t.Context())
	if event := <-recorder.Events; !strings.Contains(event, "Warning "+ReasonIncomplete) || !strings.Contains(event, "lacks secrets") {
		t.Errorf("event %s", event)
	}
}

func patches(client *fake.Clientset) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func TestSettingsOfBundles(t *testing.T) {
	r := newRig(t)
	s := NewBundleSettings(r.Keeper, namespace)
	var told []string
	s.Notify(func(bundle string) { told = append(told, bundle) })
	settings := func(in, name, text string) []byte {
		raw, err := json.Marshal(corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name, Labels: map[string]string{BundleLabel: "org"}},
			Data:       map[string]string{userpolicy.SettingsFile: text},
		})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, raw := range [][]byte{settings("shop", "theirs", "enforcement: dryrun"), settings(namespace, "ours", "enforcement: warn")} {
		if err := s.Upsert(raw); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := s.Settings("org"); err != nil || text != "enforcement: warn" || fmt.Sprint(told) != "[org]" {
		t.Errorf("%q, %v; told of %q", text, err, told)
	}
	if text, err := s.Settings("other"); err != nil || text != "" {
		t.Errorf("of another bundle: %q, %v", text, err)
	}
	if err := s.Upsert(settings(namespace, "more", "enforcement: deny")); err != nil {
		t.Fatal(err)
	}
	if err := s.Upsert(settings(namespace, "more", "enforcement: deny")); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(told) != "[org org]" {
		t.Errorf("told of %q, want once for each change", told)
	}
	if _, err := s.Settings("org"); err == nil || !strings.Contains(err.Error(), "more and ours both") {
		t.Errorf("two ConfigMaps: %v", err)
	}
	if status := statusOf(r.States()[0], nil); status.State != Invalid || !strings.Contains(status.Message, "policies.bundles") {
		t.Errorf("settings of a bundle that nobody has: %+v", status)
	}
	s.Delete(namespace, "more")
	if text, err := s.Settings("org"); err != nil || text != "enforcement: warn" {
		t.Errorf("%q, %v", text, err)
	}
	r.measure(&State{Name: "bundle/org"}) // as happens every now and then
	s.Delete(namespace, "ours")
	families, err := r.registry.Gather()
	if states := r.States(); err != nil || len(states) != 0 || len(families) != 0 {
		t.Errorf("settings that are gone leave %+v and metrics %v behind, %v", states, families, err)
	}
}

// Between the moment that a set is known and the moment that it is compiled nothing is written: what its status says of the entry that is
// registered would be lost.
func TestWriterWaitsForASetThatIsBeingCompiled(t *testing.T) {
	r := newRig(t)
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", UID: "u1"}})
	w := NewWriter(r.Keeper, client, namespace, record.NewFakeRecorder(10), clocktesting.NewFakeClock(noon))
	r.Describe("p", &Object{Name: "p", UID: "u1"})
	w.round(t.Context())
	if n := len(client.Actions()); n != 0 {
		t.Errorf("%d writes", n)
	}
	r.upsert(t, labelledMap(namespace, "p", rules(`deny contains x`), "", labelled))
	w.round(t.Context())
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d writes, want a status", n)
	}
}
