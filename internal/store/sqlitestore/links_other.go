//go:build !unix

package sqlitestore

import "os"

// links returns 1: this system does not report how many names a file has.
func links(os.FileInfo) uint64 { return 1 }
