package contexts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// lateFreshness is what a reply says of work that it waited for in vain.
func lateFreshness(r *memoryv1.BuildContextResponse) (reason string) {
	for _, d := range r.GetDegraded() {
		if d.GetTier() == "freshness" {
			reason = d.GetReason()
		}
	}
	return reason
}

func TestAFreshContextKnowsWhatWasSaidInAnySession(t *testing.T) {
	t.Parallel()
	facts := func(r *memoryv1.BuildContextResponse) string {
		var out []string
		for _, it := range e2e.Section(r, memoryv1.SectionKind_SECTION_KIND_FACTS).GetItems() {
			out = append(out, it.GetFact().GetText())
		}
		return strings.Join(out, "; ")
	}
	t.Run("a new session has what another one told just before", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "monday", e2e.User("m1", "I am vegan."))
		h.RecordTurn(t, "tuesday", e2e.User("m1", "I live in Porto."))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "friday", Query: "dinner?", Fresh: &memoryv1.Freshness{Timeout: e2e.LongWait}})
		if got := facts(r); !strings.Contains(got, "vegan") || !strings.Contains(got, "Porto") || lateFreshness(r) != "" {
			t.Errorf("got %q, degraded %v", got, r.GetDegraded())
		}
	})
	slow := func(t *testing.T) *e2e.Server {
		return e2e.OnModel(t, &e2e.Moody{Day: func(e2e.Asked) llmtest.Reply { return llmtest.Reply{Delays: llmtest.Delays{Delay: time.Minute}} }}, func(c *config.Config) { c.ChatTimeout = time.Minute })
	}
	brief := durationpb.New(50 * time.Millisecond) // is waited for
	never := durationpb.New(20 * time.Second)      // is not: the model is slower, and the reply would say so
	t.Run("when the time is up the reply says so", func(t *testing.T) {
		h := slow(t)
		h.RecordTurn(t, "monday", e2e.User("m1", "I am vegan."))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "friday", Query: "dinner?", Fresh: &memoryv1.Freshness{Timeout: brief}})
		if lateFreshness(r) == "" {
			t.Errorf("degraded is %v", r.GetDegraded())
		}
	})
	t.Run("a seq names the session alone that is waited for", func(t *testing.T) {
		h := slow(t)
		h.RecordTurn(t, "monday", e2e.User("m1", "I am vegan."))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "friday", Query: "dinner?", Fresh: &memoryv1.Freshness{MinSeq: 1, Timeout: never}})
		if late := lateFreshness(r); late != "" {
			t.Error(late)
		}
	})
	t.Run("nothing of another user is waited for", func(t *testing.T) {
		h := slow(t)
		h.RecordTurn(t, "monday", e2e.User("m1", "I am vegan."))
		r := e2e.Must(h.BuildContext(context.WithoutCancel(h.Ctx), &memoryv1.BuildContextRequest{UserId: "bob", SessionId: "friday", Query: "dinner?", Fresh: &memoryv1.Freshness{Timeout: never}}))(t)
		if late := lateFreshness(r); late != "" {
			t.Error(late)
		}
	})
}
