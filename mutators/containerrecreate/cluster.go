package containerrecreate

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// NewCluster reads from an API server through a client of the core group, such as CoreV1().RESTClient(). Its requests
// end with their context.
func NewCluster(core rest.Interface) Live { return cluster{core} }

type cluster struct{ core rest.Interface }

// Pod implements Live.
func (c cluster) Pod(ctx context.Context, namespace, name string) (jsontext.Value, error) {
	return c.get(ctx, "application/json", c.core.Get().Namespace(namespace).Resource("pods").Name(name))
}

// metadataOnly spares the images that a node has, which are most of it.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// NodeLabels implements Live.
func (c cluster) NodeLabels(ctx context.Context, name string) (map[string]string, error) {
	raw, err := c.get(ctx, metadataOnly, c.core.Get().Resource("nodes").Name(name))
	if err != nil {
		return nil, err
	}
	top, err := jsontree.Parse(raw)
	if err != nil {
		return nil, err
	}
	labels := make(map[string]string)
	if metadata := top.Object("metadata"); metadata != nil && metadata.Object("labels") != nil {
		for _, label := range metadata.Object("labels").Members() {
			labels[label.Name] = label.Value.Text()
		}
	}
	return labels, nil
}

func (c cluster) get(ctx context.Context, accept string, request *rest.Request) (jsontext.Value, error) {
	result := request.SetHeader("Accept", accept).Do(ctx)
	// The error comes first: Raw alone does not read the status that the API server sent.
	if err := result.Error(); err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	return raw, err
}
