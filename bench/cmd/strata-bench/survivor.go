package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// dyingTime is how long a server may take to be gone after a call to it broke off.
const dyingTime = time.Minute

// survivor is a server that is started again whenever it dies at a seam. Its data file and its model live on.
type survivor struct {
	binary, data string
	fault        string   // STRATA_FAULT
	workers      int      // pieces of background work at once
	lives        []string // the seams at which the next lives end; after the last one it lives on
	model        *llmtest.Server

	server   *running
	seam     string // at which this life ends; "" for none
	kills    int
	contexts int
	holes    int // contexts and summaries in which a message is missing or stands twice
	leaves   int // data files in which a message stands in two leaves, or between two in none
}

// start begins the next life. One may end before anybody can be served.
func (v *survivor) start(ctx context.Context) error {
	for {
		v.seam = ""
		if len(v.lives) > 0 {
			v.seam, v.lives = v.lives[0], v.lives[1:]
		}
		var err error
		v.server, err = startWith(ctx, measure.ServerOptions{
			Binary: v.binary, Data: v.data, Env: []string{"STRATA_FAULT=" + v.fault, "STRATA_SEAM=" + v.seam},
			Args: append(scripted.ChatFlags(v.model.URL()), "--workers", strconv.Itoa(v.workers)),
		})
		if v.seam == "" || !errors.Is(err, measure.ErrEnded) {
			return err
		}
		if err := v.bury(ctx); err != nil {
			return err
		}
	}
}

// survive makes a call, again in the next life when the server dies.
func (v *survivor) survive(ctx context.Context, call func(context.Context, *running) error) error {
	for {
		err := call(ctx, v.server)
		if status.Code(err) != codes.Unavailable {
			return err
		}
		if err := v.died(err); err != nil {
			return err
		}
		v.server.conn.Close()
		if err := v.bury(ctx); err != nil {
			return err
		}
		if err := v.start(ctx); err != nil {
			return err
		}
	}
}

// died waits for the end of a server that broke off a call.
func (v *survivor) died(broken error) error {
	if v.seam == "" {
		return fmt.Errorf("a call broke off where no seam is: %w", broken)
	}
	select {
	case <-v.server.Exited():
		return nil
	case <-time.After(dyingTime):
		return fmt.Errorf("a call broke off and the server lives: %w", broken)
	}
}

// bury looks at the file that the dead left behind.
func (v *survivor) bury(ctx context.Context) (err error) {
	v.kills++
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: v.data})
	if err != nil {
		return fmt.Errorf("open the file of a killed server: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for s := range remarkSessions {
		user := memory.UserRef{Tenant: auth.DefaultTenant, UserID: remarkUser(s)}
		nodes, err := st.LeavesBetween(ctx, store.LeafQuery{User: user})
		if err != nil {
			return fmt.Errorf("read the summaries of a killed server: %w", err)
		}
		if !tile(leaves(nodes, remarkSession(s))) {
			v.leaves++
		}
	}
	return nil
}

// leaves are the ranges of a session's summaries that were made from messages, in their order.
func leaves(nodes []memory.SummaryNode, session string) []memory.SeqRange {
	var out []memory.SeqRange
	for _, n := range nodes {
		if n.SessionID == session {
			out = append(out, n.Range)
		}
	}
	slices.SortFunc(out, func(a, b memory.SeqRange) int { return int(a.From - b.From) })
	return out
}

// tile reports whether ranges stand for every message from the first to the end of the last one exactly once.
func tile(ranges []memory.SeqRange) bool {
	next := int64(1)
	for _, r := range ranges {
		if r.From != next || r.To < r.From {
			return false
		}
		next = r.To + 1
	}
	return true
}

// look builds the context of a session and reads its summary, and counts what is wrong with them.
func (v *survivor) look(ctx context.Context, session int) (*memoryv1.Watermarks, error) {
	budget := int64(1_000_000) // nothing is left out for want of room
	var r *memoryv1.BuildContextResponse
	err := v.survive(ctx, func(ctx context.Context, s *running) (err error) {
		r, err = s.BuildContext(ctx, &memoryv1.BuildContextRequest{
			UserId: remarkUser(session), SessionId: remarkSession(session), Query: "item",
			Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget},
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("build context: %w", err)
	}
	v.contexts++
	if !isWhole(r) {
		v.holes++
	}
	return r.GetWatermarks(), v.lookAtSummary(ctx, session)
}

// isWhole reports whether every message of the session stands in the context's summary or verbatim, none in both.
func isWhole(r *memoryv1.BuildContextResponse) bool {
	var ranges []memory.SeqRange
	for _, section := range r.GetSections() {
		for _, item := range section.GetItems() {
			switch section.GetKind() {
			case memoryv1.SectionKind_SECTION_KIND_SUMMARY:
				ranges = append(ranges, memory.SeqRange{From: item.GetSummary().GetFromSeq(), To: item.GetSummary().GetToSeq()})
			case memoryv1.SectionKind_SECTION_KIND_RECENT:
				ranges = append(ranges, memory.SeqRange{From: item.GetSeq(), To: item.GetSeq()})
			}
		}
	}
	c := r.GetCoverage()
	return tile(ranges) && end(ranges) == r.GetWatermarks().GetRecorded() &&
		c.GetRawFrom() == c.GetSummaryThrough()+1 && len(c.GetGaps()) == 0
}

// end is the last message of ranges that tile; 0 without any.
func end(ranges []memory.SeqRange) int64 {
	if len(ranges) == 0 {
		return 0
	}
	return ranges[len(ranges)-1].To
}

func (v *survivor) lookAtSummary(ctx context.Context, session int) error {
	var r *memoryv1.GetSummaryResponse
	err := v.survive(ctx, func(ctx context.Context, s *running) (err error) {
		r, err = memoryv1.NewSummaryServiceClient(s.conn).GetSummary(ctx, &memoryv1.GetSummaryRequest{
			UserId: remarkUser(session), Kind: memoryv1.SummaryKind_SUMMARY_KIND_SESSION, SessionId: remarkSession(session),
		})
		return err
	})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get summary: %w", err)
	}
	var ranges []memory.SeqRange
	for _, n := range r.GetSummary().GetNodes() {
		ranges = append(ranges, memory.SeqRange{From: n.GetFromSeq(), To: n.GetToSeq()})
	}
	if !tile(ranges) || end(ranges) != r.GetSummary().GetThroughSeq() {
		v.holes++
	}
	return nil
}
