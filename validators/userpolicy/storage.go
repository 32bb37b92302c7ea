package userpolicy

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// Inventory is what a set sees as data.inventory.
type Inventory interface {
	// Read is the value at a path below data.inventory, such as ["namespace", "shop", "v1", "Pod"]; nil if there is none.
	Read(path []string) ast.Value
	// Missing says why the inventory is not whole; nil if it is. Rules that depend on it are asked only then.
	Missing() error
}

// store is the data that the rules of a set see. It is read alone: an evaluation that takes long holds nothing that another,
// or a change of the inventory, would wait for, as a store with locks would.
type store struct {
	storage.TriggersNotSupported
	storage.PolicyNotSupported
	// fixed are parameters and what a bundle brings.
	fixed ast.Object
}

// reading is a transaction: one evaluation's view.
type reading struct{ inventory Inventory }

// ID implements storage.Transaction.
func (*reading) ID() uint64 { return 1 }

var errReadOnly = errors.New("the data of policies cannot be written")

func newStore(source *Source) (*store, error) {
	data := make(map[string]any, len(source.Data)+1)
	for name, value := range source.Data {
		data[name] = value
	}
	data["parameters"] = map[string]any{}
	if source.Settings.Parameters != nil {
		data["parameters"] = source.Settings.Parameters
	}
	value, err := ast.InterfaceToValue(data)
	if err != nil {
		return nil, fmt.Errorf("reading parameters and data: %w", err)
	}
	fixed, ok := value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("reading parameters and data: found %T", value)
	}
	return &store{fixed: fixed}, nil
}

const inventoryName = "inventory"

// Read implements storage.Store. It answers values of Rego, which cost no conversion.
func (s *store) Read(_ context.Context, transaction storage.Transaction, path storage.Path) (any, error) {
	var inventory Inventory
	if view, ok := transaction.(*reading); ok {
		inventory = view.inventory
	}
	switch {
	case len(path) == 0 && inventory == nil:
		return s.fixed, nil
	case len(path) == 0:
		whole, _ := s.fixed.Merge(ast.NewObject([2]*ast.Term{ast.StringTerm(inventoryName), ast.NewTerm(inventory.Read(nil))}))
		return whole, nil
	case path[0] == inventoryName:
		if inventory != nil {
			if value := inventory.Read(path[1:]); value != nil {
				return value, nil
			}
		}
	default:
		if value, err := s.fixed.Find(refOf(path)); err == nil {
			return value, nil
		}
	}
	return nil, &storage.Error{Code: storage.NotFoundErr, Message: path.String()}
}

func refOf(path storage.Path) ast.Ref {
	ref := make(ast.Ref, len(path))
	for i, name := range path {
		ref[i] = ast.StringTerm(name)
	}
	return ref
}

// NewTransaction implements storage.Store.
func (*store) NewTransaction(context.Context, ...storage.TransactionParams) (storage.Transaction, error) {
	return &reading{}, nil
}

// Write implements storage.Store.
func (*store) Write(context.Context, storage.Transaction, storage.PatchOp, storage.Path, any) error {
	return errReadOnly
}

// Commit implements storage.Store.
func (*store) Commit(context.Context, storage.Transaction) error { return nil }

// Truncate implements storage.Store.
func (*store) Truncate(context.Context, storage.Transaction, storage.TransactionParams, storage.Iterator) error {
	return errReadOnly
}

// Abort implements storage.Store.
func (*store) Abort(context.Context, storage.Transaction) {}
