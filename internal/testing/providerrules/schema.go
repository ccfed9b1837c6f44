package providerrules

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The schemas that sdks/schemas.py wrote from the request types of the SDKs; each says of which version.
var (
	//go:embed sdks/schemas/openai.json
	openaiJSON []byte
	//go:embed sdks/schemas/responses.json
	responsesJSON []byte
	//go:embed sdks/schemas/anthropic.json
	anthropicJSON []byte
)

var (
	openaiSchema    = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile("openai.json", openaiJSON) })
	responsesSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile("responses.json", responsesJSON) })
	anthropicSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return compile("anthropic.json", anthropicJSON) })
)

func compile(name string, data []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return c.Compile(name)
}

// fits checks a rendering by the schema of an SDK.
func fits(data []byte, schema func() (*jsonschema.Schema, error)) error {
	compiled, err := schema()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("the SDK's request types: %w", err)
	}
	return nil
}
