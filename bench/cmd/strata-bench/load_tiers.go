package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/backendtest"
	"github.com/stratamem/strata/internal/llm/llmtest"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

// longestDown is for how long a server that was killed stays away; a twentieth of the load where that is shorter.
const longestDown = 30 * time.Second

// tiersLoad is a load on three replicas over the three servers.
type tiersLoad struct {
	options
	backends backendtest.Backends
	replicas fleet
	model    *llmtest.Server
	run      *mixedRun
}

// loadTiersFigure has many users call three replicas over MongoDB, Milvus and Elasticsearch at a fixed rate. One server of each kind is
// killed meanwhile and comes back. The servers are those of the scripts in -backends: they must be of nobody else.
func loadTiersFigure(ctx context.Context, o options) (err error) {
	plan, err := o.loadPlan()
	if err != nil {
		return err
	}
	l := &tiersLoad{options: o, model: llmtest.New(llmtest.Options{Chat: learnItems})}
	defer l.model.Close()
	if l.backends, err = startBackends(ctx, o.backends); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.backends.Drop()) }()
	if err := l.seed(ctx, plan.Users); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	defer func() { err = errors.Join(err, l.replicas.stop()) }()
	for range replicaCount {
		if err := l.replicas.start(ctx, l.server("")); err != nil {
			return err
		}
	}
	if err := l.fed(ctx); err != nil {
		return err
	}
	l.run = newMixedRun(o, plan, l.replicas.serve)
	l.run.name = "mixed load on the three"
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.outages(gctx) })
	g.Go(func() error { return l.run.run(gctx, l.sample) })
	if err := g.Wait(); err != nil {
		return err
	}
	l.run.table()
	l.run.judgeTimes()
	l.run.judgeMemory("the larger of the replicas that lived", l.run.samples)
	l.run.judgeWrites()
	if err := l.fed(ctx); err != nil { // nothing that happened while a view's server was away may be missing in it
		return err
	}
	return l.run.verify(ctx)
}

// server is how a replica is started, at an address or at a free one.
func (l *tiersLoad) server(listen string) measure.ServerOptions {
	return measure.ServerOptions{Binary: l.binary, Env: l.backends.Env(), Args: scripted.ChatFlags(l.model.URL()), Listen: listen}
}

func (l *tiersLoad) seed(ctx context.Context, users mixedload.Zipf) (err error) {
	st, err := mongostore.Open(ctx, mongostore.Options{URI: l.backends.MongoDB, Database: l.backends.Name})
	if err != nil {
		return err
	}
	begin := time.Now()
	messages, facts, err := seedLoad(ctx, l.options, st, users)
	l.report.Note("   seeded %d users with %d messages and %d facts in %s", users.Users(), messages, facts, time.Since(begin).Round(time.Second))
	return errors.Join(err, st.Close())
}

// fed waits until the views hold all that is stored.
func (l *tiersLoad) fed(ctx context.Context) error {
	return withPrimaryStore(ctx, l.backends, func(primary store.PrimaryStore) error {
		begin := time.Now()
		err := waitFed(ctx, primary)
		l.report.Note("   the views had all of it %s later", time.Since(begin).Round(time.Millisecond))
		return err
	})
}

// sample reads the memory of the larger of the replicas that live on.
func (l *tiersLoad) sample() (mixedload.Sample, error) {
	var s mixedload.Sample
	for n, r := range l.replicas.all() {
		if n == victim {
			continue
		}
		memory, err := r.ResidentBytes()
		if err != nil {
			return s, err
		}
		s.Memory = max(s.Memory, memory)
	}
	return s, nil
}

// outages kill one server after the other, between the first sixth of the load and the last.
func (l *tiersLoad) outages(ctx context.Context) error {
	for _, k := range []struct {
		at   float64 // of the load
		name string
		kill func() error
		back func(context.Context) error
	}{
		{0.25, "a replica", func() error { return l.replicas.kill(victim) }, func(ctx context.Context) error {
			return l.replicas.revive(ctx, victim, l.server)
		}},
		{0.40, "MongoDB", l.script("mongodb", "kill"), l.startAgain("mongodb")},
		{0.55, "Milvus", l.script("milvus", "kill"), l.startAgain("milvus")},
		{0.70, "Elasticsearch", l.script("elasticsearch", "kill"), l.startAgain("elasticsearch")},
	} {
		if err := until(ctx, time.Now().Add(l.run.untilPart(k.at))); err != nil {
			return err
		}
		begin := time.Now()
		if err := k.kill(); err != nil {
			return fmt.Errorf("kill %s: %w", k.name, err)
		}
		if err := until(ctx, begin.Add(min(longestDown, l.duration/20))); err != nil {
			return err
		}
		if err := k.back(ctx); err != nil {
			return fmt.Errorf("start %s again: %w", k.name, err)
		}
		l.report.Note("   %s was killed -9 at %s and was back %s later", k.name, time.Duration(k.at*float64(l.duration)).Round(time.Second),
			time.Since(begin).Round(time.Second))
	}
	return nil
}

func (l *tiersLoad) script(name, verb string) func() error {
	return func() error {
		_, err := backendScript(l.options.backends, name, verb)
		return err
	}
}

func (l *tiersLoad) startAgain(name string) func(context.Context) error {
	return func(context.Context) error { return l.script(name, "start")() }
}

// startBackends starts those of the three servers that do not run, and takes a corner in each.
func startBackends(ctx context.Context, scripts string) (backendtest.Backends, error) {
	b := backendtest.Backends{Name: fmt.Sprintf("load%08x", rand.Uint32())} //nolint:gosec // a name
	for _, s := range []struct {
		name string
		to   *string
	}{{"mongodb", &b.MongoDB}, {"milvus", &b.Milvus}, {"elasticsearch", &b.Elasticsearch}} {
		if ctx.Err() != nil {
			return b, ctx.Err()
		}
		out, err := backendScript(scripts, s.name, "start")
		if err != nil {
			return b, err
		}
		m := exported.FindSubmatch(out)
		if m == nil {
			return b, fmt.Errorf("%s.sh start did not print its address", s.name)
		}
		*s.to = string(m[1])
	}
	return b, nil
}

// exported is how a script prints the address of its server.
var exported = regexp.MustCompile(`export [A-Z_]+='([^']+)'`)

// backendScript runs one of the scripts, in the folder and at the ports that the environment names, and returns what it prints.
func backendScript(scripts, name, verb string) ([]byte, error) {
	script := filepath.Join(scripts, name+".sh")
	out, err := exec.Command(script, verb).Output() //nolint:noctx // ending it must not be cut short
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", script, verb, err)
	}
	return out, nil
}
