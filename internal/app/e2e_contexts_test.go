package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

func noChange(*config.Config) {}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(m *memoryv1.Message, days int) *memoryv1.Message {
	m.CreateTime = timestamppb.New(epoch.AddDate(0, 0, days))
	return m
}

func (h *harness) context(t *testing.T, req *memoryv1.BuildContextRequest) *memoryv1.BuildContextResponse {
	t.Helper()
	req.UserId = "ada"
	return must(h.BuildContext(h.ctx, req))(t)
}

func section(r *memoryv1.BuildContextResponse, kind memoryv1.SectionKind) *memoryv1.Section {
	for _, s := range r.GetSections() {
		if s.GetKind() == kind {
			return s
		}
	}
	return &memoryv1.Section{}
}

func ids(s *memoryv1.Section) []string {
	var out []string
	for _, i := range s.GetItems() {
		out = append(out, i.GetMessageId())
	}
	return out
}

const (
	recalled = memoryv1.SectionKind_SECTION_KIND_RECALLED
	recent   = memoryv1.SectionKind_SECTION_KIND_RECENT
)

func trip(t *testing.T) *harness {
	t.Helper()
	h := start(t)
	h.recordTurn(t, "spring", at(user("hotel", "My sister Grace is allergic to peanuts, so no peanut dishes please."), 0), at(assistant("ok", "Noted, I will avoid peanuts."), 0))
	h.recordTurn(t, "spring", at(user("train", "We take the night train to Vienna."), 1), at(assistant("nice", "Enjoy the sleeper car!"), 1))
	h.recordTurn(t, "summer", at(user("dinner", "Help me to cook dinner for my sister."), 90))
	h.extracted(t, "spring")
	h.extracted(t, "summer")
	return h
}

// indexed waits until a context owes nothing to turns that are not indexed: until the next turn it stays as it is.
func (h *harness) indexed(t *testing.T, req *memoryv1.BuildContextRequest) {
	t.Helper()
	eventually(t, "indexing", func() bool {
		r := h.context(t, req)
		w := r.GetWatermarks()
		return w.GetIndexed() == w.GetRecorded() && r.GetRetrieval().GetUnindexed() == 0
	})
}

// extracted waits until the facts of a session are learnt.
func (h *harness) extracted(t *testing.T, session string) {
	t.Helper()
	eventually(t, "extraction", func() bool {
		return must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		}))(t).GetReached()
	})
}

