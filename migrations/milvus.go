package migrations

import "embed"

// Milvus holds milvus/NNNN_what.json: the fields, partitions and index of a collection. NNNN is the schema version that
// a collection's name and description bear. A collection cannot be altered: the next version is a new file, and its
// collections are filled anew from the primary store.
//
//go:embed milvus/*.json
var Milvus embed.FS
