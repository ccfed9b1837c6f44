//go:build linux || darwin || freebsd

package diskspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Free is the space that this user may still write in a directory's file system.
func Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil //nolint:unconvert // their types differ between systems
}
