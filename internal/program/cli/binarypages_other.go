//go:build !linux

package cli

// releaseBinary does nothing: other systems have no list of what is mapped where.
func releaseBinary() error { return nil }
