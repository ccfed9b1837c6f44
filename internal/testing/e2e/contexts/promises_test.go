package contexts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestProfilesPromiseTheSameOfStoredSessions runs each ready-made profile over the same conversation twice: as the history that
// an agent holds, and as a session of which the background has summarised what it wants to.
func TestProfilesPromiseTheSameOfStoredSessions(t *testing.T) {
	t.Parallel()
	// What each promises of a conversation of small messages: from how many on there is a summary, and how many of the last stay.
	promised := []struct {
		profile    string
		from, last int
		first      bool // whether the first words of the user stay too
	}{
		{config.ChatProfile, 50, 20, true},
		{config.LangChainProfile, 100, 20, false},
		{config.KoogProfile, 101, 0, true},
	}
	for _, p := range promised {
		t.Run(p.profile, func(t *testing.T) {
			t.Parallel()
			h := e2e.Start(t)
			for _, n := range []int{10, 40, 60, 120, 300} {
				t.Run(fmt.Sprintf("at %d messages", n), func(t *testing.T) {
					all := smallTalkOf(n)
					session := fmt.Sprintf("s%d", n)
					for turn := range slices.Chunk(all, 10) {
						e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: session, Messages: turn, Profile: p.profile}))(t)
					}
					e2e.Eventually(t, "summaries", func() bool {
						return n < 12 || e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
							UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_SUMMARISED}, MinSeq: int64(n - 11),
						}))(t).GetReached()
					})
					want := []string{}
					if n < p.from {
						for _, m := range all {
							want = append(want, m.GetId())
						}
					} else {
						if p.first {
							want = append(want, all[0].GetId())
						}
						for _, m := range all[n-p.last:] {
							want = append(want, m.GetId())
						}
					}
					compacted := h.Compact(t, &memoryv1.CompactRequest{Messages: all, Profile: p.profile})
					built := h.Context(t, &memoryv1.BuildContextRequest{SessionId: session, Query: "zebra"})
					if diff := cmp.Diff(want, rawIn(compacted, all)); diff != "" {
						t.Errorf("Compact: %s", diff)
					}
					if diff := cmp.Diff(want, append([]string{}, e2e.IDs(e2e.Section(built, e2e.Recent))...)); diff != "" {
						t.Errorf("BuildContext: %s", diff)
					}
					if got := len(e2e.Section(built, memoryv1.SectionKind_SECTION_KIND_SUMMARY).GetItems()) > 0; got != (n >= p.from) || got != (len(compacted.GetSummaries()) > 0) {
						t.Errorf("a summary in the context: %t; in the compacted history: %t", got, len(compacted.GetSummaries()) > 0)
					}
					if gaps := built.GetCoverage().GetGaps(); len(gaps) > 0 {
						t.Errorf("gaps %v", gaps)
					}
				})
			}
		})
	}
	t.Run("where not all has room raw, the summary stands for the rest before the profile asks for one", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for turn := range slices.Chunk(smallTalkOf(60), 10) {
			e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: turn, Profile: config.KoogProfile}))(t)
		}
		e2e.Eventually(t, "summaries", func() bool {
			budget := int64(500)
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "zebra", Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget}})
			return r.GetCoverage().GetSummaryThrough() >= 40
		})
	})
	t.Run("what a strategy would ask a model is said to be missing", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for turn := range slices.Chunk(smallTalkOf(20), 10) {
			e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: turn}))(t)
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "zebra", Overrides: &memoryv1.ContextOverrides{Policy: &memoryv1.ContextPolicy{
			Compress: &memoryv1.CompressPolicy{
				Triggers: []*memoryv1.ContextTrigger{{Messages: 12}}, Keep: &memoryv1.ContextKeep{Messages: 4},
				Strategy: &memoryv1.CompressPolicy_Facts{Facts: &memoryv1.RetrieveFacts{Concepts: []*memoryv1.Concept{{Keyword: "parcels"}}}},
			},
		}}})
		if d := r.GetDegraded(); len(d) != 1 || d[0].GetTier() != "summariser" || !strings.Contains(d[0].GetReason(), "concepts") ||
			!strings.Contains(d[0].GetReason(), "waits for no model") || !strings.Contains(d[0].GetReason(), "call Compact") {
			t.Errorf("degraded %v", d)
		}
	})
}

// smallTalkOf is a conversation of that many messages with ids.
func smallTalkOf(n int) []*memoryv1.Message {
	var all []*memoryv1.Message
	for i := range n {
		id, words := fmt.Sprintf("m%d", i+1), fmt.Sprintf("Parcel %d went to Porto.", 100+i)
		if i%2 == 0 {
			all = append(all, e2e.User(id, words))
		} else {
			all = append(all, e2e.Assistant(id, words))
		}
	}
	return all
}

// rawIn are the ids of the messages that a compacted history has as they were.
func rawIn(r *memoryv1.CompactResponse, all []*memoryv1.Message) []string {
	messages := r.GetMessages()
	if !r.GetChanged() {
		messages = all
	}
	out := []string{}
	for _, m := range messages {
		if !slices.Contains(m.GetTags(), "strata:summary") {
			out = append(out, m.GetId())
		}
	}
	return out
}
