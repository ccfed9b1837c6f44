package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

func TestMCPOverStdinAndStdout(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(t.TempDir(), "strata.db"), "127.0.0.1:0", ""
	a, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- a.Run(ctx) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	t.Run("a client lists the tools, remembers and finds, and the command ends with its stdin", func(t *testing.T) {
		client, code := overStdio(t, "--server", a.Addr(), "mcp", "--user", "ada")
		tools, err := client.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 7 {
			t.Fatalf("%v, %v", tools, err)
		}
		for name, arguments := range map[string]map[string]any{
			"add_memory":  {"text": "I am vegan."},
			"get_context": {"query": "dinner?"},
		} {
			if result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments}); err != nil || result.IsError {
				t.Fatalf("%s: %v, %v", name, result, err)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if got := <-code; got != 0 {
			t.Errorf("exit code %d", got)
		}
	})
	t.Run("a server that is not there is an error of the tool, which names it", func(t *testing.T) {
		nowhere, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := nowhere.Addr().String()
		_ = nowhere.Close()
		client, _ := overStdio(t, "--server", address, "mcp", "--user", "ada")
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_memories", Arguments: map[string]any{}})
		if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, address) {
			t.Errorf("%v, %v", result, err)
		}
		_ = client.Close()
	})
}

// overStdio runs the command with the protocol's own client at its stdin and stdout. The exit code comes when it ends.
func overStdio(t *testing.T, args ...string) (*mcp.ClientSession, <-chan int) {
	t.Helper()
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Main(t.Context(), args, terminal.Env{Stdin: stdin, Stdout: stdout, Stderr: io.Discard, Now: time.Now, Version: "test"})
		_ = stdout.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session, code
}
