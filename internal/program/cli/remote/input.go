package remote

import (
	"io"
	"os"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// openInput opens a file that is read as a stream; - is stdin.
func openInput(env terminal.Env, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(env.Stdin), nil
	}
	return os.Open(path)
}
