// Package terminal is what all commands share: the flags, the connection to a server, errors for people, and tables.
package terminal

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stratamem/strata/internal/program/config"
)

// Options are the flags of every command.
type Options struct {
	Server  string        `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"The server to talk to; with https:// before it over TLS."`
	CA      string        `name:"ca" placeholder:"PATH" help:"The PEM file with the certificates that may sign the server's one, over TLS; those that the machine trusts when not set."`
	Key     string        `placeholder:"TOKEN" help:"The token of your key: see strata keys. A flag can be read by other users of the machine: set the variable or the file."`
	KeyFile string        `name:"key-file" placeholder:"PATH" help:"The file that holds the token of your key."`
	Output  string        `short:"o" default:"table" enum:"table,json,quiet" help:"table for people, json for programs, quiet for ids only."`
	Wide    bool          `help:"Print tables as wide as they are; else they fit the terminal, or 80 columns."`
	Timeout time.Duration `default:"30s" help:"The longest a command may wait for the server; in an import, one call."`
}

// Validate is called by kong.
func (o Options) Validate() error {
	if o.Timeout <= 0 {
		return fmt.Errorf("--timeout: is %s; it must be more than 0, such as 30s", o.Timeout)
	}
	return nil
}

// clientFlags are the names of the client's own flags.
var clientFlags = []string{"server", "ca", "key", "key-file", "output", "timeout"}

// IsClientFlag reports whether a flag is one of the client's own.
func IsClientFlag(name string) bool { return slices.Contains(clientFlags, name) }

// ClientEnv are the environment variables of the client's own flags.
func ClientEnv() []string {
	var names []string
	for _, f := range clientFlags {
		names = append(names, config.EnvName(f))
	}
	return names
}

// Run is one run of a command.
type Run struct {
	Ctx   context.Context
	Kong  *kong.Context
	Serve func() error // what is left to do without the parser: it holds 2 MB of flags while a command runs; nil for nothing
	Printer
}

// Platform is what the program was built for.
const Platform = runtime.GOOS + "/" + runtime.GOARCH
