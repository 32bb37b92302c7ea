// Command schemas writes the JSON schemas that kubeconform needs to check the chart's objects without a network, for the
// oldest and the newest Kubernetes that the chart supports. They are made from the OpenAPI document in the module
// k8s.io/kubernetes of each version, and those of custom resources from the definitions that their projects publish. Run in this folder: go run . (only needed when a version or a kind is added).
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var versions = []string{"1.30.14", "1.37.2"}

// kinds maps the file name that kubeconform looks for, `<kind>-<group's first word>-<version>`, to the definition.
var kinds = map[string]string{
	"namespace-v1":                              "io.k8s.api.core.v1.Namespace",
	"secret-v1":                                 "io.k8s.api.core.v1.Secret",
	"configmap-v1":                              "io.k8s.api.core.v1.ConfigMap",
	"networkpolicy-networking-v1":               "io.k8s.api.networking.v1.NetworkPolicy",
	"service-v1":                                "io.k8s.api.core.v1.Service",
	"serviceaccount-v1":                         "io.k8s.api.core.v1.ServiceAccount",
	"resourcequota-v1":                          "io.k8s.api.core.v1.ResourceQuota",
	"deployment-apps-v1":                        "io.k8s.api.apps.v1.Deployment",
	"poddisruptionbudget-policy-v1":             "io.k8s.api.policy.v1.PodDisruptionBudget",
	"horizontalpodautoscaler-autoscaling-v2":    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
	"role-rbac-v1":                              "io.k8s.api.rbac.v1.Role",
	"rolebinding-rbac-v1":                       "io.k8s.api.rbac.v1.RoleBinding",
	"clusterrole-rbac-v1":                       "io.k8s.api.rbac.v1.ClusterRole",
	"clusterrolebinding-rbac-v1":                "io.k8s.api.rbac.v1.ClusterRoleBinding",
	"flowschema-flowcontrol-v1":                 "io.k8s.api.flowcontrol.v1.FlowSchema",
	"prioritylevelconfiguration-flowcontrol-v1": "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
	"customresourcedefinition-apiextensions-v1": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
	"validatingwebhookconfiguration-admissionregistration-v1":   "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
	"validatingadmissionpolicy-admissionregistration-v1":        "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
	"validatingadmissionpolicybinding-admissionregistration-v1": "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
}

type object = map[string]any

func main() {
	for _, version := range versions {
		if err := write(version); err != nil {
			log.Fatalf("writing schemas of Kubernetes %s: %v", version, err)
		}
	}
	if err := writeCustom(); err != nil {
		log.Fatalf("writing schemas of custom resources: %v", err)
	}
}

func write(version string) error {
	definitions, err := read(version)
	if err != nil {
		return err
	}
	folder := "v" + version
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for file, name := range kinds {
		data, err := json.Marshal(schema(definitions, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, file+".json"), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read returns the definitions of the OpenAPI document of a Kubernetes version.
func read(version string) (object, error) {
	folder, err := download("k8s.io/kubernetes@v" + version)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(folder, "api/openapi-spec/swagger.json"))
	if err != nil {
		return nil, err
	}
	var document struct{ Definitions object }
	return document.Definitions, json.Unmarshal(data, &document)
}

// download returns the folder of a module.
func download(module string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	return downloaded.Dir, json.Unmarshal(out, &downloaded)
}

// schema is the strict schema of one definition, with those that it refers to.
func schema(definitions object, name string) object {
	used := object{}
	root := clean(definitions, used, definitions[name]).(object)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["required"] = []string{"apiVersion", "kind", "metadata"}
	root["definitions"] = used
	return root
}

// clean copies a definition without its prose, refuses fields that it does not name, and collects what it refers to.
func clean(definitions, used object, value any) any {
	node, ok := value.(object)
	if !ok {
		return value
	}
	if ref, ok := node["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		if _, seen := used[name]; !seen {
			used[name] = nil // before the descent: definitions may be recursive
			used[name] = clean(definitions, used, definitions[name])
		}
		return object{"$ref": ref}
	}
	if node["format"] == "int-or-string" {
		return object{"type": []string{"integer", "string"}}
	}
	result := object{}
	for _, key := range []string{"type", "required", "enum"} {
		if v, ok := node[key]; ok {
			result[key] = v
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if v, ok := node[key]; ok {
			result[key] = clean(definitions, used, v)
		}
	}
	if properties, ok := node["properties"].(object); ok {
		cleaned := object{}
		for field, v := range properties {
			cleaned[field] = clean(definitions, used, v)
		}
		result["properties"] = cleaned
		result["additionalProperties"] = false
	}
	return result
}
