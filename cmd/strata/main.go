// Command strata is a conversation memory for LLM agents: see strata --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/stratamem/strata/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(cli.Main(ctx, os.Args[1:], cli.OSEnv()))
}
