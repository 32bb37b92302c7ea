package apiserver

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// TestKindsOnAnAPIServer creates an object of each kind and version and looks at it as users and our own clients do.
func TestKindsOnAnAPIServer(t *testing.T) {
	c := start(t)
	objects := typedClient(t, c)
	for _, e := range examples(t) {
		t.Run(e.Kind.Kind+"."+e.Version, func(t *testing.T) {
			create(t, c, e.manifest)
			checkColumns(t, c, e)
			checkExplain(t, c, e)
			checkStatus(t, objects, e)
			if e.Scale != nil {
				checkScale(t, c, e)
			}
			if e.Storage {
				checkStorage(t, c, e)
			}
			checkTyped(t, objects, e)
		})
	}
	checkCells(t, c)
	checkKept(t, objects)
}

// checkColumns compares the header that kubectl prints, which is in capitals.
func checkColumns(t *testing.T, c *cluster.Cluster, e example) {
	t.Helper()
	want, wide := []string{"NAME"}, []string{"NAME"}
	for _, column := range e.Columns {
		if column.Priority == 0 {
			want = append(want, strings.ToUpper(column.Name))
		}
		wide = append(wide, strings.ToUpper(column.Name))
	}
	if e.Columns == nil { // what the API server shows of a kind that names no columns
		want, wide = append(want, "AGE"), append(wide, "AGE")
	}
	if diff := cmp.Diff(want, header(kubectl(t, c, "get", e.resource(), e.name()))); diff != "" {
		t.Errorf("columns differ:\n%s", diff)
	}
	if diff := cmp.Diff(wide, header(kubectl(t, c, "get", e.resource(), e.name(), "-o", "wide"))); diff != "" {
		t.Errorf("wide columns differ:\n%s", diff)
	}
}

func header(table string) []string {
	line, _, _ := strings.Cut(table, "\n")
	return strings.Fields(line)
}

// checkExplain looks up the spec; that each field has a description is known without a server.
func checkExplain(t *testing.T, c *cluster.Cluster, e example) {
	t.Helper()
	out := kubectl(t, c, "explain", e.Plural()+".spec", "--api-version="+e.Group+"/"+e.Version)
	for _, want := range slices.Sorted(maps.Keys(e.object.Object["spec"].(map[string]any))) {
		if !strings.Contains(out, "\n  "+want+"\t") {
			t.Errorf("explaining the spec does not show %s:\n%s", want, out)
		}
	}
}

// checkStatus writes a status that has only what is required: such a write must leave the spec alone.
func checkStatus(t *testing.T, objects client.Client, e example) {
	t.Helper()
	stored := read(t, objects, e, e.name())
	before := stored.GetGeneration()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+requiredStatus(e)+`}`))
	if err := objects.Status().Patch(t.Context(), stored, patch, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	if after := stored.GetGeneration(); after != before {
		t.Errorf("a status write moved the generation from %d to %d", before, after)
	}
}

func requiredStatus(e example) string {
	switch e.Kind.Kind {
	case "CloneSet":
		return `{"replicas":3,"readyReplicas":3,"availableReplicas":3,"updatedReplicas":2,"updatedReadyReplicas":1,"labelSelector":"app=web"}`
	case "StatefulSet":
		return `{"replicas":3,"readyReplicas":3,"availableReplicas":3,"currentReplicas":1,"updatedReplicas":2,"labelSelector":"app=web"}`
	case "UnitedDeployment":
		return `{"replicas":3,"updatedReplicas":2,"currentRevision":"a","labelSelector":"app=web"}`
	case "DaemonSet":
		return `{"currentNumberScheduled":1,"desiredNumberScheduled":2,"numberMisscheduled":0,"numberReady":1,"updatedNumberScheduled":1}`
	case "ContainerRecreateRequest":
		return `{"phase":"Pending"}`
	case "ImagePullJob", "ImageListPullJob", "NodeImage":
		return `{"desired":2}`
	case "PersistentPodState", "PodProbeMarker":
		return `{"observedGeneration":1}`
	case "PodUnavailableBudget":
		return `{"currentAvailable":3,"desiredAvailable":2,"totalReplicas":3,"unavailableAllowed":1}`
	case "SidecarSet":
		return `{"matchedPods":3,"readyPods":2,"updatedPods":1}`
	}
	return `{}`
}

