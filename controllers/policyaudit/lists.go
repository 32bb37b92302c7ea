package policyaudit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// firstPage is small, for there are resources whose objects have a megabyte each; by their size the next pages grow.
	firstPage = 50
	// largestPage is what the API server itself recommends for lists in pages.
	largestPage = 500
	// pageBytes is about how large a page may be: what an audit holds in memory.
	pageBytes = 8 << 20
	// onePage is ample for a page, and below what the API server gives a request.
	onePage = 45 * time.Second
	// mostExpired is how often in a row a token may have expired: one that the API server has just given has not, and an aggregated
	// API that says so again and again would be asked for ever, without a pause.
	mostExpired = 3
)

// lists reads lists page by page, from the newest state on: a list from a cache, resourceVersion=0, would ignore the limit and come
// as a whole.
type lists struct {
	client rest.Interface
	clock  clock.PassiveClock
	// rest pauses after a page that took so long.
	rest func(ctx context.Context, took time.Duration)
}

// query is what to list.
type query struct {
	path     []string
	selector string
	// metadata asks for no more than the metadata of objects.
	metadata bool
}

const (
	asWhole    = "application/json"
	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// each reads all objects, and ends with the first error of its own or of do.
func (l lists) each(ctx context.Context, q query, do func(raw jsontext.Value) error) error {
	for token, limit, expired := "", firstPage, 0; ; {
		start := l.clock.Now()
		page, err := l.page(ctx, q, token, limit)
		if next := goOn(err); next != "" && expired < mostExpired {
			token = next
			expired++
			continue
		}
		if err != nil {
			return err
		}
		expired = 0
		for _, item := range page.Items {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := do(item); err != nil {
				return err
			}
		}
		l.rest(ctx, l.clock.Since(start))
		if token = page.Metadata.Continue; token == "" {
			return ctx.Err()
		}
		limit = nextLimit(page.size, len(page.Items))
	}
}

// page is a page of a list.
type page struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []jsontext.Value `json:"items"`

	size int
}

func (l lists) page(ctx context.Context, q query, token string, limit int) (page, error) {
	within, cancel := context.WithTimeout(ctx, onePage)
	defer cancel()
	accept := asWhole
	if q.metadata {
		accept = asMetadata
	}
	request := l.client.Get().AbsPath(q.path...).SetHeader("Accept", accept).Param("limit", strconv.Itoa(limit))
	if q.selector != "" {
		request.Param("labelSelector", q.selector)
	}
	if token != "" {
		request.Param("continue", token)
	}
	result := request.Do(within)
	// The error comes first: Raw alone does not read the status that the API server sent.
	if err := result.Error(); err != nil {
		return page{}, err
	}
	body, err := result.Raw()
	if err != nil {
		return page{}, err
	}
	p := page{size: len(body)}
	if err := json.Unmarshal(body, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return page{}, fmt.Errorf("reading a list: %w", err)
	}
	return p, nil
}

// goOn is the token by which a list goes on that took longer than the API server keeps its state: from the newest one, which is
// good enough here. "" for other errors.
func goOn(err error) string {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// nextLimit is for a page of about pageBytes after one of a size.
func nextLimit(size, items int) int {
	if items == 0 || size == 0 {
		return firstPage
	}
	return max(1, min(largestPage, pageBytes/max(1, size/items)))
}
