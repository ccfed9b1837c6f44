package faults_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// town is where ada says she lives on a day.
func town(day int) string { return fmt.Sprintf("Port %c%c", 'A'+day%13, 'a'+day/13) }

func TestReplicas(t *testing.T) {
	t.Parallel()
	t.Run("two sessions that move the user to and fro through three servers, of which one stops, are learnt and summarised once", func(t *testing.T) {
		const days = 16 // even ones are told in the first session, odd ones in the second
		all := e2e.Replicas(t, 3)
		var sessions sync.WaitGroup
		for s := range 2 {
			sessions.Go(func() { tellTowns(t, all, s, days) })
		}
		sessions.Wait()
		for s := range 2 {
			awaitLearnt(t, all[1+s], townSession(s))
		}
		current, past := homesOf(t, all[2])
		if want := "Lives in " + town(days-1) + "."; !slices.Equal(current, []string{want}) {
			t.Errorf("the current facts are %q, want %q", current, want)
		}
		if len(past) != days-1 || len(slices.Compact(past)) != days-1 {
			t.Errorf("%d past facts, want each of %d towns once: %q", len(past), days-1, past)
		}
		for s := range 2 {
			all[2-s].MustCover(t, townSession(s), days)
		}
		// The weeks and months of the sessions, which are over, may be in the making.
		e2e.Eventually(t, "no open job", func() bool { return len(all[1].Jobs(t)) == 0 })
	})
}

// homesOf are the texts of ada's facts that hold, and of those that do not any more.
func homesOf(t *testing.T, h *e2e.Server) (current, past []string) {
	t.Helper()
	for _, f := range h.ListFacts(t, true) {
		if f.GetValidTo() == nil {
			current = append(current, f.GetText())
		} else {
			past = append(past, f.GetText())
		}
	}
	slices.Sort(past)
	return current, past
}

func townSession(s int) string { return fmt.Sprintf("towns-%d", s) }

// tellTowns records a session's days, each through another server. The first server stops after half of them.
func tellTowns(t *testing.T, all []*e2e.Server, s, days int) {
	for day := s; day < days; day += 2 {
		if s == 0 && day == days/2 {
			all[0].Stop()
		}
		h := all[1+day/2%2]
		if day < days/2 && day%3 == s {
			h = all[0]
		}
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: townSession(s), RequestId: town(day), Messages: []*memoryv1.Message{
			e2e.At(e2e.User("u-"+town(day), "I live in "+town(day)+"."), day), e2e.At(e2e.Assistant("a-"+town(day), "I see."), day),
		}}
		if _, err := h.Record(h.Ctx, req); err != nil && h != all[0] {
			t.Errorf("record day %d: %v", day, err)
		} else if err != nil {
			if _, err := all[1].Record(all[1].Ctx, req); err != nil {
				t.Errorf("record day %d again: %v", day, err)
			}
		}
	}
}

// awaitLearnt has a session learnt and summarised, and waits for it.
func awaitLearnt(t *testing.T, h *e2e.Server, session string) {
	t.Helper()
	e2e.Eventually(t, "the session learnt and summarised", func() bool {
		done := e2e.Must(h.Summaries().Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: session}))(t)
		marks := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: session}))(t)
		return done.GetComplete() && marks.GetReached()
	})
}
