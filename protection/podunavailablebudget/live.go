package podunavailablebudget

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Live reads single objects at the API server.
type Live struct{ client rest.Interface }

var (
	_ Pods        = Live{}
	_ ReplicaSets = Live{}
)

// NewLive reads through a client of any group; it uses absolute paths.
func NewLive(client rest.Interface) Live { return Live{client} }

// Pod implements Pods.
func (l Live) Pod(ctx context.Context, namespace, name string) (jsontext.Value, error) {
	return l.get(ctx, "Pod", "/api/v1/namespaces", namespace, "pods", name)
}

// ReplicaSet implements ReplicaSets.
func (l Live) ReplicaSet(ctx context.Context, namespace, name string) (jsontext.Value, error) {
	return l.get(ctx, "ReplicaSet", "/apis/apps/v1/namespaces", namespace, "replicasets", name)
}

// get asks for JSON, which the clients of the built-in kinds do not by default.
func (l Live) get(ctx context.Context, kind string, path ...string) (jsontext.Value, error) {
	result := l.client.Get().AbsPath(path...).SetHeader("Accept", "application/json").Do(ctx)
	err := result.Error()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, path[len(path)-1], err)
	}
	return result.Raw()
}