func encode(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (h *harness) compact(t testing.TB, req *memoryv1.CompactRequest) *memoryv1.CompactResponse {
	t.Helper()
	r, err := h.history.Compact(h.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// whole is a policy that makes one summary of all but the last messages.
func whole(trigger, keep int32) *memoryv1.ContextPolicy {
	return &memoryv1.ContextPolicy{Compress: &memoryv1.CompressPolicy{
		Triggers: []*memoryv1.ContextTrigger{{Messages: trigger}}, Keep: &memoryv1.ContextKeep{Messages: keep},
		Strategy: &memoryv1.CompressPolicy_Whole{Whole: &memoryv1.WholeHistory{}},
	}}
}

// What stands for a session of one week of ada's: of its two castles one is to be hidden.
const (
	shownCastle  = "Rosenborg"
	hiddenCastle = "Karlstejn"
)

// castles is a server with summaries of a session, its week and its month, which tell of both castles.
func castles(t *testing.T, change func(*config.Config)) *harness {
	t.Helper()
	h := startOn(t, t.TempDir()+"/strata.db", change)
	h.recordTurn(t, "old", at(user("k", "We decided to visit the castle of "+shownCastle+" with my sister Grace."), 0), at(assistant("k2", "A fine castle."), 0))
	h.recordTurn(t, "old", at(user("s", "We decided to visit the castle of "+hiddenCastle+" with my brother Hugo."), 0), at(assistant("s2", "A fine castle too."), 0))
	h.summarize(t, "old")
	h = h.again(t, change) // the sweep at the start finds what a later one would
	eventually(t, "a month", func() bool { return strings.Contains(h.told(t)["month"], hiddenCastle) })
	for kind, text := range h.told(t) {
		if !strings.Contains(text, shownCastle) || !strings.Contains(text, hiddenCastle) {
			t.Fatalf("the %s says %q", kind, text)
		}
	}
	return h
}

// again is the server after a restart.
func (h *harness) again(t *testing.T, change func(*config.Config)) *harness {
	t.Helper()
	h.stop()
	return startOn(t, h.data, change)
}

var kinds = []memoryv1.SummaryKind{
	memoryv1.SummaryKind_SUMMARY_KIND_SESSION, memoryv1.SummaryKind_SUMMARY_KIND_WEEK, memoryv1.SummaryKind_SUMMARY_KIND_MONTH,
}

// told is what is told of the castles by GetSummary and ListSummaries of each kind, and by the contexts of a new session and of
// the session itself, but for facts and messages.
func (h *harness) told(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, name := range []string{"session", "week", "month"} {
		for _, s := range must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: kinds[i]}))(t).GetSummaries() {
			out[name] += s.String()
			req := &memoryv1.GetSummaryRequest{UserId: "ada", Kind: kinds[i], SessionId: s.GetSessionId()}
			if i > 0 {
				req.Name = s.GetName()
			}
			if got := must(h.summaries().GetSummary(h.ctx, req))(t).GetSummary(); !proto.Equal(got, s) {
				out[name] += got.String()
			}
		}
	}
	for name, hide := range map[string][]memoryv1.SectionKind{
		"context": nil, "context of periods": {memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS},
	} {
		hide = append(hide, memoryv1.SectionKind_SECTION_KIND_FACTS, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS, recalled)
		req := &memoryv1.BuildContextRequest{SessionId: "new", Query: "plans", Overrides: &memoryv1.ContextOverrides{}, Render: memoryv1.Render_RENDER_TEXT}
		for _, kind := range hide {
			req.Overrides.Sections = append(req.Overrides.Sections, &memoryv1.SectionSwitch{Section: kind})
		}
		out[name] = h.context(t, req).String()
	}
	return out
}

// untold fails when anything tells the words.
func (h *harness) untold(t *testing.T, when string, words ...string) {
	t.Helper()
	for kind, text := range h.told(t) {
		for _, w := range words {
			if strings.Contains(text, w) {
				t.Errorf("%s, the %s tells of %s: %s", when, kind, w, text)
			}
		}
	}
}

// tell waits until every kind of summary tells the words.
func (h *harness) tell(t *testing.T, what string, words string) {
	t.Helper()
	eventually(t, what, func() bool {
		told := h.told(t)
		return !slices.ContainsFunc([]string{"session", "week", "month", "context", "context of periods"}, func(kind string) bool {
			return !strings.Contains(told[kind], words)
		})
	})
}

// hanging is a server whose model never answers, so that no summary is written anew.
func hanging(t *testing.T) func(*config.Config) {
	t.Helper()
	model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Delays: llmtest.Delays{Hold: make(chan struct{})}}
	}})
	t.Cleanup(model.Close)
	return func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" }
}

func (h *harness) searchFacts(t *testing.T, query string) *memoryv1.SearchFactsResponse {
	t.Helper()
	return must(h.facts().SearchFacts(h.ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: query}))(t)
}

// byMeaning reports whether the dense arm found a fact.
func byMeaning(r *memoryv1.SearchFactsResponse, fact string) bool {
	return slices.ContainsFunc(r.GetHits(), func(h *memoryv1.FactHit) bool {
		return h.GetFact().GetText() == fact && slices.ContainsFunc(h.GetScore().GetArms(), func(a *memoryv1.ArmScore) bool { return a.GetArm() == "dense" })
	})
}

func (h *harness) summaries() memoryv1.SummaryServiceClient {
	return memoryv1.NewSummaryServiceClient(h.conn)
}

// talk records a conversation of n messages.
func (h *harness) talk(t *testing.T, session string, n int) {
	t.Helper()
	for i := range n / 2 {
		h.recordTurn(t, session,
			user("", fmt.Sprintf("On day %d we decided to visit the castle of Prague with my sister Grace.", i+1)),
			assistant("", fmt.Sprintf("Noted: on day %d you visit the castle of Prague with Grace.", i+1)))
	}
}

func (h *harness) summarize(t *testing.T, session string) *memoryv1.SummarizeResponse {
	t.Helper()
	return must(h.summaries().Summarize(h.ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: session}))(t)
}
