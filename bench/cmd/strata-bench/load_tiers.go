package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	// longestDown is for how long a server that was killed stays away; a twentieth of the load where that is shorter.
	longestDown = 30 * time.Second

	barFed      = 5 * time.Minute  // until the views have all of it, from the end of the load
	fedAtMost   = 15 * time.Minute // until that is given up; what was promised is looked for all the same
	fedLookedAt = time.Second      // to count what waits is work for the primary store, which is busy with it
	countWithin = 2 * time.Second  // for a line of progress

	// replicaCache is the memory of each of a replica's two caches. They are full within minutes, so that memory that grows after that is
	// not users who come into them.
	replicaCache = "32MiB"
)

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
	took, err := l.fed(ctx)
	if err != nil {
		return fmt.Errorf("feed the views with what was seeded: %w", err)
	}
	l.report.Note("   the views had all of it %s later", took.Round(time.Millisecond))
	if l.run, err = newMixedRun(o, plan, l.replicas.serve); err != nil {
		return err
	}
	l.run.name = "mixed load on the three"
	return l.measure(ctx)
}

// measure runs the load with its outages and judges it. An outage that goes wrong, or views that are not fed, are faults; what was promised
// is looked for all the same.
func (l *tiersLoad) measure(ctx context.Context) error {
	l.announce()
	primary, err := mongostore.Open(ctx, mongostore.Options{URI: l.backends.MongoDB, Database: l.backends.Name})
	if err != nil {
		return err
	}
	waiting := func(ctx context.Context) string { return waitingWork(ctx, primary) }
	var g errgroup.Group
	g.Go(func() error { return l.outages(ctx) })
	g.Go(func() error { return l.run.run(ctx, watched{sample: l.sample, waiting: waiting}) })
	faults := errors.Join(g.Wait(), primary.Close())
	if ctx.Err() != nil {
		return faults
	}
	l.run.table()
	l.parts()
	l.run.judgeTimes()
	l.run.judgeMemory("the larger of the replicas that lived", l.run.samples)
	l.run.judgeWrites()
	return errors.Join(faults, l.judgeFed(ctx), l.run.verify(ctx))
}

// judgeFed waits until the views hold all that is stored: nothing that happened while a view's server was away may be missing in it.
func (l *tiersLoad) judgeFed(ctx context.Context) error {
	took, err := l.fed(ctx)
	name := l.run.name + ": until the views had all of it, from the end on"
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		l.report.Add(name, "not within "+fedAtMost.String(), "≤ "+barFed.String(), false)
		return nil
	}
	if err == nil {
		l.report.Add(name, took.Round(time.Second).String(), "≤ "+barFed.String(), took <= barFed)
	}
	return err
}

// server is how a replica is started, at an address or at a free one.
func (l *tiersLoad) server(listen string) measure.ServerOptions {
	args := append(scripted.ChatFlags(l.model.URL()), "--recall-cache", replicaCache, "--fact-cache", replicaCache)
	return measure.ServerOptions{Binary: l.binary, Env: l.backends.Env(), Args: args, Listen: listen}
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

// fed waits until the views hold all that is stored, and returns how long that took.
func (l *tiersLoad) fed(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, fedAtMost)
	defer cancel()
	begin, printed := time.Now(), time.Now()
	err = withPrimaryStore(ctx, l.backends, func(primary store.PrimaryStore) error {
		for {
			pending, err := pendingFeeds(ctx, primary)
			if err == nil && pending == 0 {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("wait until the views have all of it: %w", ctx.Err())
			}
			if time.Since(printed) > loadWindow {
				l.report.Note("   the views: %s", cmp.Or(failureOf(err), fmt.Sprintf("%d feeds wait", pending)))
				printed = time.Now()
			}
			retry.Pause(ctx, fedLookedAt)
		}
	})
	return time.Since(begin), err
}

func failureOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// pendingFeeds counts what the views may lack.
func pendingFeeds(ctx context.Context, primary store.ChangeFeed) (int64, error) {
	var sum int64
	for _, view := range memory.Views() {
		pending, _, err := primary.CountFeeds(ctx, view)
		if err != nil {
			return 0, err
		}
		sum += pending
	}
	return sum, nil
}

