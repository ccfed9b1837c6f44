package migrations

import "embed"

// Elasticsearch holds elasticsearch/NNNN_view.json: settings and mappings of an index of that view, and the fields that it has
// further where documents hold their content. NNNN is the schema version, which an index keeps in _meta.strata_schema. An index
// never changes its schema: a new one is a new build of the view.
//
//go:embed elasticsearch/*.json
var Elasticsearch embed.FS
