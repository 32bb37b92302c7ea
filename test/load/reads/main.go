// Command reads serves the no-op that also makes the two reads of a capture, a Pod's and its node's labels, with the
// client that captures use: what it spends above the no-op is what the reads cost. It takes an address and a kubeconfig.
package main

import (
	"context"
	"log"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/mutators/containerrecreate"
	"github.com/fairlead-io/fairlead/test/load/noop"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1 // captures are not limited either
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	live := containerrecreate.NewCluster(client.CoreV1().RESTClient())
	log.Fatal(noop.Serve(os.Args[1], func(ctx context.Context) error {
		if _, err := live.Pod(ctx, "shop", "web-0"); err != nil {
			return err
		}
		_, err := live.NodeLabels(ctx, "n1")
		return err
	}))
}
