package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/lmittmann/tint"

	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// settings are the flags of the commands that read the server's configuration.
type settings struct {
	Config string        `name:"config" short:"c" placeholder:"PATH" help:"The YAML file with settings."`
	Server config.Config `embed:""`
}

// load gathers the configuration from flags, environment and file.
func (s *settings) load(r *terminal.Run) (config.Loaded, error) {
	set := map[string]bool{}
	for _, p := range r.Kong.Path {
		if p.Flag != nil && !p.Resolved {
			set[p.Flag.Name] = true
		}
	}
	return config.Load(config.Sources{
		Flags: s.Server, FlagSet: set, Environ: r.Env.Environ, OtherEnv: terminal.ClientEnv(), File: s.Config, ReadFile: os.ReadFile,
	})
}

// serveCmd runs the server.
type serveCmd struct {
	settings
}

// Run reads the configuration; the server runs after it.
func (c *serveCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	ctx, env := r.Ctx, r.Env
	r.Serve = func() error { return serve(ctx, env, cfg) }
	return nil
}

// serve serves until the context ends, then drains.
func serve(ctx context.Context, env terminal.Env, cfg config.Loaded) error {
	log := newLog(cfg.Config, env)
	defer tuneCollector(env, cfg.Config)()
	limitMemory(env, memlimit.FromCgroup, log)
	processors := tuneScheduler(env)
	a, err := app.New(ctx, cfg.Config, app.Options{Log: log, Version: env.ProgramVersion(), Processors: processors})
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	printBanner(env, cfg, a)
	defer afterPause(startTime, func() { releaseMemory(log) })()
	if err := a.Run(ctx); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	fmt.Fprintln(env.Stdout, "stopped: everything acknowledged is stored")
	return nil
}

// startTime is after how long the start is over: all loops of background work have looked for work once.
const startTime = time.Second

// releaseMemory gives back to the system what only the start needed: it leaves more garbage than the server then keeps, and touches
// pages all over the program's file.
func releaseMemory(log *slog.Logger) {
	debug.FreeOSMemory()
	if err := releaseBinary(); err != nil {
		log.Debug("pages of the program that only its start needed stay mapped", "error", err)
	}
}

// afterPause calls f once after a pause unless stop was called before. stop waits for f.
func afterPause(pause time.Duration, f func()) (stop func()) {
	var waiting safegroup.Group
	stopped := make(chan struct{})
	waiting.Go(func() error {
		select {
		case <-time.After(pause):
			f()
		case <-stopped:
		}
		return nil
	})
	return func() {
		close(stopped)
		safegroup.Must(waiting.Wait())
	}
}

// tuneScheduler gives the Go scheduler more threads than there are processors, unless the operator set their number, and
// returns how many processors there are.
func tuneScheduler(env terminal.Env) (processors int) {
	processors = runtime.GOMAXPROCS(0)
	if !isSet(env, "GOMAXPROCS") {
		runtime.GOMAXPROCS(schedulerThreads(processors, runtime.NumCPU()))
	}
	return processors
}

// mostSpareThreads is how many more threads there are at most than processors: enough for heavy calls and background work.
const mostSpareThreads = 4

// schedulerThreads is how many threads run Go code where so many of the machine's processors may be used. Go has those who
// are ready wait for whoever computes, 10 ms for each and each time that a call is handed on, which is about ten times; the
// kernel lets a thread that has slept run at once. See bench-overload. Where a quota leaves fewer processors than there are,
// threads beyond it would use it up earlier, and the kernel would stop all of them for the rest of each period.
func schedulerThreads(processors, machine int) int {
	if processors < machine {
		return processors
	}
	return processors + min(processors, mostSpareThreads)
}

// limitMemory has the collector work harder before the process takes what its container may have, unless the operator
// said how much it may take. A tenth is left to what the collector does not manage: SQLite's own memory, stacks and the
// kernel's buffers.
func limitMemory(env terminal.Env, container memlimit.Provider, log *slog.Logger) {
	if isSet(env, "GOMEMLIMIT") {
		log.Info("memory limit", "bytes", debug.SetMemoryLimit(-1), "from", "GOMEMLIMIT")
		return
	}
	most, err := container()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
		log.Info("no memory limit: neither the container nor GOMEMLIMIT sets one")
	case err != nil:
		log.Warn("the container's memory limit cannot be read; set GOMEMLIMIT to have one", "error", err)
	default:
		limit := int64(min(most, math.MaxInt64) / 10 * 9)
		debug.SetMemoryLimit(limit)
		log.Info("memory limit", "bytes", limit, "from", "the container's limit", "container_bytes", most)
	}
}

// newLog makes the log on stderr. Durations have their unit in both formats.
func newLog(cfg config.Config, env terminal.Env) *slog.Logger {
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && env.StderrTerminal {
		return slog.New(tint.NewTextHandler(env.Stderr, &tint.Options{
			Level: cfg.Level(), TimeFormat: time.TimeOnly, NoColor: !env.Color(env.StderrTerminal).On,
		}))
	}
	return slog.New(slog.NewJSONHandler(env.Stderr, &slog.HandlerOptions{Level: cfg.Level(), ReplaceAttr: withUnit}))
}

// withUnit writes a duration as text, such as 62.7ms, where slog's JSON has bare nanoseconds.
func withUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// printBanner prints what runs where, what is on and off, and why.
func printBanner(env terminal.Env, cfg config.Loaded, a *app.App) {
	w, p := env.Stdout, env.Color(env.StdoutTerminal)
	line := func(name, value, note string) {
		fmt.Fprintf(w, "  %-26s%s", name, value)
		if note != "" {
			fmt.Fprint(w, "  "+p.Dim(note))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s %s\n", p.Bold("strata"), env.ProgramVersion())
	line("address", a.Addr(), cfg.Origin("listen"))
	//exhaustive:enforce
	switch cfg.Primary() {
	case config.PrimarySQLite:
		line("data", absolute(cfg.Data), cfg.Origin("data"))
	case config.PrimaryMongoDB:
		line("data", "MongoDB, database "+cfg.MongoDBDatabase, cfg.Origin("mongodb-uri"))
	}
	if cfg.File != "" {
		line("settings", absolute(cfg.File), "")
	}
	for _, f := range a.Features() {
		state := p.Yellow("off")
		if f.On {
			state = p.Green("on ")
		}
		line(f.Name, state, f.Why)
	}
	if token := a.FirstKey(); token != "" {
		fmt.Fprintf(w, "\nthe first key, of an admin; its token is stored nowhere and shown once:\n%s\n", token)
	}
	server := reachable(a.Addr())
	if cfg.TLSCert != "" {
		server = "https://" + server
	}
	fmt.Fprintf(w, "\ntry  strata record ada s1 \"I am vegan\" --server %s\nstop with Ctrl-C\n", server)
}

// reachable is an address at which this machine reaches a server that listens there: one that listens on all its addresses is localhost,
// which a certificate can name.
func reachable(listening string) string {
	at, err := netip.ParseAddrPort(listening)
	if err != nil || !at.Addr().IsUnspecified() {
		return listening
	}
	return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
}

// absolute is the full path of a file, for people who run the server from elsewhere.
func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}
