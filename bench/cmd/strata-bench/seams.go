package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// seamsRun is one run through all messages, in which the server dies again and again.
type seamsRun struct {
	name    string
	fault   string
	lives   []string
	workers int
	slow    bool // its seams come seldom: between rounds the index is waited for
}

// seamsFigure kills the server at every named point of background work. The sabotaged build, whose journal forgets the
// answers of models, must be found out: else the figure proves nothing.
func seamsFigure(ctx context.Context, o options) error {
	if o.twin == "" {
		o.report.Note("   no -twin named: only it can be told where to die")
		return nil
	}
	var total damage
	o.report.Note(
		"   %-14s %5s %8s %5s %5s %5s %6s %6s %7s %7s",
		"seam",
		"kills",
		"contexts",
		"holes",
		"leaves",
		"facts",
		"calls",
		"again",
		"allowed",
		"missed",
	)
	for _, r := range seamsRuns(o.seamsHits) {
		d, err := r.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		o.report.Note(
			"   %-14s %5d %8d %5d %5d %5d %6d %6d %7d %7d",
			r.name,
			d.kills,
			d.contexts,
			d.holes,
			d.leaves,
			d.facts,
			d.calls,
			d.again,
			d.allowed,
			d.missed,
		)
		total.add(d)
	}
	total.judge(o.report)
	forgetful := seamsRun{name: "forgetful", fault: "forgetful", lives: lives(jobrunner.FailpointAfterAnswer, o.seamsHits), workers: 1}
	d, err := forgetful.run(ctx, o)
	if err != nil {
		return fmt.Errorf("%s: %w", forgetful.name, err)
	}
	o.report.Note("   the sabotaged build whose journal forgets paid %d times again in %d kills", d.paidTwice(), d.kills)
	if d.paidTwice() == 0 {
		return errors.New("the sabotaged build paid for nothing twice: the figure cannot tell a journal that forgets from one that does not")
	}
	return nil
}

// seamsRuns are a run for every seam, with one piece of work at a time, so that it is known which calls may be made
// again; and one through all seams with as many at once as by default.
func seamsRuns(hits int) []seamsRun {
	var runs []seamsRun
	all := seamsRun{name: "all, 4 at once", fault: "none", workers: 4, slow: true}
	for _, point := range []string{
		jobrunner.FailpointBeforeOpen, jobrunner.FailpointAfterOpen,
		jobrunner.FailpointBeforeAnswer, jobrunner.FailpointAfterAnswer,
		jobrunner.FailpointBeforeApply, jobrunner.FailpointAfterApply,
		jobrunner.FailpointBeforeNode, jobrunner.FailpointAfterNode,
		jobrunner.FailpointBeforeDefer, jobrunner.FailpointAfterDefer,
		indexing.FailpointBeforeIndex, indexing.FailpointAfterIndex,
	} {
		runs = append(runs, seamsRun{name: point, fault: "none", lives: lives(point, hits), workers: 1, slow: isIndex(point)})
		all.lives = append(all.lives, lives(point, 1)...)
	}
	return append(runs, all)
}

func isIndex(point string) bool {
	return point == indexing.FailpointBeforeIndex || point == indexing.FailpointAfterIndex
}

// lives are the deaths at a point, each at another passing of it. A session is only put off when a server has just
// started, so one that dies there has died before.
func lives(point string, hits int) []string {
	var out []string
	for h := range hits {
		switch {
		case isIndex(point):
			out = append(out, point+":1")
		case point == jobrunner.FailpointBeforeDefer || point == jobrunner.FailpointAfterDefer:
			out = append(out, jobrunner.FailpointAfterNode+":2", point+":1")
		default:
			out = append(out, fmt.Sprintf("%s:%d", point, 1+h%4*2))
		}
	}
	return out
}

