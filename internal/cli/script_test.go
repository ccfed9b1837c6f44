package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stratamem/strata/internal/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"strata": func() { os.Exit(Main(context.Background(), os.Args[1:], OSEnv())) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"server": startServer},
	})
}

// startServer runs a real server over a file of the script's directory until the script ends, and tells the script's
// commands where it is.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: server")
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen = ts.MkAbs("strata.db"), "127.0.0.1:0"
	addr, stopped := make(chan string), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		stopped <- withServer(ctx, cfg, func(ctx context.Context, a string) error {
			addr <- a
			<-ctx.Done()
			return nil
		})
	}()
	ts.Defer(func() {
		stop()
		if err := <-stopped; err != nil {
			ts.Logf("server: %v", err)
		}
	})
	select {
	case a := <-addr:
		ts.Setenv("STRATA_SERVER", a)
	case err := <-stopped:
		stopped <- err
		ts.Fatalf("start server: %v", err)
	}
}
