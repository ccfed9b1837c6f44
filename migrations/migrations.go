// Package migrations holds the schemas of the stores as data. A file that was released is never edited: a change is
// a new file with the next number.
package migrations

import "embed"

// SQLite holds sqlite/NNNN_what.sql. NNNN is the schema version (PRAGMA user_version) after the file was applied.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
