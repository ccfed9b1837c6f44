//go:build !linux && !darwin && !freebsd

package diskspace

import (
	"errors"
)

// Free is not known on this system.
func Free(string) (uint64, error) {
	return 0, errors.New("free space cannot be asked for on this system")
}
