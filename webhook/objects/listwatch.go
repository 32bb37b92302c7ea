package objects

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/webhook/jsonwalk"
)

// listWatch lists and watches the objects of a feed's kind.
func (f *feed) listWatch(client rest.Interface) cache.ListerWatcher {
	request := func(options metav1.ListOptions) *rest.Request {
		options.LabelSelector = f.kind.Selector
		return client.Get().AbsPath(path(f.kind)).SpecificallyVersionedParams(&options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			attempt := f.begin()
			stream, err := request(options).Stream(ctx)
			if err != nil {
				f.failed(err)
				return nil, err
			}
			defer func() { _ = stream.Close() }() // it was only read from
			list, err := streamList(stream, func(raw *Raw) { f.early(attempt, raw) })
			if err != nil {
				f.failed(err)
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			attempt := f.begin()
			stream, err := request(options).Stream(ctx)
			if err != nil {
				f.failed(err)
				return nil, err
			}
			var early func(*Raw)
			if ptr.Deref(options.SendInitialEvents, false) {
				early = func(raw *Raw) { f.early(attempt, raw) }
			}
			return watch.NewStreamWatcher(newEvents(stream, early), apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
		},
	}
}

// bodyOf is an answer's body, or the error that the API server put into it; Raw alone calls that one "unknown".
func bodyOf(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

func path(kind Kind) string {
	base := "/apis/" + kind.Group + "/" + kind.Version + "/"
	if kind.Group == "" {
		base = "/api/" + kind.Version + "/"
	}
	if kind.Namespace != "" {
		base += "namespaces/" + kind.Namespace + "/"
	}
	return base + kind.Resource
}

// readList reads a list. Each item gets memory of its own, as one that stays must not hold the whole list.
func readList(body []byte) (*RawList, error) {
	list := &RawList{}
	var items jsontext.Value
	err := jsonwalk.Walk(body, func(w *jsonwalk.Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "metadata":
				err = readListMeta(w, &list.ListMeta)
			case "items":
				items, err = w.Value()
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	parts, err := elements(items)
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	list.Items = make([]Raw, len(parts))
	for i, part := range parts {
		raw, err := newRaw(bytes.Clone(part))
		if err != nil {
			return nil, fmt.Errorf("reading item %d of a list: %w", i, err)
		}
		list.Items[i] = *raw
	}
	return list, nil
}

func readListMeta(w *jsonwalk.Walker, meta *metav1.ListMeta) error {
	return w.Object(func(name string) (err error) {
		switch name {
		case "resourceVersion":
			meta.ResourceVersion, err = w.String()
		case "continue":
			meta.Continue, err = w.String()
		}
		return err
	})
}
