package cluster

import (
	"context"
	"crypto/tls"
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

// startAndAwait starts a program and waits until it serves. The channel is closed when it ends.
func (c *Cluster) startAndAwait(ctx context.Context, name string) (<-chan struct{}, error) {
	spec, err := c.spec(name)
	if err != nil {
		return nil, err
	}
	ended, err := process.Start(c.dir, spec)
	if err != nil {
		return nil, err
	}
	return ended, c.await(ctx, name, ended, func(ctx context.Context) error { return c.serving(ctx, name) })
}

// serving is nil when a program serves.
func (c *Cluster) serving(ctx context.Context, name string) error {
	const local = "127.0.0.1:%d"
	s := c.state.Slot
	switch name {
	case Etcd:
		return httpOK(ctx, c.etcdURL()+"/health")
	case APIServer:
		return c.apiReady(ctx)
	case ControllerManager:
		return httpOK(ctx, fmt.Sprintf("https://"+local+"/healthz", s.controllerPort()))
	case Scheduler:
		return httpOK(ctx, fmt.Sprintf("https://"+local+"/healthz", s.schedulerPort()))
	case Kwok:
		return httpOK(ctx, fmt.Sprintf("http://"+local+"/healthz", s.kwokPort()))
	case ImageRegistry:
		return httpOK(ctx, "http://"+c.Registry()+"/v2/")
	}
	node, program, _ := strings.Cut(name, "/")
	if program == Containerd {
		return dialUnix(c.containerdSocket(node))
	}
	number, err := nodeNumber(node)
	if err != nil {
		return err
	}
	return httpOK(ctx, fmt.Sprintf("http://"+local+"/healthz", s.healthzPort(number)))
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
			return fmt.Errorf("waiting for %s: %w (last: %w)", name, context.Cause(ctx), last)
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

// localClient talks to this machine's own ports only, where controller manager and scheduler show certificates
// that they signed themselves.
var localClient = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

func httpOK(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := localClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // only the status is of interest
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
