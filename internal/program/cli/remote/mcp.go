package remote

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"

	"github.com/stratamem/strata/internal/edge/mcpserver"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// MCPCmd serves the Model Context Protocol to the program that started it.
type MCPCmd struct {
	User     string `required:"" placeholder:"USER" help:"Whose memory it is. The model cannot choose another."`
	Session  string `default:"mcp" help:"Where add_memory records, and whose context get_context builds."`
	ReadOnly bool   `help:"Leave out the tools that change memory."`
}

// Run serves until stdin ends.
func (c *MCPCmd) Run(r *terminal.Run) error {
	api, err := r.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = api.Close() }()
	server := mcpserver.New(r.Env.ProgramVersion()).ForConnection(
		mcpserver.Connection{UserID: c.User, SessionID: c.Session, ReadOnly: c.ReadOnly}, bounded{api.Conn(), r.Timeout},
	)
	err = server.Run(r.Ctx, &mcp.IOTransport{Reader: io.NopCloser(r.Env.Stdin), Writer: unclosed{r.Env.Stdout}})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// bounded is a connection whose calls take no longer than a time.
type bounded struct {
	grpc.ClientConnInterface
	longest time.Duration
}

// Invoke implements grpc.ClientConnInterface.
func (b bounded) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, b.longest)
	defer cancel()
	return b.ClientConnInterface.Invoke(ctx, method, args, reply, options...)
}

// unclosed is a writer that is not this command's to close.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
