//go:build !linux && !darwin && !freebsd

package cli

import (
	"errors"
)

// freeBytes is not known on this system.
func freeBytes(string) (uint64, error) {
	return 0, errors.New("free space cannot be asked for on this system")
}
