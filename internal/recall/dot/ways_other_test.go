//go:build !amd64

package dot

// ways are those that this machine can go.
func ways() map[string]product { return map[string]product{"plain": plain, "fastest": fastest} }