// waitingWork says what background work and the views have still to do.
func waitingWork(ctx context.Context, primary store.PrimaryStore) string {
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	feeds, err := pendingFeeds(ctx, primary)
	if err != nil {
		return "work not counted"
	}
	stats, err := primary.WorkStats(ctx)
	if err != nil {
		return "jobs not counted"
	}
	var open, parked int64
	for _, kind := range stats.Kinds {
		open, parked = open+kind.Open, parked+kind.Parked
	}
	oldest := time.Duration(0)
	if !stats.OldestTurn.IsZero() {
		oldest = time.Since(stats.OldestTurn)
	}
	return fmt.Sprintf("%d feeds, %d jobs (%d parked) wait, the longest turn for %s", feeds, open, parked, oldest.Round(time.Second))
}

// sample reads the memory of each replica that lives, and of the larger of those that live all the time.
func (l *tiersLoad) sample() (mixedload.Sample, error) {
	var s mixedload.Sample
	for n, r := range l.replicas.all() {
		resident, err := r.ResidentBytes()
		if err != nil && n != victim {
			return s, err
		}
		s.Each = append(s.Each, resident)
		if n != victim {
			s.Memory = max(s.Memory, resident)
		}
	}
	return s, nil
}

// outage is a server that is killed during the load and started again.
type outage struct {
	at   float64 // of the load
	name string
	kill func() error
	back func(context.Context) error
}

// plan is which servers are killed, between the first sixth of the load and the last.
func (l *tiersLoad) plan() []outage {
	return []outage{
		{0.25, "a replica", func() error { return l.replicas.kill(victim) }, func(ctx context.Context) error {
			return l.replicas.revive(ctx, victim, l.server)
		}},
		{0.40, "MongoDB", l.script("mongodb", "kill"), l.startAgain("mongodb")},
		{0.55, "Milvus", l.script("milvus", "kill"), l.startAgain("milvus")},
		{0.70, "Elasticsearch", l.script("elasticsearch", "kill"), l.startAgain("elasticsearch")},
	}
}

func (l *tiersLoad) begins(o outage) time.Duration {
	return time.Duration(o.at * float64(l.duration)).Round(time.Second)
}

// down is for how long a server stays away before it is started again.
func (l *tiersLoad) down() time.Duration { return min(longestDown, l.duration/20) }

// announce prints what will happen when.
func (l *tiersLoad) announce() {
	line := fmt.Sprintf("   %s at %g calls a second on %d replicas with caches of %s; killed with kill -9, and started again %s later:",
		l.duration, l.rate, replicaCount, replicaCache, l.down())
	for _, o := range l.plan() {
		line += fmt.Sprintf(" %s at %s,", o.name, l.begins(o))
	}
	l.report.Note("%s\n   progress, each %s; memory of each replica:", strings.TrimSuffix(line, ","), l.run.window())
}

// parts prints what came of the calls between one kill and the next.
func (l *tiersLoad) parts() {
	name, from := "nothing killed yet", time.Duration(0)
	line := func(to time.Duration) {
		calls := mixedload.Between(l.run.outcomes, from, to)
		times := mixedload.Times(calls)
		l.report.Note("   %s to %s, %s: %d calls, %d failed, p50 %s, p99 %s", from, to, name, len(calls), mixedload.Failures(calls),
			measure.Millis(times.P50()), measure.Millis(times.P99()))
	}
	for _, o := range l.plan() {
		line(l.begins(o))
		name, from = "from the kill of "+o.name+" on", l.begins(o)
	}
	line(l.duration)
}

// outages kill one server after the other.
func (l *tiersLoad) outages(ctx context.Context) error {
	for _, o := range l.plan() {
		if err := until(ctx, time.Now().Add(l.run.untilPart(o.at))); err != nil {
			return err
		}
		begin := time.Now()
		if err := o.kill(); err != nil {
			return fmt.Errorf("kill %s: %w", o.name, err)
		}
		l.report.Note("   %8s %s was killed", l.begins(o), o.name)
		if err := until(ctx, begin.Add(l.down())); err != nil {
			return err
		}
		if err := o.back(ctx); err != nil {
			return fmt.Errorf("start %s again: %w", o.name, err)
		}
		back := time.Since(begin)
		l.report.Note("   %8s %s was ready again, %s after its kill", (l.begins(o) + back).Round(time.Second), o.name, back.Round(time.Second))
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
