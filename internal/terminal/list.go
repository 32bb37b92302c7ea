package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pageSize is what the API server itself recommends for lists in pages.
const pageSize = 500

// Each reads the objects of a resource as JSON, page by page; namespace "" is all of them. options are further query
// parameters, such as labelSelector. It ends with the first error of its own or of do.
func (c *Cluster) Each(ctx context.Context, resource schema.GroupVersionResource, namespace string, options map[string]string, do func(raw json.RawMessage) error) error {
	for token := ""; ; {
		request := c.Client.CoreV1().RESTClient().Get().AbsPath(pathOf(resource, namespace, "")...).
			SetHeader("Accept", "application/json").Param("limit", strconv.Itoa(pageSize))
		for name, value := range options {
			request.Param(name, value)
		}
		if token != "" {
			request.Param("continue", token)
		}
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		body, err := result.Raw()
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("reading a list of %s: %w", resource.Resource, err)
		}
		for _, item := range page.Items {
			if err := do(item); err != nil {
				return err
			}
		}
		if token = page.Metadata.Continue; token == "" {
			return nil
		}
	}
}

// Names are the names of a resource's objects.
func (c *Cluster) Names(ctx context.Context, resource schema.GroupVersionResource, namespace string) (names []string, err error) {
	err = c.Each(ctx, resource, namespace, nil, func(raw json.RawMessage) error {
		var object struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		names = append(names, object.Metadata.Name)
		return nil
	})
	return names, err
}
