package defaulting

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/mutators/defaults"
	"github.com/fairlead-io/fairlead/test/cluster/cluster"
)

// TestDefaultsEqualTheAPIServers sends the same containers and volumes through both. It needs the newest Kubernetes:
// older ones drop fields that they do not know.
func TestDefaultsEqualTheAPIServers(t *testing.T) {
	config := cluster.ForTest(t, cluster.Options{
		Level: cluster.LevelAPIServer, KubernetesVersion: cluster.DefaultKubernetesVersion,
	}).RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // of volumes out of date, and of parts of a byte
	client := kubernetes.NewForConfigOrDie(config)
	for _, file := range []string{"testdata/containers.yaml", "testdata/volumes.yaml"} {
		sent := readPart(t, file)
		ours, theirs := defaulted(t, sent), stored(t, client, sent)
		leaveToTheAPIServer(sent, &theirs)
		compare(t, "container", sent.Containers, ours.Containers, theirs.Containers)
		compare(t, "volume", sent.Volumes, ours.Volumes, theirs.Volumes)
	}
}

// part is what a SidecarSet's spec and a Pod's have in common.
type part struct {
	Containers []corev1.Container `json:"containers"`
	Volumes    []corev1.Volume    `json:"volumes"`
}

func readPart(t *testing.T, file string) (p part) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func defaulted(t *testing.T, sent part) part {
	t.Helper()
	result, err := defaults.SidecarSet(encode(t, map[string]any{"spec": sent}))
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Spec part }
	if err := json.Unmarshal(result.Object, &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec
}

func stored(t *testing.T, client kubernetes.Interface, sent part) part {
	t.Helper()
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "defaulting"},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec:       corev1.PodSpec{Containers: sent.Containers, Volumes: sent.Volumes},
		},
	}
	answer, err := client.CoreV1().PodTemplates("default").Create(t.Context(), template, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	return part{answer.Template.Spec.Containers, answer.Template.Spec.Volumes}
}

// leaveToTheAPIServer takes back the two defaults that are not ours to set, since they would enter the hash of a
// SidecarSet and OpenKruise does not set them.
func leaveToTheAPIServer(sent part, answer *part) {
	for i := range answer.Containers {
		was, is := &sent.Containers[i], &answer.Containers[i]
		for _, probe := range [][2]*corev1.Probe{
			{was.LivenessProbe, is.LivenessProbe}, {was.ReadinessProbe, is.ReadinessProbe}, {was.StartupProbe, is.StartupProbe},
		} {
			if probe[0] != nil && probe[0].GRPC != nil {
				probe[1].GRPC.Service = probe[0].GRPC.Service
			}
		}
		for j := range is.Env {
			if from := was.Env[j].ValueFrom; from != nil && from.FileKeyRef != nil {
				is.Env[j].ValueFrom.FileKeyRef.Optional = from.FileKeyRef.Optional
			}
		}
	}
}

// compare goes by the JSON, so that one quantity in two internal forms is one.
func compare[T any](t *testing.T, what string, sent, ours, theirs []T) {
	t.Helper()
	if len(ours) != len(sent) || len(theirs) != len(sent) {
		t.Fatalf("%d %ss sent, %d ours, %d theirs", len(sent), what, len(ours), len(theirs))
	}
	for i := range sent {
		if diff := cmp.Diff(string(encode(t, theirs[i])), string(encode(t, ours[i]))); diff != "" {
			t.Errorf("%s %s (-API server +ours):\n%s", what, encode(t, sent[i]), diff)
		}
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
