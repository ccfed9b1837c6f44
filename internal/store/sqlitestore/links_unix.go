//go:build unix

package sqlitestore

import (
	"os"
	"syscall"
)

// links is how many names the file has.
func links(st os.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Nlink) //nolint:unconvert // the types differ between systems
	}
	return 1
}
