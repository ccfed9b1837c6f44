// Package api holds the contract's OpenAPI document; its Go types are in api/memory/v1.
package api

import _ "embed"

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the document of the REST paths, in YAML. It must not be written to.
func OpenAPI() []byte { return openAPI }
