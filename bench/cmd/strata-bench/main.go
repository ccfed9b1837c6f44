// Command strata-bench measures the figures of docs/evaluate, over a socket against the real binary, each beside
// its baseline and bar. It exits with 1 when a
// figure falls short of its bar, with 2 when something is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// options are what every figure may be given.
type options struct {
	binary     string        // the program
	twin       string        // the sabotaged build; "" for none
	dir        string        // for data files; a temporary folder when empty
	calls      int           // of BuildContext
	duration   time.Duration // of each loop of Record
	neighbours int           // other users
	messages   int           // of one user; of all users of a load
	users      int           // of a load
	facts      int           // of all users of a load
	rate       float64       // calls a second of a load
	zipf       float64       // the exponent of its users' activity
	mix        string        // what they call
	cycles     int           // of kill -9
	seamsHits  int           // how often the server dies at each seam
	replays    int           // of two sessions that contradict each other
	long       int           // messages of the long session
	langmem    string        // the folder of the program that searches by LangMem
	backends   string        // the folder of the scripts that start servers
	hostile    int           // requests at each way in
	seed       uint64        // of hostile requests and loads
	outage     time.Duration // how long the model does not answer
	part       int           // of workloads W and W2: the sessions of one in so many; 1 for all
	report     *measure.Report
}

type figure struct {
	name, about string
	run         func(context.Context, options) error
	more        bool // wants more than our server: MongoDB, all three servers, or LangMem
}

func figures() []figure {
	return []figure{
		{"context", "BuildContext on W and W2: handler and client time, cold first call", contextFigure, false},
		{"neighbours", "BuildContext on W alone and beside -neighbours users of 30 messages", neighboursFigure, false},
		{"large", "BuildContext for one user of -messages messages: time, cold first call, memory with 32 calls at once", largeFigure, false},
		{"record", "Record: open loop beside a bare insert, closed loops of 64 clients", recordFigure, false},
		{"facts", "BuildContext on W with 10,000 facts and an embedder over HTTP", factsFigure, false},
		{"langmem", "SearchFacts at 10,000 facts of 1,536 numbers beside LangMem's search tool over sqlite-vec", langmemFigure, true},
		{"learn", "how soon a fact is there; model calls of a conversation of 100 messages", learnFigure, false},
		{"crash", "kill -9 under load, -cycles times; with -twin also the sabotaged build", crashFigure, false},
		{"seams", "kill -9 at every point of background work, -seams-hits times each; needs -twin", seamsFigure, false},
		{"conflict", "two sessions of one user say the same and the opposite at once, with restarts", conflictFigure, false},
		{"tiers", "BuildContext on W with facts over MongoDB, Milvus and Elasticsearch: own time beside theirs", tiersFigure, true},
		{"erase", "EraseUser on one file: 10,000 messages and 10,000 facts invisible, and swept", eraseFigure, false},
		{"erase-tiers", "the same over MongoDB, Milvus and Elasticsearch", eraseTiersFigure, true},
		{"reindex", "how fast views are made again", reindexFigure, true},
		{"hanging", "Record while Milvus and Elasticsearch hang", hangingFigure, true},
		{"mongokill", "kill -9 of the MongoDB server under load, -cycles times", mongoKillFigure, true},
		{"replicas", "64 clients on one session through three servers on one MongoDB, one killed", replicasFigure, true},
		{"outage", "a model that does not answer for -length: facts missing after it, calls that it cost", outageFigure, false},
		{"overload", "20 kinds of calls that cost most, alone and 64 at once beside Record and small contexts", overloadFigure, false},
		{"hostile", "-requests hostile requests at each of gRPC, gRPC-Web, Connect and REST: panics, memory, whose fault replies call it", hostileFigure, false},
		{"load", "-users users call a file of -messages and -facts at -rate for -duration: flat times, memory and file; what was promised is there", loadFigure, false},
		{"load-tiers", "the same through three replicas over MongoDB, Milvus and Elasticsearch; one server of each kind is killed and comes back", loadTiersFigure, true},
		{"sharding", "where a billion messages would lie on many shards, and what moves when there are more; reckoned", shardingFigure, false},
		{"idle", "an idle server's memory; whether the binary is static", idleFigure, false},
	}
}

