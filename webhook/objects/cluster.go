package objects

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Cluster feeds objects from the API server's watches. It keeps no objects itself.
type Cluster struct {
	client rest.Interface
	feeds  []*feed
	log    klog.Logger
}

// NewCluster makes a source of the kinds. config must have no timeout, which would end the watches.
func NewCluster(config *rest.Config, log klog.Logger, kinds ...Kind) (*Cluster, error) {
	client, err := rawClient(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{client: client, log: log}
	for _, kind := range kinds {
		c.feeds = append(c.feeds, newFeed(kind, log))
	}
	return c, nil
}

// rawClient speaks JSON to any API group and decodes nothing but errors.
func rawClient(config *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for raw objects: %w", err)
	}
	return client, nil
}

// backoff between attempts to list and watch. Its cap is below the library's 30 s: a replica that starts while the API
// server is away should serve soon after it is back.
var backoff = wait.Backoff{Duration: 250 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}

// Run feeds the sinks until ctx ends. What cannot be read is tried again without end.
func (c *Cluster) Run(ctx context.Context) error {
	var reflectors sync.WaitGroup
	for _, f := range c.feeds {
		retry, log := backoff, f.quietly(c.log)
		reflector := cache.NewReflectorWithOptions(f.listWatch(c.client), &Raw{}, f, cache.ReflectorOptions{
			Name: f.kind.String(), TypeDescription: f.kind.String(), Logger: &log, Backoff: &retry,
		})
		reflectors.Go(func() { reflector.RunWithContext(klog.NewContext(ctx, log)) })
	}
	reflectors.Wait()
	return nil
}

// Synced is nil once every sink has been told of all objects that existed at the start; else it says what is missing,
// and what the API server said about it.
func (c *Cluster) Synced() error {
	var missing []error
	for _, f := range c.feeds {
		if err := f.synced(); err != nil {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}

// Revisions tells by resource which versions of all its objects the sinks have been told of, as a number below 2^48: replicas
// that know the same have the same one, whatever the order in which they heard of it.
func (c *Cluster) Revisions() map[string]uint64 {
	revisions := make(map[string]uint64, len(c.feeds))
	for _, f := range c.feeds {
		f.mu.Lock()
		revisions[f.kind.String()] = f.revision >> 16
		f.mu.Unlock()
	}
	return revisions
}

// LiveNamespace reads namespaces from the API server, past every cache.
func (c *Cluster) LiveNamespace(ctx context.Context, name string) (labels map[string]string, found bool, err error) {
	raw, err := bodyOf(c.client.Get().AbsPath("/api/v1/namespaces", name).Do(ctx))
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	h, err := readHeader(raw)
	if err != nil {
		return nil, false, err
	}
	return completed(name, h.metadata.Labels), true, nil
}

// LiveObject reads an object of a kind from the API server, past every cache. name must be one that an object can have: it
// becomes a part of the path.
func (c *Cluster) LiveObject(ctx context.Context, kind Kind, name string) (raw jsontext.Value, found bool, err error) {
	body, err := bodyOf(c.client.Get().AbsPath(path(kind), name).Do(ctx))
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// LiveObjects reads the objects of a kind that have the labels from the API server, past every cache.
func (c *Cluster) LiveObjects(ctx context.Context, kind Kind, having labels.Set) ([]jsontext.Value, error) {
	body, err := bodyOf(c.client.Get().AbsPath(path(kind)).Param("labelSelector", having.AsSelector().String()).Do(ctx))
	if err != nil {
		return nil, err
	}
	list, err := readList(body)
	if err != nil {
		return nil, err
	}
	items := make([]jsontext.Value, len(list.Items))
	for i := range list.Items {
		items[i] = list.Items[i].JSON
	}
	return items, nil
}
