package cluster

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/test/cluster/internal/cgroup"
	"github.com/fairlead-io/fairlead/test/cluster/internal/pki"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// The programs of a node; NodeProcess makes the name that StopProcess and its like want.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
)

// NodeProcess is the name of a node's program, such as "node1/kubelet".
func NodeProcess(node, program string) string { return node + "/" + program }

// pauseImage is the name of the sandbox image, which holds a Pod's namespaces.
const pauseImage = "registry.k8s.io/pause:3.10"

// writeNode makes the certificate and the configuration of a node.
func (c *Cluster) writeNode(number int) error {
	node, s := nodeName(number), c.state.Slot
	err := c.writeClient(node, pki.Leaf{
		CommonName:    "system:node:" + node,
		Organizations: []string{"system:nodes"},
		DNSNames:      []string{node},
		IPs:           []net.IP{s.node(number).AsSlice(), net.IPv4(127, 0, 0, 1)},
	})
	if err != nil {
		return err
	}
	plugins, err := cniPlugins()
	if err != nil {
		return err
	}
	minor, err := minorVersion(c.state.KubernetesVersion)
	if err != nil {
		return err
	}
	home := c.node(node)
	files := map[string]string{
		"containerd.toml":             c.containerdConfig(node, plugins),
		"certs.d/_default/hosts.toml": registryHosts(c.Registry()),
		"cni/10-bridge.conflist":      c.cniConfig(number),
		"kubelet.yaml":                c.kubeletConfig(number, minor),
	}
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", node, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("writing the configuration of %s: %w", node, err)
		}
	}
	return os.MkdirAll(filepath.Dir(c.containerdSocket(node)), 0o755)
}

// minorVersion is 30 for 1.30.14.
func minorVersion(kubernetes string) (int, error) {
	v, err := version.ParseSemantic(kubernetes)
	if err != nil {
		return 0, fmt.Errorf("reading the Kubernetes version: %w", err)
	}
	return int(v.Minor()), nil
}

// containerdConfig keeps everything of a node's containerd in the node's folder. Version 2 of the format is read
// by containerd 1.6 to 2.x. restrict_oom_score_adj matters on machines that lack CAP_SYS_RESOURCE, where runc
// otherwise dies with "can't get final child's PID from pipe"; elsewhere it changes nothing that tests see.
func (c *Cluster) containerdConfig(node, plugins string) string {
	home := c.node(node)
	return fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins."io.containerd.internal.v1.opt"]
  path = %[4]q
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  sandbox_image = %[5]q
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %[6]q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = %[7]q
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[8]q
    conf_dir = %[9]q
