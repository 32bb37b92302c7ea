package validators

//go:generate go run ./internal/rulesdoc ../docs/policies/rules.md
