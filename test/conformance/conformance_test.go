package conformance

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func kinds(t *testing.T) []Kind {
	t.Helper()
	kinds, err := ReadKinds()
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func TestFieldsMatchTheTables(t *testing.T) {
	crds := readCRDs(t)
	for _, k := range kinds(t) {
		t.Run(k.Kind+"."+k.Version, func(t *testing.T) {
			version := versionOf(crds[k.Plural()], k.Version)
			if version == nil {
				t.Fatalf("version %s is missing", k.Version)
			}
			want, err := readFields(k.Plural(), k.Version)
			if err != nil {
				t.Fatal(err)
			}
			got := flatten(version.Schema.OpenAPIV3Schema)
			for path := range got {
				if _, known := want[path]; !known && isAddition(k.Plural(), path) {
					delete(got, path)
				}
			}
			dropMapValueConstraints(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields differ (-table +CRD):\n%s", diff)
			}
		})
	}
}

// dropMapValueConstraints follows the tables, which give the type of a map's values and nothing else.
func dropMapValueConstraints(fields map[string]field) {
	for path, f := range fields {
		if strings.HasSuffix(path, "{}") {
			f.Constraints = ""
			fields[path] = f
		}
	}
}

// TestVersionedSubsetStatusesMatchSubsetStatuses covers the one place where the tables end before the schema does.
func TestVersionedSubsetStatusesMatchSubsetStatuses(t *testing.T) {
	crd := readCRDs(t)["workloadspreads"]
	for _, version := range crd.Spec.Versions {
		status := version.Schema.OpenAPIV3Schema.Properties["status"]
		list := status.Properties["subsetStatuses"]
		versioned := status.Properties["versionedSubsetStatuses"].AdditionalProperties.Schema
		if diff := cmp.Diff(list.Items, versioned.Items); diff != "" {
			t.Errorf("%s: items differ:\n%s", version.Name, diff)
		}
	}
}

func TestKindsMatchTheTable(t *testing.T) {
	crds := readCRDs(t)
	seen := map[string][]string{}
	for _, k := range kinds(t) {
		seen[k.Plural()] = append(seen[k.Plural()], k.Version)
		t.Run(k.Kind+"."+k.Version, func(t *testing.T) {
			crd := crds[k.Plural()]
			if crd == nil {
				t.Fatalf("no CustomResourceDefinition of %s", k.Plural())
			}
			if diff := cmp.Diff(k, kindOf(crd, versionOf(crd, k.Version))); diff != "" {
				t.Errorf("kind differs (-table +CRD):\n%s", diff)
			}
		})
	}
	for plural, crd := range crds {
		var versions []string
		for _, v := range crd.Spec.Versions {
			versions = append(versions, v.Name)
			if !v.Served {
				t.Errorf("%s %s is not served", plural, v.Name)
			}
		}
		if diff := cmp.Diff(join(seen[plural]), join(versions)); diff != "" {
			t.Errorf("versions of %s differ (-table +CRD):\n%s", plural, diff)
		}
	}
}

func kindOf(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) Kind {
	if v == nil {
		return Kind{}
	}
	k := Kind{Kind: crd.Spec.Names.Kind, Version: v.Name, Group: crd.Spec.Group, Scope: string(crd.Spec.Scope),
		ShortNames: append([]string{}, crd.Spec.Names.ShortNames...), Storage: v.Storage}
	if v.Subresources != nil {
		k.Status = v.Subresources.Status != nil
		if s := v.Subresources.Scale; s != nil {
			k.Scale = []string{s.SpecReplicasPath, s.StatusReplicasPath, *s.LabelSelectorPath}
		}
	}
	for _, c := range v.AdditionalPrinterColumns {
		k.Columns = append(k.Columns, Column{Name: c.Name, Path: c.JSONPath, Priority: c.Priority})
	}
	return k
}

func TestFilesAreNamedByGroupAndPlural(t *testing.T) {
	for plural, crd := range readCRDs(t) {
		if crd.Name != plural+"."+crd.Spec.Group {
			t.Errorf("%s is named %s", plural, crd.Name)
		}
		if files, _ := filepath.Glob(filepath.Join(crdDir, crd.Spec.Group+"_"+plural+".yaml")); len(files) != 1 {
			t.Errorf("%s has no file of its own", plural)
		}
		if crd.Spec.Conversion != nil {
			t.Errorf("%s names a conversion, which the chart adds", plural)
		}
	}
}

// TestEveryFieldIsExplained wants a sentence for kubectl explain, but for object metadata, which everybody knows.
func TestEveryFieldIsExplained(t *testing.T) {
	for plural, crd := range readCRDs(t) {
		for _, v := range crd.Spec.Versions {
			for _, path := range unexplained(v.Schema.OpenAPIV3Schema, "") {
				t.Errorf("%s %s: %s has no description", plural, v.Name, path)
			}
		}
	}
}

func unexplained(schema *apiextensionsv1.JSONSchemaProps, path string) []string {
	var paths []string
	for name, child := range schema.Properties {
		if name == "metadata" {
			continue
		}
		if child.Description == "" {
			paths = append(paths, path+name)
		}
		paths = append(paths, unexplained(&child, path+name+".")...)
	}
	if schema.Items != nil {
		paths = append(paths, unexplained(schema.Items.Schema, path)...)
	}
	if schema.AdditionalProperties != nil {
		paths = append(paths, unexplained(schema.AdditionalProperties.Schema, path)...)
	}
	return paths
}
