package mcpserver

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultSchemas are the JSON schemas of what tools return, by its type. They are made once, since every request has its own server.
type resultSchemas map[reflect.Type]*jsonschema.Schema

func newResultSchemas() resultSchemas {
	all := resultSchemas{}
	addSchema[contextOut](all)
	addSchema[memoriesOut](all)
	addSchema[transcriptOut](all)
	addSchema[addMemoryOut](all)
	return all
}

// addSchema leaves out a type that has no schema: mcp.AddTool reports that.
func addSchema[Out any](all resultSchemas) {
	if s, err := jsonschema.For[Out](nil); err == nil {
		all[reflect.TypeFor[Out]()] = withoutNull(s)
	}
}

// withoutNull makes every list of a schema a list alone, which may not be null: no tool returns null, and clients whose schemas know one
// type for a value, such as those of Gemini, refuse a tool that says so.
func withoutNull(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	withoutNull(s.Items)
	return s
}

// describe sets the schema of a tool's result; where there is none mcp.AddTool makes it.
func describe[Out any](all resultSchemas, t *mcp.Tool) *mcp.Tool {
	if s := all[reflect.TypeFor[Out]()]; s != nil {
		t.OutputSchema = s
	}
	return t
}
