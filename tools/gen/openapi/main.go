// Command openapi makes what protoc-gen-connect-openapi wrote an OpenAPI document of the REST paths: it reads it from standard input.
//
//   - Paths that differ in the names of their parameters only are one: the document may hold a path once. A parameter is named as the
//     last part of its field, user_id for fact.user_id.
//   - Errors are google.rpc.Status, as REST replies with; Connect's own are left out, as are calls without a path.
//   - Bodies get the examples of the file that is named as its argument.
//   - Types are those of OpenAPI 3.1 and of protobuf's JSON: null is a type, a Duration is seconds with an s, which is not the
//     duration of JSON Schema.
//   - Schemas that nothing refers to are left out.
//   - What proto/openapi.base.yaml says of paths by hand stays.
package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

func main() {
	if err := run(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, examples string) error {
	raw, err := os.ReadFile(examples)
	if err != nil {
		return fmt.Errorf("read the examples: %w", err)
	}
	var document, bodies yaml.Node
	if err := yaml.Unmarshal(raw, &bodies); err != nil {
		return fmt.Errorf("read the examples: %w", err)
	}
	if err := yaml.NewDecoder(in).Decode(&document); err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	root := document.Content[0]
	paths := value(root, "paths")
	paths.Content = merged(paths.Content)
	schemas := value(value(root, "components"), "schemas")
	for _, name := range []string{"connect.error", "connect.error_details.Any", "connect-protocol-version", "connect-timeout-header", "connect.error-details"} {
		remove(schemas, name)
	}
	errorsOfStatus(root)
	nullIsAType(root)
	wellKnown(schemas)
	prune(root, schemas)
	if err := addExamples(paths, bodies.Content[0]); err != nil {
		return err
	}
	trim(root)
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return encoder.Close()
}

// parameter is a parameter in a path.
var parameter = regexp.MustCompile(`\{[^}]*\}`)

// short is a parameter without what its field stands in.
func short(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// merged are the paths, each once and in order, without those of calls that have none of their own.
func merged(pairs []*yaml.Node) []*yaml.Node {
	byPath := map[string]*yaml.Node{}
	keys := map[string]*yaml.Node{}
	for i := 0; i < len(pairs); i += 2 {
		path := parameter.ReplaceAllStringFunc(pairs[i].Value, func(p string) string {
			name := short(strings.Trim(p, "{}"))
			if name == "id" {
				name = "message_id"
			}
			return "{" + name + "}"
		})
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		rename(pairs[i+1])
		if into, ok := byPath[path]; ok {
			into.Content = append(into.Content, pairs[i+1].Content...)
			continue
		}
		pairs[i].Value = path
		keys[path], byPath[path] = pairs[i], pairs[i+1]
	}
	var all []string
	for path := range byPath {
		all = append(all, path)
	}
	slices.Sort(all)
	var out []*yaml.Node
	for _, path := range all {
		out = append(out, keys[path], byPath[path])
	}
	return out
}

// rename gives the path parameters of each method their short names.
func rename(methods *yaml.Node) {
	for i := 1; i < len(methods.Content); i += 2 {
		parameters := value(methods.Content[i], "parameters")
		if parameters == nil {
			continue
		}
		for _, p := range parameters.Content {
			if in := value(p, "in"); in == nil || in.Value != "path" {
				continue
			}
			name := value(p, "name")
			if name.Value = short(name.Value); name.Value == "id" {
				name.Value = "message_id"
			}
		}
	}
}

// errorsOfStatus has all that refers to Connect's error refer to google.rpc.Status.
func errorsOfStatus(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value == "#/components/schemas/connect.error" {
		n.Value = "#/components/schemas/google.rpc.Status"
	}
	for _, c := range n.Content {
		errorsOfStatus(c)
	}
}

// nullIsAType has what may be null say so in its type: OpenAPI 3.1 has no nullable.
func nullIsAType(n *yaml.Node) {
	if kind := value(n, "type"); kind != nil && value(n, "nullable") != nil {
		remove(n, "nullable")
		if kind.Kind == yaml.ScalarNode {
			first := *kind
			*kind = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&first}}
		}
		kind.Content = append(kind.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "null", Style: yaml.DoubleQuotedStyle})
	}
	for _, c := range n.Content {
		nullIsAType(c)
	}
}

// wellKnown says how protobuf's JSON writes durations and times. The generator gives times the examples of durations.
func wellKnown(schemas *yaml.Node) {
	duration, time := value(schemas, "google.protobuf.Duration"), value(schemas, "google.protobuf.Timestamp")
	remove(duration, "format")
	remove(time, "examples")
	for of, example := range map[*yaml.Node]string{duration: "1.5s", time: "2026-03-01T12:30:00.5Z"} {
		of.Content = append(of.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "examples"},
			&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: example, Style: yaml.DoubleQuotedStyle}}})
	}
}

// prune removes the schemas that nothing refers to, until all that are left are referred to.
func prune(root, schemas *yaml.Node) {
	for {
		used := map[string]bool{}
		references(root, used)
		before := len(schemas.Content)
		for i := 0; i < len(schemas.Content); {
			if used[schemas.Content[i].Value] {
				i += 2
				continue
			}
			schemas.Content = slices.Delete(schemas.Content, i, i+2)
		}
		if len(schemas.Content) == before {
			return
		}
	}
}

// references collects the names of the schemas that a node refers to.
func references(n *yaml.Node, into map[string]bool) {
	if to := value(n, "$ref"); to != nil && n.Kind == yaml.MappingNode {
		into[strings.TrimPrefix(to.Value, "#/components/schemas/")] = true
	}
	for _, c := range n.Content {
		references(c, into)
	}
}

// addExamples gives each operation's body its example.
func addExamples(paths, bodies *yaml.Node) error {
	for i := 0; i < len(bodies.Content); i += 2 {
		media := bodyOf(paths, bodies.Content[i].Value)
		if media == nil {
			return fmt.Errorf("there is an example of %s, which has no body", bodies.Content[i].Value)
		}
		media.Content = append(media.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "example"}, bodies.Content[i+1])
	}
	return nil
}

// bodyOf is what the document says of the JSON of an operation's body; nil where it has none.
func bodyOf(paths *yaml.Node, operation string) *yaml.Node {
	for i := 1; i < len(paths.Content); i += 2 {
		for j := 1; j < len(paths.Content[i].Content); j += 2 {
			method := paths.Content[i].Content[j]
			if id := value(method, "operationId"); id != nil && id.Value == operation {
				return value(value(value(method, "requestBody"), "content"), "application/json")
			}
		}
	}
	return nil
}

// trim takes the spaces away that comments' lines begin with.
func trim(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n") {
		lines := strings.Split(n.Value, "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], " ")
		}
		n.Value = strings.Join(lines, "\n")
	}
	for _, c := range n.Content {
		trim(c)
	}
}

// value is a mapping's value of the key; nil where it has none.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping != nil && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func remove(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}
