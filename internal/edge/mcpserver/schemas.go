package mcpserver

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolSchemas are the JSON schemas of what tools take and return that have lists, by their types. They are made once, since every request
// has its own server.
type toolSchemas map[reflect.Type]*jsonschema.Schema

func newToolSchemas() toolSchemas {
	all := toolSchemas{}
	addSchema[contextOut](all)
	addSchema[memoriesOut](all)
	addSchema[searchTranscriptIn](all)
	addSchema[transcriptOut](all)
	addSchema[addMemoryOut](all)
	return all
}

// addSchema leaves out a type that has no schema: mcp.AddTool reports that.
func addSchema[T any](all toolSchemas) {
	if s, err := jsonschema.For[T](nil); err == nil {
		all[reflect.TypeFor[T]()] = withoutNull(s)
	}
}

// withoutNull makes every list of a schema a list alone, which may not be null: no tool takes or returns null, and clients whose schemas
// know one type for a value, such as those of Gemini, refuse a tool that says so.
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

// describe sets the schemas of what a tool takes and returns; where there is none mcp.AddTool makes it.
func describe[In, Out any](all toolSchemas, t *mcp.Tool) *mcp.Tool {
	if s := all[reflect.TypeFor[In]()]; s != nil {
		t.InputSchema = s
	}
	if s := all[reflect.TypeFor[Out]()]; s != nil {
		t.OutputSchema = s
	}
	return t
}