// checkScale scales and reads the subresource that autoscalers use.
func checkScale(t *testing.T, c *cluster.Cluster, e example) {
	t.Helper()
	kubectl(t, c, "scale", e.resource(), e.name(), "--replicas=5")
	var scale autoscalingv1.Scale
	if err := json.Unmarshal([]byte(kubectl(t, c, "get", "--raw", e.path()+"/scale")), &scale); err != nil {
		t.Fatal(err)
	}
	want := autoscalingv1.ScaleStatus{Replicas: 3, Selector: "app=web"}
	if scale.Spec.Replicas != 5 || scale.Status != want {
		t.Errorf("scale is %+v %+v, want 5 replicas and %+v", scale.Spec, scale.Status, want)
	}
}

// checkStorage looks at the definition, and finds the kind by its short names.
func checkStorage(t *testing.T, c *cluster.Cluster, e example) {
	t.Helper()
	if got := kubectl(t, c, "get", "crd", e.Plural()+"."+e.Group, "-o", "jsonpath={.status.storedVersions}"); got != `["`+e.Version+`"]` {
		t.Errorf("stored versions are %s, want %s only", got, e.Version)
	}
	for _, short := range e.ShortNames {
		kubectl(t, c, "get", short+"."+e.Group, e.name())
	}
}

// checkCells looks at the columns whose path is more than names and dots.
func checkCells(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for object, want := range map[string][]string{
		"crr/containerrecreaterequest-v1beta1": {"Pending", "web-0", "node-7"},
		"ws/workloadspread-v1beta1":            {"web", "CloneSet"},
	} {
		out := kubectl(t, c, "get", object, "--no-headers")
		if got := strings.Fields(out); !slices.Equal(got[1:len(want)+1], want) {
			t.Errorf("kubectl get %s shows %q, want %q", object, got[1:], want)
		}
	}
}

// checkKept looks for what a schema that knows less than the object would have dropped, and for defaults.
func checkKept(t *testing.T, objects client.Client) {
	t.Helper()
	for _, check := range []struct{ kind, path, want string }{
		{"SidecarSet v1beta1", "{.spec.containers[0].fieldOfTheFuture.a}", "1"},
		{"SidecarSet v1beta1", "{.spec.containers[0].resizePolicy[0].resourceName}", "cpu"},
		{"SidecarSet v1beta1", "{.spec.volumes[0].emptyDir.fieldOfTheFuture}", "1"},
		{"SidecarSet v1beta1", "{.spec.injectionStrategy.revision.policy}", "Always"},
		{"SidecarSet v1beta1", "{.spec.initContainers[0].resourcesPolicy.targetContainersNameRegex}", ".*"},
		{"CloneSet v1beta1", "{.spec.template.spec.containers[0].fieldOfTheFuture.a}", "1"},
		{"CloneSet v1beta1", "{.spec.scaleStrategy.enablePVCReuse}", "false"},
		{"AdvancedCronJob v1alpha1", "{.spec.template.broadcastJobTemplate.metadata.labels.team}", "a"},
		{"AdvancedCronJob v1beta1", "{.spec.template.imageListPullJobTemplate.metadata.labels.team}", "a"},
		{"ContainerRecreateRequest v1beta1", "{.spec.containers[0].preStop.sleep.seconds}", "5"},
		{"ContainerRecreateRequest v1beta1", "{.spec.containers[1].ports[0].protocol}", "TCP"},
		{"UnitedDeployment v1beta1", "{.spec.template.cloneSetTemplate.metadata.labels.app}", "web"},
		{"UnitedDeployment v1beta1", "{.spec.topology.subsets[0].patch.metadata.labels.zone}", "a"},
		{"ResourceDistribution v1beta1", "{.spec.resource.metadata.labels.a}", "b"},
	} {
		for _, e := range examples(t) {
			if e.Kind.Kind+" "+e.Version != check.kind {
				continue
			}
			if got := evaluate(t, check.path, read(t, objects, e, e.name()).Object); got != check.want {
				t.Errorf("%s of %s is %q, want %q", check.path, check.kind, got, check.want)
			}
		}
	}
}

func evaluate(t *testing.T, path string, object map[string]any) string {
	t.Helper()
	p, out := jsonpath.New("check").AllowMissingKeys(true), new(strings.Builder)
	if err := errors.Join(p.Parse(path), p.Execute(out, object)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func read(t *testing.T, objects client.Client, e example, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(e.object.GroupVersionKind())
	if err := objects.Get(t.Context(), e.key(name), object); err != nil {
		t.Fatal(err)
	}
	return object
}
