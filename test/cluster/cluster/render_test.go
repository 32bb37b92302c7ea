package cluster

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// testCluster is a cluster that was never started, in slot 1.
func testCluster(dir string, level Level) *Cluster {
	return &Cluster{layout: layout{dir: dir}, state: state{
		Name: "demo", Level: level, KubernetesVersion: "1.37.2", Slot: 1, Nodes: []int{1, 2}, Binaries: "/k8s",
		ExtraArgs: map[string][]string{APIServer: {"--v=6"}},
	}}
}

func TestAPIServerArguments(t *testing.T) {
	tests := []struct {
		level         Level
		want, without []string
	}{
		{LevelReal, []string{
			"--etcd-servers=http://127.0.0.1:21201", "--secure-port=21200", "--advertise-address=10.65.0.1",
			"--service-cluster-ip-range=10.65.128.0/20", "--enable-aggregator-routing=true", "--authorization-mode=Node,RBAC", "--v=6",
		}, []string{"--bind-address=127.0.0.1", "--endpoint-reconciler-type=none"}},
		{LevelAPIServer, []string{"--bind-address=127.0.0.1", "--endpoint-reconciler-type=none", "--v=6"}, []string{"--advertise-address=10.65.0.1"}},
		{LevelKwok, []string{"--bind-address=127.0.0.1", "--endpoint-reconciler-type=none"}, []string{"--advertise-address=10.65.0.1"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.level), func(t *testing.T) {
			spec, err := testCluster("/d", tt.level).controlSpec(APIServer)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Args[0] != "/k8s/kube-apiserver" {
				t.Errorf("program %s", spec.Args[0])
			}
			for _, a := range tt.want {
				if !slices.Contains(spec.Args, a) {
					t.Errorf("lacks %s", a)
				}
			}
			for _, a := range tt.without {
				if slices.Contains(spec.Args, a) {
					t.Errorf("has %s", a)
				}
			}
		})
	}
}

func TestControlPlaneOfLevels(t *testing.T) {
	two, four := []string{Etcd, APIServer}, []string{Etcd, APIServer, ControllerManager, Scheduler}
	for _, tt := range []struct {
		s    state
		want []string
	}{
		{state{Level: LevelAPIServer}, two},
		{state{Level: LevelAPIServer, Controllers: true}, four},
		{state{Level: LevelKwok}, append(slices.Clone(four), Kwok)},
		{state{Level: LevelReal}, four},
	} {
		if diff := cmp.Diff(tt.want, tt.s.controlPlane()); diff != "" {
			t.Errorf("level %s: %s", tt.s.Level, diff)
		}
	}
}

func TestKubeletConfiguration(t *testing.T) {
	var got map[string]any
	if err := yaml.Unmarshal([]byte(testCluster("/d", LevelReal).kubeletConfig(2, 37)), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"address":                  "10.65.0.3",
		"port":                     float64(21222),
		"healthzPort":              float64(21223),
		"cgroupRoot":               "/fairlead/demo/node2/pods",
		"cgroupDriver":             "cgroupfs",
		"failCgroupV1":             false,
		"containerRuntimeEndpoint": "unix:///d/sock/node2/containerd/containerd.sock",
		"enforceNodeAllocatable":   []any{},
		"evictionHard":             map[string]any{},
	} {
		value, ok := got[key]
		if diff := cmp.Diff(want, value); !ok || diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// A kubelet refuses fields that it does not know, so an older one must not see newer ones.
func TestKubeletConfigurationOfOldReleases(t *testing.T) {
	for minor, want := range map[int]bool{30: false, 31: true, 37: true} {
		if got := strings.Contains(testCluster("/d", LevelReal).kubeletConfig(1, minor), "failCgroupV1"); got != want {
			t.Errorf("1.%d: failCgroupV1 is there: %t, want %t", minor, got, want)
		}
	}
}

func TestCNIConfiguration(t *testing.T) {
	var got struct {
		Name    string
		Plugins []struct {
			Bridge string
			IPAM   struct {
				DataDir string
				Ranges  [][]struct{ Subnet, RangeStart, RangeEnd, Gateway string }
			}
		}
	}
	if err := json.Unmarshal([]byte(testCluster("/d", LevelReal).cniConfig(2)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "fairlead-demo-node2" || got.Plugins[0].Bridge != "fairlead1" || got.Plugins[0].IPAM.DataDir != "/d/nodes/node2/ipam" {
		t.Errorf("got %+v", got)
	}
	want := struct{ Subnet, RangeStart, RangeEnd, Gateway string }{"10.65.0.0/17", "10.65.2.2", "10.65.2.254", "10.65.0.1"}
	if diff := cmp.Diff(want, got.Plugins[0].IPAM.Ranges[0][0]); diff != "" {
		t.Error(diff)
	}
}

// Whatever containerd keeps must be below the node's folder, or Stop would leave it behind.
func TestContainerdKeepsToItsFolder(t *testing.T) {
	config := testCluster("/d", LevelReal).containerdConfig("node1", "/usr/lib/cni")
	for _, line := range []string{
		`root = "/d/nodes/node1/containerd"`, `state = "/d/nodes/node1/run"`, `Root = "/d/nodes/node1/runc"`,
		`path = "/d/nodes/node1/opt"`, `address = "/d/sock/node1/containerd/containerd.sock"`,
		`netns_mounts_under_state_dir = true`, `conf_dir = "/d/nodes/node1/cni"`,
	} {
		if !strings.Contains(config, line) {
			t.Errorf("lacks %s", line)
		}
	}
}

func TestCredentials(t *testing.T) {
	c := testCluster(t.TempDir(), LevelReal)
	if err := c.writeCredentials(); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:21200" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("kubeconfig of %s with %d bytes of CA, %d of certificate, %d of key", config.Host, len(config.CAData), len(config.CertData), len(config.KeyData))
	}
	info, err := os.Stat(c.pki().Key("ca"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the authority's key has mode %o, want 600", info.Mode().Perm())
	}
}