// allowed is how many calls may be made again: one whose answer was lost before it reached the journal, and those that
// others were waiting for.
func (r seamsRun) allowed() int {
	n := 0
	for _, seam := range r.lives {
		n += r.workers - 1
		if strings.HasPrefix(seam, jobrunner.FailpointBeforeAnswer) {
			n++
		}
	}
	return n
}

// damage is what runs did and found.
type damage struct {
	kills, contexts       int
	holes, leaves         int // messages that are missing or stand twice: in contexts and summaries, and in files
	facts                 int // that the oracle does not have, or has and the server has not
	calls, again, allowed int // of the model
	missed                int // seams that were not come to
}

func (d *damage) add(e damage) {
	d.kills, d.contexts, d.holes = d.kills+e.kills, d.contexts+e.contexts, d.holes+e.holes
	d.leaves, d.facts = d.leaves+e.leaves, d.facts+e.facts
	d.calls, d.again, d.missed = d.calls+e.calls, d.again+e.paidTwice(), d.missed+e.missed
}

// paidTwice are the calls for what the journal has.
func (d *damage) paidTwice() int { return max(0, d.again-d.allowed) }

func (d *damage) judge(report *measure.Report) {
	at := fmt.Sprintf("%d kills at seams: ", d.kills)
	report.Zero(at+fmt.Sprintf("of %d contexts those with a hole or overlap", d.contexts), d.holes)
	report.Zero(at+"files with a hole or overlap between leaves", d.leaves)
	report.Zero(at+"facts that are missing, wrong or doubled", d.facts)
	report.Zero(at+fmt.Sprintf("of %d calls those for what was journalled", d.calls), d.paidTwice())
	report.Zero(at+"seams that were not come to", d.missed)
}

// run has all conversations, waits for all work and compares with the oracle.
func (r seamsRun) run(ctx context.Context, o options) (damage, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	data, err := o.path("seams.db")
	if err != nil {
		return damage{}, err
	}
	l := &listener{asked: map[string]int{}}
	model := llmtest.New(llmtest.Options{Chat: l.answer})
	defer model.Close()
	v := &survivor{binary: o.twin, data: data, fault: r.fault, workers: r.workers, lives: r.lives, model: model}
	if err := v.start(ctx); err != nil {
		return damage{}, err
	}
	d, err := r.talk(ctx, v)
	d.kills, d.contexts, d.holes, d.leaves = v.kills, v.contexts, v.holes, v.leaves
	d.calls, d.again = l.counts()
	d.allowed = r.allowed()
	return d, errors.Join(err, v.server.kill())
}

func (r seamsRun) talk(ctx context.Context, v *survivor) (damage, error) {
	all := remarks()
	for i := 0; i < remarksEach; i += remarkRound {
		for _, session := range all {
			if err := v.hear(ctx, session[i:i+remarkRound]); err != nil {
				return damage{}, err
			}
		}
		if r.slow && v.seam != "" {
			if err := v.wait(ctx, memoryv1.Watermark_WATERMARK_INDEXED); err != nil {
				return damage{}, err
			}
		}
	}
	if err := v.finish(ctx); err != nil {
		return damage{}, err
	}
	d := damage{missed: len(v.lives)}
	if v.seam != "" {
		d.missed++
	}
	for user, want := range oracles(all) {
		wrong, err := v.compare(ctx, user, want)
		if err != nil {
			return d, err
		}
		d.facts += wrong
	}
	return d, nil
}

// hear records a round of a session, looks after each turn, and waits until its facts are learnt.
func (v *survivor) hear(ctx context.Context, round []remark) error {
	session, last := round[0].session, round[len(round)-1].seq
	for _, req := range turns(round) {
		err := v.survive(ctx, func(ctx context.Context, s *running) error {
			_, err := s.Record(ctx, req)
			return err
		})
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		if _, err := v.look(ctx, session); err != nil {
			return err
		}
	}
	if err := v.hurry(ctx, session); err != nil {
		return err
	}
	return measure.Until(ctx, "wait for extraction", func(ctx context.Context) (bool, error) {
		marks, err := v.look(ctx, session)
		return marks.GetExtracted() >= last, err
	})
}

