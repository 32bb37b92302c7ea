package deletion

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// NewCensus counts in an API server through a client of any group, whose requests end with their context.
func NewCensus(client rest.Interface) Census { return cluster{client} }

type cluster struct{ client rest.Interface }

const (
	// pageSize is what the API server itself recommends for lists in pages, and large enough that nearly every
	// namespace is one page. Counting ends with the first page that has a hit, so 10,000 Pods cost no more than 500.
	pageSize = 500
	// asMetadata spares everything else of the objects, which is most of them.
	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	asWhole    = "application/json"
)

// ActivePods implements Census. The API server chooses by phase, so that metadata is enough.
func (c cluster) ActivePods(ctx context.Context, namespace string) (Count, error) {
	return c.count(ctx, list{
		path: []string{"/api/v1/namespaces", namespace, "pods"}, accept: asMetadata,
		fields: "status.phase!=Succeeded,status.phase!=Failed", first: pageSize,
	})
}

// BoundClaims implements Census. Claims cannot be chosen by phase, but they are small.
func (c cluster) BoundClaims(ctx context.Context, namespace string) (Count, error) {
	return c.count(ctx, list{
		path: []string{"/api/v1/namespaces", namespace, "persistentvolumeclaims"}, accept: asWhole, phase: "Bound", first: pageSize,
	})
}

// CustomResources implements Census. The first page is a single object: there may be any number of any size, and one
// that is not being deleted decides.
func (c cluster) CustomResources(ctx context.Context, r schema.GroupVersionResource) (Count, error) {
	return c.count(ctx, list{path: []string{"/apis", r.Group, r.Version, r.Resource}, accept: asMetadata, first: 1})
}

// list is a list of objects, those that are being deleted left out.
type list struct {
	path           []string
	accept, fields string
	// phase is what status.phase must be, "" for any.
	phase string
	// first is the size of the first page.
	first int
}

// count reads pages until one has a hit.
func (c cluster) count(ctx context.Context, l list) (Count, error) {
	for token, size := "", l.first; ; size = pageSize {
		page, err := c.page(ctx, l, token, size)
		if err != nil {
			return Count{}, err
		}
		if token = page.next; page.hits > 0 || token == "" {
			return Count{N: page.hits, More: token != ""}, nil
		}
	}
}

func (c cluster) page(ctx context.Context, l list, token string, size int) (page, error) {
	request := c.client.Get().AbsPath(l.path...).SetHeader("Accept", l.accept).Param("limit", strconv.Itoa(size))
	if l.fields != "" {
		request.Param("fieldSelector", l.fields)
	}
	if token != "" {
		request.Param("continue", token)
	}
	result := request.Do(ctx)
	// The error comes first: Raw alone does not read the status that the API server sent.
	if err := result.Error(); err != nil {
		return page{}, err
	}
	body, err := result.Raw()
	if err != nil {
		return page{}, err
	}
	p, err := readPage(body, l.phase)
	if err != nil {
		return page{}, fmt.Errorf("reading a list: %w", err)
	}
	return p, nil
}

// page is a page of a list.
type page struct {
	hits int
	// next continues the list, "" at its end.
	next string
}

func readPage(body []byte, phase string) (p page, err error) {
	err = jsonwalk.Walk(body, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "metadata":
				p.next, err = text(w, "continue")
			case "items":
				err = w.Array(func() error {
					hit, err := isHit(w, phase)
					if hit {
						p.hits++
					}
					return err
				})
			}
			return err
		})
	})
	return p, err
}

// isHit reads an object of a list.
func isHit(w *jsonwalk.Walker, phase string) (bool, error) {
	var deleting jsontext.Value
	var found string
	err := w.Object(func(name string) error {
		switch name {
		case "metadata":
			return w.Object(func(name string) (err error) {
				if name == "deletionTimestamp" {
					deleting, err = w.Value()
				}
				return err
			})
		case "status":
			if phase == "" {
				return nil
			}
			var err error
			found, err = text(w, "phase")
			return err
		}
		return nil
	})
	return deleting == nil && (phase == "" || phase == found), err
}

// text reads an object and gives the string that a member holds.
func text(w *jsonwalk.Walker, member string) (value string, err error) {
	err = w.Object(func(name string) (err error) {
		if name == member {
			value, err = w.String()
		}
		return err
	})
	return value, err
}
