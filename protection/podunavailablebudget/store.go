package podunavailablebudget

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	policyv1beta1 "github.com/fairlead-io/fairlead/api/policy/v1beta1"
)

// apiServer is the Store.
type apiServer struct{ client rest.Interface }

// NewStore reads and writes through a client of any group of the API server; it uses absolute paths.
func NewStore(client rest.Interface) Store { return apiServer{client} }

func path(name types.NamespacedName) []string {
	version := policyv1beta1.GroupVersion
	return []string{"/apis", version.Group, version.Version, "namespaces", name.Namespace, "podunavailablebudgets", name.Name}
}

// Get implements Store.
func (a apiServer) Get(ctx context.Context, name types.NamespacedName) (*Budget, error) {
	result := a.client.Get().AbsPath(path(name)...).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	budget := &Budget{}
	if err := json.Unmarshal(body, budget); err != nil {
		return nil, fmt.Errorf("decoding PodUnavailableBudget %s: %w", name, err)
	}
	return budget, nil
}

// UpdateStatus implements Store. What is sent of the rest of the budget does not matter to the API server.
func (a apiServer) UpdateStatus(ctx context.Context, budget *Budget) error {
	sent := budget.DeepCopy()
	sent.ManagedFields = nil
	sent.SetGroupVersionKind(policyv1beta1.GroupVersion.WithKind("PodUnavailableBudget"))
	body, err := json.Marshal(sent)
	if err != nil {
		return fmt.Errorf("encoding PodUnavailableBudget %s/%s: %w", budget.Namespace, budget.Name, err)
	}
	name := types.NamespacedName{Namespace: budget.Namespace, Name: budget.Name}
	return a.client.Put().AbsPath(append(path(name), "status")...).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}
