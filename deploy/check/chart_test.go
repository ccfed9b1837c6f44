// Package check holds the promises of what deploy/ gives to operators: the chart renders what Kubernetes takes, and every query of the
// dashboard and of the alerts is about metrics that the program has. It is a module of its own, so that Helm and Prometheus are no
// part of the product's.
package check_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

//go:generate go run ./schemas

const chart = "../helm/strata"

// tool runs a tool of this module and returns what it printed.
func tool(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func render(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return tool(t, "", append([]string{"helm", "template", "memory", chart, "--namespace=agents"}, args...)...)
}

// examples returns the files of values that the documentation names, and none at all.
func examples(t *testing.T) [][]string {
	t.Helper()
	files, err := filepath.Glob(chart + "/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	all := [][]string{nil}
	for _, f := range files {
		all = append(all, []string{"--values=" + f})
	}
	return all
}

func TestChart(t *testing.T) {
	t.Run("helm lint finds nothing", func(t *testing.T) {
		for _, values := range examples(t) {
			if out, err := tool(t, "", append([]string{"helm", "lint", "--strict", chart}, values...)...); err != nil {
				t.Errorf("%v: %v\n%s", values, err, out)
			}
		}
	})
	t.Run("what it renders fits the schemas of Kubernetes and of the Prometheus operator", func(t *testing.T) {
		for _, values := range examples(t) {
			rendered, err := render(t, values...)
			if err != nil {
				t.Fatalf("%v: %v\n%s", values, err, rendered)
			}
			out, err := conforms(t, rendered)
			if err != nil || !strings.Contains(out, "Skipped: 0") {
				t.Errorf("%v: %v\n%s", values, err, out)
			}
		}
	})
	t.Run("the check of schemas finds a misspelt field", func(t *testing.T) {
		rendered, err := render(t)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := conforms(t, strings.Replace(rendered, "runAsNonRoot:", "runAsNoRoot:", 1)); err == nil {
			t.Errorf("it passed:\n%s", out)
		}
	})
	t.Run("the server accepts the settings that it renders", func(t *testing.T) {
		for _, values := range examples(t) {
			rendered, err := render(t, values...)
			if err != nil {
				t.Fatalf("%v: %v\n%s", values, err, rendered)
			}
			path := filepath.Join(t.TempDir(), "strata.yaml")
			if err := os.WriteFile(path, []byte(settings(t, rendered)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), binary(t), "config", "validate", "--config="+path)
			cmd.Env = append(os.Environ(), "STRATA_CHAT_API_KEY=k")
			if strings.Contains(rendered, "STRATA_MONGODB_URI") {
				cmd.Env = append(cmd.Env, "STRATA_MONGODB_URI=mongodb://mongo")
			}
			// Certificates are mounted in a pod only.
			if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "/etc/strata-tls/") {
				t.Errorf("%v: %v\n%s", values, err, out)
			}
		}
	})
	t.Run("what cannot work is refused with the reason", func(t *testing.T) {
		for name, c := range map[string]struct{ set, want string }{
			"mongodb without a connection string": {"store=mongodb", "mongodb.existingSecret"},
			"several servers on one file":         {"autoscaling.enabled=true", "needs store mongodb"},
			"an unknown store":                    {"store=postgres", "store"},
			"a misspelt value":                    {"replica=3", "replica"},
			"a secret in the file of settings":    {"config.chat-api-key=sk-1", "STRATA_CHAT_API_KEY"},
			"a setting that the chart makes":      {"config.listen=:1", "set by the chart"},
		} {
			if out, err := render(t, "--set="+c.set); err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	})
}

func conforms(t *testing.T, rendered string) (string, error) {
	t.Helper()
	return tool(t, rendered, "kubeconform", "-strict", "-summary", "-schema-location=../helm/schemas/{{.ResourceKind}}{{.KindSuffix}}.json")
}

// settings returns the file of settings in the ConfigMap that the pods mount.
func settings(t *testing.T, rendered string) string {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader([]byte(rendered))); ; {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]string
		}
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			t.Fatal("no ConfigMap memory-strata")
		}
		if err != nil {
			t.Fatal(err)
		}
		if object.Kind == "ConfigMap" && object.Metadata.Name == "memory-strata" {
			return object.Data["strata.yaml"]
		}
	}
}

// binary builds the program and returns its path.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", path, "./cmd/strata")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}
