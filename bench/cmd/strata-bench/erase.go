package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	barInvisible     = 50 * time.Millisecond
	barSweptEmbedded = 5 * time.Second
	barSweptTiers    = 30 * time.Second

	recordsBeside = 20 // of another user, for how long a call takes that changes little
	sweepLimit    = 2 * time.Minute
)

// eraseFigure measures EraseUser on one file, for a user of W with 10,000 facts.
func eraseFigure(ctx context.Context, o options) error {
	shape := conversations.W()
	data, err := o.path("erase.db")
	if err != nil {
		return err
	}
	if err := prepareFile(ctx, o, data, shape); err != nil {
		return err
	}
	if err := seedFacts(ctx, data, shape); err != nil {
		return fmt.Errorf("seed facts: %w", err)
	}
	model := llmtest.New(llmtest.Options{Dimension: 384})
	defer model.Close()
	s, err := start(ctx, o.binary, data, "--embedding-base-url", model.URL())
	if err != nil {
		return err
	}
	if err := reembed(ctx, s, model, embedStub); err != nil {
		return errors.Join(err, s.stop())
	}
	done := func(_ context.Context, job *memoryv1.Job) (bool, error) { return isApplied(job), nil }
	err = eraseOn(ctx, o, s, sweeping{"one file", barSweptEmbedded, done})
	return errors.Join(err, s.stop())
}

// eraseTiersFigure measures the same over the three servers.
func eraseTiersFigure(ctx context.Context, o options) (err error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	model := llmtest.New(llmtest.Options{Dimension: 384})
	defer model.Close()
	s, err := startTiers(ctx, o, b, model)
	if err != nil {
		return err
	}
	if err := prepareTiers(ctx, s, b, model, conversations.W()); err != nil {
		return errors.Join(err, s.stop())
	}
	// Writes of before may arrive late there, so that the job ends with a second sweep a minute later.
	err = withPrimaryStore(ctx, b, func(primary store.PrimaryStore) error {
		return eraseOn(ctx, o, s, sweeping{"the three servers", barSweptTiers, func(ctx context.Context, job *memoryv1.Job) (bool, error) {
			e, err := primary.Erasure(ctx, "default", job.GetJobId())
			return e.Passes > 0, err
		}})
	})
	return errors.Join(err, s.stop())
}

// sweeping is where an erasure is swept.
type sweeping struct {
	where  string
	within time.Duration // the bar
	isOnce func(context.Context, *memoryv1.Job) (bool, error)
}

func isApplied(job *memoryv1.Job) bool { return job.GetState() == memoryv1.JobState_JOB_STATE_APPLIED }

// eraseOn erases the user, looks whether anything is seen once the call returned, and waits for the sweep.
func eraseOn(ctx context.Context, o options, s *running, on sweeping) error {
	beside, err := recordTimes(ctx, s)
	if err != nil {
		return err
	}
	begin := time.Now()
	r, err := memoryv1.NewUserServiceClient(s.conn).EraseUser(ctx, &memoryv1.EraseUserRequest{UserId: figureUser})
	if err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	invisible := time.Since(begin)
	seen, err := seenOf(ctx, s)
	if err != nil {
		return err
	}
	first, job, err := swept(ctx, s, on, r.GetJob(), begin)
	if err != nil {
		return err
	}
	var remaining int64
	for _, in := range job.GetErasure().GetStores() {
		o.report.Note("   %s: found %d, deleted %d", in.GetStore(), in.GetFound(), in.GetDeleted())
		remaining += in.GetRemaining()
	}
	slow := measure.Slowness(o.baseline())
	o.report.Note("   EraseUser beside Record of another user, p50 %s: %.1f ×; swept for the first time after %s",
		measure.Millis(beside.P50()), float64(invisible)/float64(beside.P50()), measure.Millis(first))
	o.report.AtMost("EraseUser of 10,000 messages and 10,000 facts on "+on.where+": until invisible", invisible, measure.Scale(barInvisible, slow))
	o.report.AtMost("EraseUser of 10,000 messages and 10,000 facts on "+on.where+": until swept", first, measure.Scale(on.within, slow))
	o.report.Zero("replies that show something after EraseUser on "+on.where, seen)
	o.report.Zero("rows remaining by the receipt on "+on.where, int(remaining))
	return nil
}

func recordTimes(ctx context.Context, s *running) (measure.Samples, error) {
	var times measure.Samples
	for i := range recordsBeside {
		begin := time.Now()
		_, err := s.Record(ctx, &memoryv1.RecordRequest{UserId: "beside", SessionId: "s", Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("This is message %d.", i)},
		}})
		if err != nil {
			return nil, fmt.Errorf("record: %w", err)
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}

// seenOf counts the replies that show something of the erased user.
func seenOf(ctx context.Context, s *running) (seen int, err error) {
	c, err := s.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: figureUser, SessionId: "new", Query: "what was said?"})
	if err != nil && status.Code(err) != codes.NotFound {
		return 0, fmt.Errorf("build context: %w", err)
	}
	if c.GetRetrieval().GetFacts() > 0 {
		seen++
	}
	facts, err := memoryv1.NewFactServiceClient(s.conn).ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: figureUser})
	if err != nil && status.Code(err) != codes.NotFound {
		return 0, fmt.Errorf("list facts: %w", err)
	}
	if len(facts.GetFacts()) > 0 {
		seen++
	}
	if _, err := memoryv1.NewUserServiceClient(s.conn).GetUser(ctx, &memoryv1.GetUserRequest{UserId: figureUser}); err == nil {
		seen++
	} else if status.Code(err) != codes.NotFound {
		return 0, fmt.Errorf("get user: %w", err)
	}
	return seen, nil
}

// swept waits until the job is applied; first is when it was swept once.
func swept(
	ctx context.Context, s *running, on sweeping, job *memoryv1.Job, begin time.Time,
) (first time.Duration, done *memoryv1.Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	work := memoryv1.NewWorkServiceClient(s.conn)
	err = measure.Until(ctx, "sweep", func(ctx context.Context) (bool, error) {
		r, err := work.GetJob(ctx, &memoryv1.GetJobRequest{UserId: figureUser, JobId: job.GetJobId()})
		if err != nil {
			return false, fmt.Errorf("get job: %w", err)
		}
		done = r.GetJob()
		if once, err := on.isOnce(ctx, done); err != nil {
			return false, fmt.Errorf("look at the erasure: %w", err)
		} else if once && first == 0 {
			first = time.Since(begin)
		}
		return isApplied(done), nil
	})
	return first, done, err
}
