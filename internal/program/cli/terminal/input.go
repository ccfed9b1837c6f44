package terminal

import (
	"io"
	"os"
)

// OpenInput opens a file that is read as a stream; - is stdin.
func OpenInput(env Env, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(env.Stdin), nil
	}
	return os.Open(path)
}
