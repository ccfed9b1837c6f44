// Command strata is a conversation memory for LLM agents: see strata --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/stratamem/strata/internal/program/cli"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3". Empty, the version is what the toolchain stamped.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	env := terminal.OSEnv()
	env.Version = version
	os.Exit(cli.Main(ctx, os.Args[1:], env))
}
