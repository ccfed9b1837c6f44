// Command schemas writes the JSON schemas by which kubeconform checks what the chart renders, into deploy/helm/schemas: those of
// Kubernetes out of its published OpenAPI document, those of the Prometheus operator out of its custom resource definitions. They are
// strict, so that a misspelt field is found, and without descriptions, so that they are small. Run it by go generate.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	kubernetes = "k8s.io/kubernetes@v1.33.0"
	operator   = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	out        = "../helm/schemas"
)

// kinds are the definitions that the chart renders, by the names of the files that kubeconform looks for.
func kinds() map[string]string {
	return map[string]string{
		"configmap-v1":                           "io.k8s.api.core.v1.ConfigMap",
		"service-v1":                             "io.k8s.api.core.v1.Service",
		"serviceaccount-v1":                      "io.k8s.api.core.v1.ServiceAccount",
		"deployment-apps-v1":                     "io.k8s.api.apps.v1.Deployment",
		"statefulset-apps-v1":                    "io.k8s.api.apps.v1.StatefulSet",
		"job-batch-v1":                           "io.k8s.api.batch.v1.Job",
		"horizontalpodautoscaler-autoscaling-v2": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
		"poddisruptionbudget-policy-v1":          "io.k8s.api.policy.v1.PodDisruptionBudget",
		"networkpolicy-networking-v1":            "io.k8s.api.networking.v1.NetworkPolicy",
	}
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := ofKubernetes(); err != nil {
		return fmt.Errorf("schemas of Kubernetes: %w", err)
	}
	for kind, file := range map[string]string{"servicemonitor": "servicemonitors", "prometheusrule": "prometheusrules"} {
		if err := ofOperator(kind, file); err != nil {
			return fmt.Errorf("schema of %s: %w", kind, err)
		}
	}
	return nil
}

// module downloads a module and returns its folder.
func module(version string) (string, error) {
	reply, err := exec.Command("go", "mod", "download", "-json", version).Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w", version, err)
	}
	var m struct{ Dir string }
	return m.Dir, json.Unmarshal(reply, &m)
}

func ofKubernetes() error {
	dir, err := module(kubernetes)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(filepath.Join(dir, "api/openapi-spec/swagger.json"))
	if err != nil {
		return err
	}
	var spec struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(document, &spec); err != nil {
		return fmt.Errorf("read the OpenAPI document: %w", err)
	}
	needed := map[string]any{}
	for file, name := range kinds() {
		if err := reach(spec.Definitions, name, needed); err != nil {
			return err
		}
		if err := write(file, map[string]any{"$ref": "_definitions.json#/definitions/" + name}); err != nil {
			return err
		}
	}
	return write("_definitions", map[string]any{"definitions": needed})
}

// reach adds the definition of the name and all that it refers to, made strict.
func reach(all map[string]map[string]any, name string, needed map[string]any) error {
	if _, known := needed[name]; known {
		return nil
	}
	def, ok := all[name]
	if !ok {
		return fmt.Errorf("no definition %s", name)
	}
	needed[name] = strict(def)
	if s := special(name); s != nil {
		needed[name] = s
	}
	for _, ref := range references(needed[name]) {
		if err := reach(all, ref, needed); err != nil {
			return err
		}
	}
	return nil
}

// special returns the schema of what the document calls a string and is a number as well; nil for all else.
func special(name string) map[string]any {
	switch name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return map[string]any{"type": []string{"string", "integer"}}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return map[string]any{"type": []string{"string", "number"}}
	}
	return nil
}

// strict returns the schema without descriptions and extensions; fields that it does not name are refused.
func strict(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		clean := map[string]any{}
		for key, v := range s {
			_, isText := v.(string)
			if key == "description" && isText || strings.HasPrefix(key, "x-kubernetes-") {
				continue
			}
			clean[key] = strict(v)
		}
		if ref, ok := clean["$ref"].(string); ok {
			clean["$ref"] = strings.Replace(ref, "#/definitions/", "_definitions.json#/definitions/", 1)
		}
		_, isObject := clean["properties"].(map[string]any)
		if _, open := clean["additionalProperties"]; isObject && !open && s["x-kubernetes-preserve-unknown-fields"] != true {
			clean["additionalProperties"] = false
		}
		if s["x-kubernetes-int-or-string"] == true {
			delete(clean, "anyOf")
			clean["type"] = []string{"string", "integer"}
		}
		return clean
	case []any:
		for i := range s {
			s[i] = strict(s[i])
		}
		return s
	}
	return schema
}

// references returns the names of the definitions that the schema refers to.
func references(schema any) []string {
	var all []string
	switch s := schema.(type) {
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok {
			all = append(all, strings.TrimPrefix(ref, "_definitions.json#/definitions/"))
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			all = append(all, references(s[key])...)
		}
	case []any:
		for _, v := range s {
			all = append(all, references(v)...)
		}
	}
	return all
}

func ofOperator(kind, file string) error {
	dir, err := module(operator)
	if err != nil {
		return err
	}
	document, err := os.ReadFile(filepath.Join(dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+file+".yaml"))
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Root map[string]any `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(document, &crd); err != nil {
		return err
	}
	root, _ := strict(crd.Spec.Versions[0].Schema.Root).(map[string]any)
	root["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"} //nolint:forcetypeassert // every definition has it
	return write(kind+"-monitoring-v1", root)
}

func write(name string, schema any) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+".json"), append(text, '\n'), 0o644)
}