`, filepath.Join(home, "containerd"), filepath.Join(home, "run"), c.containerdSocket(node), filepath.Join(home, "opt"),
		pauseImage, filepath.Join(home, "certs.d"), filepath.Join(home, "runc"), plugins, filepath.Join(home, "cni"))
}

// registryHosts makes the cluster's registry the mirror of every registry, and the only place to ask.
func registryHosts(registry string) string {
	return fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", registry)
}

// cniName is the name of a node's Pod network. CNI's own cache, outside our folder, names its files by it.
func (s state) cniName(number int) string { return "fairlead-" + s.Name + "-" + nodeName(number) }

// cniConfig puts the Pods of all nodes on one bridge, each node with a range of addresses of its own.
func (c *Cluster) cniConfig(number int) string {
	s := c.state.Slot
	first, last := s.podRange(number)
	type object map[string]any
	return renderJSON(object{
		"cniVersion": "0.4.0",
		"name":       c.state.cniName(number),
		"plugins": []object{{
			"type": "bridge", "bridge": s.bridge(), "isGateway": false, "ipMasq": false, "hairpinMode": true,
			"ipam": object{
				"type":    "host-local",
				"dataDir": filepath.Join(c.node(nodeName(number)), "ipam"),
				"ranges": [][]object{{{
					"subnet": s.pods().String(), "rangeStart": first.String(), "rangeEnd": last.String(), "gateway": s.gateway().String(),
				}}},
				"routes": []object{{"dst": "0.0.0.0/0"}},
			},
		}},
	})
}

func renderJSON(v any) string {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // maps of strings: cannot fail
	}
	return string(data) + "\n"
}

// kubeletConfig is the KubeletConfiguration of a node. minor is Kubernetes' minor version.
func (c *Cluster) kubeletConfig(number, minor int) string {
	type object map[string]any
	node, s, d := nodeName(number), c.state.Slot, c.pki()
	config := object{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  s.node(number).String(),
		"port":                     s.kubeletPort(number),
		"healthzBindAddress":       "127.0.0.1",
		"healthzPort":              s.healthzPort(number),
		"tlsCertFile":              d.Crt(node),
		"tlsPrivateKeyFile":        d.Key(node),
		"authentication":           object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": true}, "x509": object{"clientCAFile": d.Crt("ca")}},
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + c.containerdSocket(node),
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + c.state.podCgroup(node),
		// a node's share of the machine is not enforced: nodes together promise more than there is
		"enforceNodeAllocatable":        []string{},
		"localStorageCapacityIsolation": false,
		"makeIPTablesUtilChains":        false,
		"failSwapOn":                    false,
		// a full disk on a developer's machine is no reason to evict Pods or to remove images
		"evictionHard":                map[string]string{},
		"imageGCHighThresholdPercent": 100,
		"serializeImagePulls":         false,
		"registryPullQPS":             0,
		"podLogsDir":                  c.podLogs(node),
		"volumePluginDir":             filepath.Join(c.node(node), "volume-plugins"),
		"clusterDomain":               "cluster.local",
		"clusterDNS":                  []string{s.dns().String()},
		"maxPods":                     200,
	}
	if minor >= 31 {
		config["failCgroupV1"] = false // the field is unknown before, and from 1.35 on true by default
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		panic(err) // plain values: cannot fail
	}
	return string(data)
}

// The cgroups of a node: one that its own programs run in, and one that kubelet makes the Pods' cgroups in.
func (s state) cgroup() string                   { return "fairlead/" + s.Name }
func (s state) nodeCgroup(node string) string    { return s.cgroup() + "/" + node }
func (s state) podCgroup(node string) string     { return s.nodeCgroup(node) + "/pods" }
func (s state) programCgroup(node string) string { return s.nodeCgroup(node) + "/programs" }

// nodeSpec says how to start a program of a node.
func (c *Cluster) nodeSpec(node, program string) (process.Spec, error) {
	number, err := nodeNumber(node)
	c.mu.Lock()
	known := err == nil && c.state.hasNode(number)
	c.mu.Unlock()
	if !known {
		return process.Spec{}, fmt.Errorf("node %q: the cluster has no such node", node)
	}
	tree, err := cgroup.Detect()
	if err != nil {
		return process.Spec{}, err
	}
	if err = tree.Make(c.state.podCgroup(node)); err != nil {
		return process.Spec{}, err
	}
	procs, err := tree.MakeLeaf(c.state.programCgroup(node))
	if err != nil {
		return process.Spec{}, err
	}
	name := NodeProcess(node, program)
	home := c.node(node)
	spec := process.Spec{Name: name, Log: c.log(name), CgroupProcs: procs}
	switch program {
	case Containerd:
		spec.Args = []string{"containerd", "--config", filepath.Join(home, "containerd.toml")}
	case Kubelet:
		spec.Args = []string{
			filepath.Join(c.state.Binaries, "kubelet"), "--config=" + filepath.Join(home, "kubelet.yaml"),
			"--kubeconfig=" + c.kubeconfig(node), "--hostname-override=" + node, "--root-dir=" + filepath.Join(home, "kubelet"),
			"--cert-dir=" + filepath.Join(home, "cert"), "--node-ip=" + c.state.Slot.node(number).String(),
		}
		spec.Args = append(spec.Args, c.state.ExtraArgs[Kubelet]...)
	default:
		return process.Spec{}, fmt.Errorf("process %q: a node has %q and %q", name, Containerd, Kubelet)
	}
	return spec, nil
}
