package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// custom maps the modules that publish CustomResourceDefinitions to those that the chart makes objects of.
var custom = map[string][]string{
	"github.com/cert-manager/cert-manager@v1.21.2": {
		"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator@v0.80.1": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
}

// writeCustom writes the schemas of custom resources, which are the same for every Kubernetes.
func writeCustom() error {
	if err := os.MkdirAll("custom", 0o755); err != nil {
		return err
	}
	for module, files := range custom {
		folder, err := download(module)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := writeDefinition(filepath.Join(folder, file)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func writeDefinition(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Singular string }
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema object }
			}
		}
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return err
	}
	group, _, _ := strings.Cut(crd.Spec.Group, ".")
	for _, version := range crd.Spec.Versions {
		data, err := json.Marshal(schema(object{"root": version.Schema.OpenAPIV3Schema}, "root"))
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s-%s.json", crd.Spec.Names.Singular, group, version.Name)
		if err := os.WriteFile(filepath.Join("custom", name), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}
