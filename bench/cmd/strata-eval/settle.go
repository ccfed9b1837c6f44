package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
)

const (
	samples  = 8                      // how many questions are asked again and again until their answers stay the same
	askEvery = 500 * time.Millisecond // how often; what makes vectors needs the machine, too
)

// settle waits until everything is in the views, where there are some, and until what makes vectors in the background
// has no more effect: until the answers to some questions have stayed the same for as long as the options say.
func settle(ctx context.Context, conn *grpc.ClientConn, o options, players []*player) error {
	ctx, cancel := context.WithTimeout(ctx, learnWithin)
	defer cancel()
	if o.tiers {
		if err := waitFed(ctx, conn); err != nil {
			return err
		}
	}
	last, since, asked := "", time.Now(), time.Time{}
	return measure.Until(ctx, "wait until answers stay the same", func(ctx context.Context) (bool, error) {
		if time.Since(asked) < askEvery {
			return false, nil
		}
		asked = time.Now()
		now, err := fingerprint(ctx, players)
		if err != nil {
			return false, err
		}
		if now != last {
			last, since = now, asked
		}
		return time.Since(since) >= o.settle, nil
	})
}

// fingerprint is what the server returns for the first question of some dialogues, the last among them.
func fingerprint(ctx context.Context, players []*player) (string, error) {
	var b strings.Builder
	step := max(1, len(players)/samples)
	for i := len(players) - 1; i >= 0; i -= step {
		p := players[i]
		q := p.dialogue.Questions[0]
		found, err := p.memory.SearchMessages(ctx, p.search(q))
		if err != nil {
			return "", err
		}
		for _, h := range found.GetHits() {
			fmt.Fprintf(&b, "%s %x ", h.GetMessage().GetId(), h.GetScore())
		}
		built, err := p.memory.BuildContext(ctx, p.build(q, eval.Budgets()[0], nil))
		if err != nil {
			return "", err
		}
		b.WriteString(built.GetEtag())
	}
	return b.String(), nil
}

// waitFed waits until everything is in the views, as comparing them with what is stored says.
func waitFed(ctx context.Context, conn *grpc.ClientConn) error {
	c, work := memoryv1.NewMaintenanceServiceClient(conn), memoryv1.NewWorkServiceClient(conn)
	running := ""
	return measure.Until(ctx, "tell the views", func(ctx context.Context) (bool, error) {
		if running == "" {
			r, err := c.Verify(ctx, &memoryv1.VerifyRequest{DryRun: true})
			running = r.GetJob().GetJobId()
			return false, err
		}
		r, err := work.ListJobs(ctx, &memoryv1.ListJobsRequest{
			Kinds:  []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_VERIFY},
			States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_APPLIED, memoryv1.JobState_JOB_STATE_PARKED},
		})
		if err != nil || len(r.GetJobs()) == 0 {
			return false, err
		}
		running = ""
		lacks := int64(0)
		for _, check := range r.GetJobs()[0].GetChecks() {
			lacks += check.GetPending() + check.GetMissing() + check.GetStale()
		}
		return lacks == 0, nil
	})
}
