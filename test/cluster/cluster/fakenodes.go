package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/test/cluster/internal/binaries"
	"github.com/fairlead-io/fairlead/test/cluster/internal/kubelets"
)

const (
	// fakeNodeLease is how long a fake node's lease holds; a quarter of it passes between renewals. Real nodes renew every
	// ten seconds, which for a thousand nodes would be the most that the API server does.
	fakeNodeLease = 200 * time.Second
	// fakeNodeGrace is how long the controller manager waits for a lease: longer than it holds, and long enough for a
	// machine so busy that nobody gets to renew it.
	fakeNodeGrace = 300 * time.Second
	// fakeNodesAtOnce bounds the requests that are open while nodes are made.
	fakeNodesAtOnce = 16
)

// kwokProgram finds kwok for the level that needs it.
func kwokProgram(ctx context.Context, level Level, cache string, log io.Writer) (string, error) {
	if level != LevelKwok {
		return "", nil
	}
	return binaries.EnsureKwok(ctx, cache, log)
}

// writeKwokConfig writes what kwok makes nodes and Pods do.
func (c *Cluster) writeKwokConfig() error {
	if c.state.Level != LevelKwok {
		return nil
	}
	if err := os.WriteFile(c.kwok(), []byte(kubelets.Stages), 0o644); err != nil {
		return fmt.Errorf("writing the configuration of kwok: %w", err)
	}
	return nil
}

func (c *Cluster) kwokArgs() []string {
	s := c.state.Slot
	return []string{
		c.state.Kwok, "--config=" + c.kwok(), "--kubeconfig=" + c.kubeconfig(Kwok), "--manage-all-nodes=true",
		"--cidr=" + s.pods().String(), "--node-lease-duration-seconds=" + strconv.Itoa(int(fakeNodeLease.Seconds())),
		"--server-address=127.0.0.1:" + strconv.Itoa(s.kwokPort()),
	}
}

// startFakeNode makes the object of a node, as a kubelet that registers itself, and waits until kwok has it Ready.
func (c *Cluster) startFakeNode(ctx context.Context, number int) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	node := fakeNode(number, c.state.Slot, c.state.KubernetesVersion)
	_, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // an interrupted start left it
		return fmt.Errorf("making %s: %w", node.Name, err)
	}
	return c.waitNodeReady(ctx, node.Name, nil)
}

// fakeNode is a node as large as common machines are, with room for as many Pods as a node's range of addresses has.
func fakeNode(number int, s slot, kubernetes string) *corev1.Node {
	name := nodeName(number)
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("250"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: s.fakeNode(number).String()}, {Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v" + kubernetes,
				ContainerRuntimeVersion: "kwok://" + binaries.KwokVersion,
			},
		},
	}
}
