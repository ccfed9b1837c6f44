//go:build !unix

package sqlitestore

import "os"

// links is how many names the file has, where the system does not say: one.
func links(os.FileInfo) uint64 { return 1 }
