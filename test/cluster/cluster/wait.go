package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

const (
	// startLimit bounds the wait for one program or node; it is for the slowest machine, usual are seconds.
	startLimit = 3 * time.Minute
	waitPoll   = 100 * time.Millisecond
)

// startAndAwait starts a program and waits until it serves.
func (c *Cluster) startAndAwait(ctx context.Context, name string) error {
	spec, err := c.spec(name)
	if err != nil {
		return err
	}
	ended, err := process.Start(c.dir, spec)
	if err != nil {
		return err
	}
	return c.await(ctx, name, ended, c.serving(name))
}

// serving is the check that a program serves; nil where nothing depends on it.
func (c *Cluster) serving(name string) func(context.Context) error {
	switch {
	case name == APIServer:
		return c.apiReady
	case name == Etcd:
		return func(ctx context.Context) error { return httpOK(ctx, c.etcdURL()+"/health") }
	case name == ImageRegistry:
		return func(ctx context.Context) error { return httpOK(ctx, "http://"+c.Registry()+"/v2/") }
	case strings.HasSuffix(name, "/"+Containerd):
		socket := c.containerdSocket(strings.TrimSuffix(name, "/"+Containerd))
		return func(context.Context) error { return dialUnix(socket) }
	}
	return nil
}

func dialUnix(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}

// await polls check until it succeeds. It gives up when the program ends, with what its log says last.
func (c *Cluster) await(ctx context.Context, name string, ended <-chan struct{}, check func(context.Context) error) error {
	if check == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("%s did not serve within %s", name, startLimit))
	defer cancel()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%s ended at its start:\n%s", name, lastLines(c.log(name)))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %v)", name, context.Cause(ctx), last)
		case <-time.After(waitPoll):
		}
	}
}

// lastLines returns the end of a log, where a program says why it ended.
func lastLines(path string) string {
	const keep = 15
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-keep):], "\n")
}

func httpOK(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, strconv.Itoa(resp.StatusCode))
	}
	return nil
}

// Client is a typed client with all rights.
func (c *Cluster) Client() (*kubernetes.Clientset, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

func (c *Cluster) apiReady(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	_, err = client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

// waitDefaultServiceAccount waits for what every Pod needs and the controller manager makes.
func (c *Cluster) waitDefaultServiceAccount(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.await(ctx, "the service account default", nil, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// waitNodeReady waits until kubelet reports the node as Ready.
func (c *Cluster) waitNodeReady(ctx context.Context, node string, ended <-chan struct{}) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	return c.await(ctx, NodeProcess(node, Kubelet), ended, func(ctx context.Context) error {
		n, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
				return fmt.Errorf("%s is not ready: %s", node, cond.Message)
			}
			if cond.Type == corev1.NodeReady {
				return nil
			}
		}
		return fmt.Errorf("%s has no Ready condition yet", node)
	})
}
