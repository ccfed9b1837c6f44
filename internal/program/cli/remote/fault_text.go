package remote

import (
	"google.golang.org/grpc/status"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// FaultText is an error without the words that grpc puts before a server's message.
func FaultText(err error) string {
	if st, ok := status.FromError(err); ok {
		return terminal.ServerText(st)
	}
	return err.Error()
}
