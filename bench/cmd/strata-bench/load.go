package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	// judgedFrom is the shortest load whose times and sizes are judged: in a sixth of a shorter one too few calls are the slowest
	// hundredth, and caches still fill.
	judgedFrom = 5 * time.Minute

	barLoadP99    = 1.2   // of the last sixth against the first
	barLoadMemory = 1.0   // MiB a minute over the last two thirds
	barLoadFile   = 1.2   // bytes of file for a byte of text in the second half against the first
	barLoadFailed = 0.001 // of all calls, with nothing killed

	loadWindow = time.Minute // of a line of the table; a sixth of a load that is shorter than six of them
)

// loadFigure has many users call one server at a fixed rate, kills it at the end, and looks whether all that was promised is there.
func loadFigure(ctx context.Context, o options) (err error) {
	plan, err := o.loadPlan()
	if err != nil {
		return err
	}
	data, err := o.path("load.db")
	if err != nil {
		return err
	}
	if err := seedLoadFile(ctx, o, data, plan.Users); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	model := llmtest.New(llmtest.Options{Chat: learnItems})
	defer model.Close()
	s, err := start(ctx, o.binary, data, scripted.ChatFlags(model.URL())...)
	if err != nil {
		return err
	}
	run, err := newMixedRun(o, plan, func(int) *running { return s })
	if err != nil {
		return errors.Join(err, s.kill())
	}
	if err := run.run(ctx, watched{sample: func() (mixedload.Sample, error) { return sampleFile(s, data) }}); err != nil {
		return errors.Join(err, s.kill())
	}
	run.table()
	run.judgeTimes()
	run.judgeFailures()
	run.judgeMemory("the server's memory", run.samples)
	run.judgeFile()
	if err := s.kill(); err != nil { // what was promised must not depend on an orderly end
		return err
	}
	if s, err = start(ctx, o.binary, data); err != nil {
		return err
	}
	return errors.Join(run.verify(ctx), s.stop())
}

func (o options) loadPlan() (mixedload.Plan, error) {
	mix, err := mixedload.ParseMix(o.mix)
	switch {
	case err != nil:
		return mixedload.Plan{}, err
	case o.users < 1 || o.rate <= 0 || o.zipf < 0:
		return mixedload.Plan{}, fmt.Errorf("-users is %d, -rate %g, -zipf %g: give at least 1, more than 0, and at least 0", o.users, o.rate, o.zipf)
	}
	return mixedload.Plan{Seed: o.seed, Mix: mix, Users: mixedload.NewZipf(o.users, o.zipf)}, nil
}

// learnItems makes facts of the statements that users make, and summaries of all else.
func learnItems(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		return repeat(r)
	}
	var all []scripted.Proposal
	for _, m := range learnable(r.User) {
		if statement, ok := itemIn(m.Text); ok {
			all = append(all, propose(m.Message, statement))
		}
	}
	return scripted.Propose(all)
}

// sampleFile reads how large a server and its data file are.
func sampleFile(s *running, data string) (sample mixedload.Sample, err error) {
	if sample.Memory, err = s.ResidentBytes(); err != nil {
		return sample, err
	}
	file, err := os.Stat(data)
	if err != nil {
		return sample, fmt.Errorf("read the size of the data file: %w", err)
	}
	sample.File = file.Size()
	if log, err := os.Stat(data + "-wal"); err == nil {
		sample.Log = log.Size()
	}
	return sample, nil
}

// window is the length of a line of the table.
func (r *mixedRun) window() time.Duration { return min(loadWindow, max(r.duration/6, time.Second)) }

