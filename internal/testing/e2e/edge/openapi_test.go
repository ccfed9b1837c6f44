package edge_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stratamem/strata/api"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// openAPI is the part of an OpenAPI document that is checked.
type openAPI struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `yaml:"operationId"`
		Summary     string
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct{ Example any }
		} `yaml:"requestBody"`
		Responses map[string]any
	}
	Components struct{ Schemas map[string]any }
}

func readOpenAPI(t *testing.T) (d openAPI) {
	t.Helper()
	if err := yaml.Unmarshal(api.OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheOpenAPIDocumentIsWhole(t *testing.T) {
	t.Parallel()
	d := readOpenAPI(t)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("version %s", d.OpenAPI)
	}
	operations := map[string]bool{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			if operations[o.OperationID] {
				t.Errorf("the operation %s comes twice", o.OperationID)
			}
			operations[o.OperationID] = true
			if o.Summary == "" || o.Responses["200"] == nil || o.Responses["default"] == nil {
				t.Errorf("%s %s lacks a summary or a response", method, path)
			}
			inPath := map[string]bool{}
			for _, p := range o.Parameters {
				if p.In == "path" {
					inPath[p.Name] = true
					if !strings.Contains(path, "{"+p.Name+"}") {
						t.Errorf("%s %s has a parameter %s that its path has not", method, path, p.Name)
					}
				}
			}
			if len(inPath) != strings.Count(path, "{") {
				t.Errorf("%s %s has %d parameters in its path and describes %v", method, path, strings.Count(path, "{"), inPath)
			}
		}
	}
	t.Run("every call has an operation", func(t *testing.T) {
		for _, m := range methods() {
			if id := string(m.Parent().Name()) + "_" + string(m.Name()); !operations[id] {
				t.Errorf("%s has none", id)
			}
		}
	})
	t.Run("every reference leads somewhere", func(t *testing.T) {
		for rest := string(api.OpenAPI()); ; {
			_, after, ok := strings.Cut(rest, "'#/components/schemas/")
			if !ok {
				break
			}
			name, _, _ := strings.Cut(after, "'")
			if d.Components.Schemas[name] == nil {
				t.Errorf("there is no schema %s", name)
			}
			rest = after
		}
	})
}

func TestTheExamplesOfTheOpenAPIDocumentAreTaken(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.RecordTurn(t, "s1", e2e.User("m0", "Hello."))
	type call struct{ operation, method, path, body string }
	var calls []call
	for path, methods := range readOpenAPI(t).Paths {
		for method, o := range methods {
			example := o.RequestBody.Content["application/json"].Example
			if example == nil {
				continue
			}
			body, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.NewReplacer("{user_id}", "ada", "{session_id}", "s1").Replace(path)
			calls = append(calls, call{o.OperationID, strings.ToUpper(method), path, string(body)})
		}
	}
	// What is recorded is what the others are about; of those, DeleteMessages comes before ReplaceMessages.
	order := func(c call) string { return strings.TrimPrefix(c.operation, "MemoryService_Record") } // "", the first, of Record
	slices.SortFunc(calls, func(a, b call) int { return strings.Compare(order(a), order(b)) })
	for _, c := range calls {
		code, _, reply := h.OverHTTP(t, c.method, c.path, c.body, map[string]string{"Content-Type": "application/json"})
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", c.operation, code, reply)
		}
	}
	if len(calls) < 8 {
		t.Errorf("%d examples were sent", len(calls))
	}
}