func main() {
	os.Exit(measure.Main("strata-bench", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout) }))
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) > 0 && args[0] == attackArg {
		return attackMain(ctx, args[1:], out)
	}
	chosen, args, err := choose(args)
	if err != nil {
		return err
	}
	o := options{report: &measure.Report{Out: out}}
	fs := flag.NewFlagSet("strata-bench", flag.ContinueOnError)
	fs.StringVar(&o.binary, "binary", "bin/strata", "the program to measure")
	fs.StringVar(&o.twin, "twin", "", "the sabotaged build, whose faults the figures of crashes must find")
	fs.StringVar(&o.dir, "dir", "", "where data files go; a temporary folder when empty")
	fs.IntVar(&o.calls, "calls", 1000, "calls of BuildContext")
	fs.DurationVar(&o.duration, "duration", 20*time.Second, "how long a load, and each loop of Record, runs")
	fs.IntVar(&o.neighbours, "neighbours", 100_000, "other users in the file, of 30 messages each")
	fs.IntVar(&o.messages, "messages", 500_000, "messages of the one large user; of all users of a load")
	fs.IntVar(&o.users, "users", 20_000, "users of a load")
	fs.IntVar(&o.facts, "facts", 150_000, "facts of all users of a load")
	fs.Float64Var(&o.rate, "rate", 100, "calls a second of a load")
	fs.Float64Var(&o.zipf, "zipf", 0.8, "the exponent of a load's users: the one of rank r makes 1/r^zipf of the calls of the first")
	fs.StringVar(&o.mix, "mix", mixedload.DefaultMix, "parts of the calls of a load")
	fs.IntVar(&o.cycles, "cycles", 30, "how often the server is killed")
	fs.StringVar(&o.backends, "backends", "tools/backends", "the folder of the scripts that start MongoDB, Milvus and Elasticsearch")
	fs.StringVar(&o.langmem, "langmem", "bench/cmd/strata-bench/langmem", "the folder of the program that searches by LangMem, and of what it needs")
	fs.IntVar(&o.long, "long", 200_000, "messages of the long session that costly calls are about")
	fs.IntVar(&o.replays, "replays", 50, "how often two sessions contradict each other")
	fs.IntVar(&o.seamsHits, "seams-hits", 3, "how often the server is killed at each point of background work")
	fs.IntVar(&o.part, "part", 1, "context, neighbours, tiers: measure on one in so many sessions of W and W2, to see in little time that all works")
	fs.IntVar(&o.hostile, "requests", 10_000, "hostile requests at each way in")
	fs.Uint64Var(&o.seed, "seed", 1, "from which hostile requests and the calls of a load follow")
	fs.DurationVar(&o.outage, "length", time.Minute, "how long the model does not answer")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cleanup, err := o.prepareDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	for _, f := range chosen {
		o.report.Note("\n== %s: %s\n   %s", f.name, f.about, measure.Machine())
		if err := f.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return o.report.Finish()
}

// choose reads the first argument: a figure's name, or all that need no server but ours.
func choose(args []string) ([]figure, []string, error) {
	all := figures()
	if len(args) > 0 && args[0] == "all" {
		return slices.DeleteFunc(all, func(f figure) bool { return f.more }), args[1:], nil
	}
	var names []string
	for i, f := range all {
		if len(args) > 0 && args[0] == f.name {
			return all[i : i+1], args[1:], nil
		}
		names = append(names, fmt.Sprintf("  %-11s %s", f.name, f.about))
	}
	return nil, nil, fmt.Errorf("name a figure, or all:\n%s", strings.Join(names, "\n"))
}

func (o *options) prepareDir() (func() error, error) {
	if o.dir != "" {
		return func() error { return nil }, os.MkdirAll(o.dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "strata-bench-")
	o.dir = dir
	return func() error { return os.RemoveAll(dir) }, err
}

// share is what is measured of a workload. Bars are for all of it, so a part is noted.
func (o options) share(name string, s conversations.Shape) conversations.Shape {
	if o.part <= 1 {
		return s
	}
	s.Sessions = max(1, s.Sessions/o.part)
	o.report.Note("   only %d sessions of %s: its bars are for all", s.Sessions, name)
	return s
}

// path names a new data file; one left by an earlier run is removed.
func (o options) path(name string) (string, error) {
	p := filepath.Join(o.dir, name)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(p + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("remove an earlier data file: %w", err)
		}
	}
	return p, nil
}

// baseline measures the CPU and prints how much slower than idle it is.
func (o options) baseline() time.Duration {
	runs := []time.Duration{measure.DotProducts(), measure.DotProducts(), measure.DotProducts()}
	slices.Sort(runs)
	o.report.Note("   baseline: 10,000 × 384 dot products %s (idle %s), bars × %.2f, load average %s", measure.Millis(runs[1]),
		measure.Millis(measure.IdleDotProducts), measure.Slowness(runs[1]), measure.LoadAverage())
	return runs[1]
}