// hurry has a session's facts learnt now.
func (v *survivor) hurry(ctx context.Context, session int) error {
	_, err := v.waitFor(ctx, &memoryv1.WaitForWatermarkRequest{
		UserId: remarkUser(session), SessionId: remarkSession(session), Timeout: durationpb.New(time.Millisecond),
		Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
	})
	return err
}

func (v *survivor) waitFor(ctx context.Context, req *memoryv1.WaitForWatermarkRequest) (reached bool, err error) {
	err = v.survive(ctx, func(ctx context.Context, s *running) error {
		r, err := memoryv1.NewWorkServiceClient(s.conn).WaitForWatermark(ctx, req)
		reached = r.GetReached()
		return err
	})
	return reached, err
}

// wait waits until the work of every session has come to its end.
func (v *survivor) wait(ctx context.Context, of ...memoryv1.Watermark) error {
	for session := range remarkSessions {
		req := &memoryv1.WaitForWatermarkRequest{UserId: remarkUser(session), SessionId: remarkSession(session), Of: of}
		err := measure.Until(ctx, "wait for background work", func(ctx context.Context) (bool, error) { return v.waitFor(ctx, req) })
		if err != nil {
			return err
		}
		if _, err := v.look(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// finish has everything summarised and waits until nothing is left to do.
func (v *survivor) finish(ctx context.Context) error {
	for session := range remarkSessions {
		err := measure.Until(ctx, "summarise", func(ctx context.Context) (complete bool, err error) {
			err = v.survive(ctx, func(ctx context.Context, s *running) error {
				r, err := memoryv1.NewSummaryServiceClient(s.conn).Summarize(ctx, &memoryv1.SummarizeRequest{
					UserId: remarkUser(session), SessionId: remarkSession(session),
				})
				complete = r.GetComplete()
				return err
			})
			return complete, err
		})
		if err != nil {
			return err
		}
	}
	err := v.wait(ctx, memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_SUMMARISED)
	if err != nil {
		return err
	}
	return measure.Until(ctx, "wait for the last job", func(ctx context.Context) (done bool, err error) {
		err = v.survive(ctx, func(ctx context.Context, s *running) error {
			r, err := memoryv1.NewWorkServiceClient(s.conn).ListJobs(ctx, &memoryv1.ListJobsRequest{})
			done = len(r.GetJobs()) == 0
			return err
		})
		return done, err
	})
}

// compare counts the facts in which a user's memory and the oracle differ.
func (v *survivor) compare(ctx context.Context, user string, want oracle) (wrong int, err error) {
	var facts []*memoryv1.Fact
	err = v.survive(ctx, func(ctx context.Context, s *running) (err error) {
		facts, err = allFacts(ctx, s, user)
		return err
	})
	if err != nil {
		return 0, err
	}
	current, past := maps.Clone(want.current), maps.Clone(want.past)
	for _, f := range facts {
		left := current
		if f.GetValidTo() != nil {
			left = past
		}
		if !left[f.GetText()] {
			wrong++
		}
		delete(left, f.GetText())
	}
	return wrong + len(current) + len(past), nil
}

// allFacts are a user's facts, past ones too.
func allFacts(ctx context.Context, s *running, user string) ([]*memoryv1.Fact, error) {
	var all []*memoryv1.Fact
	req := &memoryv1.ListFactsRequest{UserId: user, IncludePast: true, PageSize: listPage}
	for {
		r, err := memoryv1.NewFactServiceClient(s.conn).ListFacts(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("list facts: %w", err)
		}
		all = slices.Concat(all, r.GetFacts())
		if req.PageToken = r.GetNextPageToken(); req.GetPageToken() == "" {
			return all, nil
		}
	}
}
