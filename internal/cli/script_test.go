package cli

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stratamem/strata/internal/app"
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
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"server": startServer, "env-file": envFile},
	})
}

// startServer runs a real server over a file of the script's directory until the script ends, and tells the script's
// commands where it is. With the word keys it lets nobody in without one, and the script has its first.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "keys" {
		ts.Fatalf("usage: server [keys]")
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = ts.MkAbs("strata.db"), "127.0.0.1:0", "127.0.0.1:0"
	cfg.RequestTimeout = time.Minute
	for name, p := range cfg.Profiles {
		p.Summaries.Idle = 0 // no session is summarised in the midst of a script because time went by
		cfg.Profiles[name] = p
	}
	if len(args) == 1 {
		cfg.Auth, cfg.BootstrapKey = config.AuthRequired, true
	}
	addresses, stopped := make(chan [3]string), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		stopped <- withServer(ctx, cfg, func(ctx context.Context, a *app.App) error {
			addresses <- [3]string{a.Addr(), a.MetricsAddr(), a.FirstKey()}
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
	case a := <-addresses:
		ts.Setenv("STRATA_SERVER", a[0])
		ts.Setenv("STRATA_METRICS_LISTEN", a[1])
		if a[2] != "" {
			ts.Setenv("STRATA_KEY", a[2])
		}
	case err := <-stopped:
		stopped <- err
		ts.Fatalf("start server: %v", err)
	}
}

// envFile sets a variable to the first line of a file.
func envFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: env-file NAME FILE")
	}
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Setenv(args[0], line)
}