// table prints a line for each window: p50 and p99 of each kind of call, and how large things are.
func (r *mixedRun) table() {
	r.report.Note("   open loop, %g calls a second for %s, times from when each was to be sent, in milliseconds, p50/p99:", r.rate, r.duration)
	head := fmt.Sprintf("   %8s %6s %6s", "from", "calls", "failed")
	for _, k := range mixedload.Kinds() {
		head += fmt.Sprintf(" %14s", k)
	}
	r.report.Note("%s %7s %8s %7s %8s", head, "memory", "file", "log", "written")
	for from := time.Duration(0); from < r.duration-time.Millisecond; from += r.window() {
		calls := mixedload.Between(r.outcomes, from, from+r.window())
		line := fmt.Sprintf("   %8s %6d %6d", from.Round(time.Second), len(calls), mixedload.Failures(calls))
		for _, k := range mixedload.Kinds() {
			times := mixedload.Times(calls, k)
			line += fmt.Sprintf(" %14s", fmt.Sprintf("%.1f/%.1f", inMillis(times.P50()), inMillis(times.P99())))
		}
		s := mixedload.Last(r.samples, from+r.window())
		r.report.Note("%s %3d MiB %4d MiB %3d MiB %4d MiB", line, s.Memory>>20, s.File>>20, s.Log>>20, s.Written>>20)
	}
	for _, why := range slices.SortedFunc(maps.Keys(r.failures), func(a, b string) int { return cmp.Compare(r.failures[b], r.failures[a]) }) {
		r.report.Note("   failed %d times: %s", r.failures[why], why)
	}
	r.report.Note("   %d contexts lacked a tier; %d calls, which were sent %d times", r.degraded, len(r.outcomes), r.attempts)
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// judgeTimes compares the end of the load with its begin. Neither has an outage in it.
func (r *mixedRun) judgeTimes() {
	sixth := r.duration / 6
	first := mixedload.Times(mixedload.Between(r.outcomes, 0, sixth))
	last := mixedload.Times(mixedload.Between(r.outcomes, r.duration-sixth, r.duration))
	ratio := float64(last.P99()) / float64(max(first.P99(), 1))
	name := fmt.Sprintf("%s: p99 of all calls, last sixth of %s against the first", r.name, r.duration)
	value := fmt.Sprintf("%.2f (%s)", ratio, measure.Millis(last.P99()))
	r.judge(name, value, fmt.Sprintf("≤ %.2f", barLoadP99), ratio <= barLoadP99)
}

func (r *mixedRun) judgeFailures() {
	share := float64(mixedload.Failures(r.outcomes)) / float64(max(len(r.outcomes), 1))
	r.report.Add(r.name+": calls that failed", fmt.Sprintf("%.3f %%", 100*share), fmt.Sprintf("≤ %g %%", 100*barLoadFailed), share <= barLoadFailed)
}

// judgeWrites counts the writes that did not succeed however often they were sent. Reads may fail while a server is away.
func (r *mixedRun) judgeWrites() {
	failed := 0
	for _, k := range []mixedload.Kind{mixedload.Record, mixedload.PopMessages, mixedload.DeleteFact} {
		for _, o := range r.outcomes {
			failed += count(o.Kind == k && o.Failed)
		}
	}
	r.report.NoMore(r.name+": writes that never succeeded", float64(failed), 0, "")
}

func (r *mixedRun) judgeMemory(whose string, samples []mixedload.Sample) {
	slope := mixedload.MemoryGrowth(samples, r.duration/3)
	r.judge(fmt.Sprintf("%s: %s, growth over the last two thirds", r.name, whose), fmt.Sprintf("%.2f MiB/min", slope),
		fmt.Sprintf("≤ %.0f MiB/min", barLoadMemory), slope <= barLoadMemory)
}

// judgeFile compares what a byte of text takes early and late: pages that nothing gives back would make it more and more.
func (r *mixedRun) judgeFile() {
	half := r.duration / 2
	early, late := mixedload.FileGrowth(r.samples, time.Second, half), mixedload.FileGrowth(r.samples, half, r.duration+time.Hour)
	r.report.Note("   the file grew by %.1f bytes for each byte of text in the first half, by %.1f in the second", early, late)
	if early <= 0 {
		return
	}
	r.judge(r.name+": growth of the file for a byte of text, second half against first", fmt.Sprintf("%.2f", late/early),
		fmt.Sprintf("≤ %.2f", barLoadFile), late/early <= barLoadFile)
}

// judge adds a figure where the load was long enough to say something, and prints it elsewhere.
func (r *mixedRun) judge(name, value, bar string, ok bool) {
	if r.duration < judgedFrom {
		r.report.Note("   %s: %s (bar %s from %s on)", name, value, bar, judgedFrom)
		return
	}
	r.report.Add(name, value, bar, ok)
}
