package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func NoChange(*config.Config) {}

var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func At(m *memoryv1.Message, days int) *memoryv1.Message {
	m.CreateTime = timestamppb.New(Epoch.AddDate(0, 0, days))
	return m
}

func (h *Server) Context(t *testing.T, req *memoryv1.BuildContextRequest) *memoryv1.BuildContextResponse {
	t.Helper()
	req.UserId = "ada"
	return Must(h.BuildContext(h.Ctx, req))(t)
}

func Section(r *memoryv1.BuildContextResponse, kind memoryv1.SectionKind) *memoryv1.Section {
	for _, s := range r.GetSections() {
		if s.GetKind() == kind {
			return s
		}
	}
	return &memoryv1.Section{}
}

func IDs(s *memoryv1.Section) []string {
	var out []string
	for _, i := range s.GetItems() {
		out = append(out, i.GetMessageId())
	}
	return out
}

const (
	Recalled = memoryv1.SectionKind_SECTION_KIND_RECALLED
	Recent   = memoryv1.SectionKind_SECTION_KIND_RECENT
)

func Trip(t *testing.T) *Server {
	t.Helper()
	h := Start(t)
	h.RecordTurn(t, "spring", At(User("hotel", "My sister Grace is allergic to peanuts, so no peanut dishes please."), 0), At(Assistant("ok", "Noted, I will avoid peanuts."), 0))
	h.RecordTurn(t, "spring", At(User("train", "We take the night train to Vienna."), 1), At(Assistant("nice", "Enjoy the sleeper car!"), 1))
	h.RecordTurn(t, "summer", At(User("dinner", "Help me to cook dinner for my sister."), 90))
	h.Extracted(t, "spring")
	h.Extracted(t, "summer")
	return h
}

// Indexed waits until a context owes nothing to turns that are not indexed: until the next turn it stays as it is.
func (h *Server) Indexed(t *testing.T, req *memoryv1.BuildContextRequest) {
	t.Helper()
	Eventually(t, "indexing", func() bool {
		r := h.Context(t, req)
		w := r.GetWatermarks()
		return w.GetIndexed() == w.GetRecorded() && r.GetRetrieval().GetUnindexed() == 0
	})
}

// Extracted waits until the facts of a session are learnt.
func (h *Server) Extracted(t *testing.T, session string) {
	t.Helper()
	Eventually(t, "extraction", func() bool {
		return Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		}))(t).GetReached()
	})
}

func Encode(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (h *Server) Compact(t testing.TB, req *memoryv1.CompactRequest) *memoryv1.CompactResponse {
	t.Helper()
	r, err := h.History.Compact(h.Ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whole is a policy that makes one summary of all but the last messages.
func Whole(trigger, keep int32) *memoryv1.ContextPolicy {
	return &memoryv1.ContextPolicy{Compress: &memoryv1.CompressPolicy{
		Triggers: []*memoryv1.ContextTrigger{{Messages: trigger}}, Keep: &memoryv1.ContextKeep{Messages: keep},
		Strategy: &memoryv1.CompressPolicy_Whole{Whole: &memoryv1.WholeHistory{}},
	}}
}

// What stands for a session of one week of ada's: of its two castles one is to be hidden.
const (
	ShownCastle  = "Rosenborg"
	HiddenCastle = "Karlstejn"
)

// Castles is a server with summaries of a session, its week and its month, which tell of both castles.
func Castles(t *testing.T, change func(*config.Config)) *Server {
	t.Helper()
	h := StartOn(t, t.TempDir()+"/strata.db", change)
	h.RecordTurn(t, "old", At(User("k", "We decided to visit the castle of "+ShownCastle+" with my sister Grace."), 0), At(Assistant("k2", "A fine castle."), 0))
	h.RecordTurn(t, "old", At(User("s", "We decided to visit the castle of "+HiddenCastle+" with my brother Hugo."), 0), At(Assistant("s2", "A fine castle too."), 0))
	h.Summarize(t, "old")
	h = h.Again(t, change) // the sweep at the start finds what a later one would
	Eventually(t, "a month", func() bool { return strings.Contains(h.Told(t)["month"], HiddenCastle) })
	for kind, text := range h.Told(t) {
		if !strings.Contains(text, ShownCastle) || !strings.Contains(text, HiddenCastle) {
			t.Fatalf("the %s says %q", kind, text)
		}
	}
	return h
}

// Again is the server after a restart.
func (h *Server) Again(t *testing.T, change func(*config.Config)) *Server {
	t.Helper()
	h.Stop()
	return StartOn(t, h.Data, change)
}

var Kinds = []memoryv1.SummaryKind{
	memoryv1.SummaryKind_SUMMARY_KIND_SESSION, memoryv1.SummaryKind_SUMMARY_KIND_WEEK, memoryv1.SummaryKind_SUMMARY_KIND_MONTH,
}

// Told is what is told of the castles by GetSummary and ListSummaries of each kind, and by the contexts of a new session and of
// the session itself, but for facts and messages.
func (h *Server) Told(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, name := range []string{"session", "week", "month"} {
		for _, s := range Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: Kinds[i]}))(t).GetSummaries() {
			out[name] += s.String()
			req := &memoryv1.GetSummaryRequest{UserId: "ada", Kind: Kinds[i], SessionId: s.GetSessionId()}
			if i > 0 {
				req.Name = s.GetName()
			}
			if got := Must(h.Summaries().GetSummary(h.Ctx, req))(t).GetSummary(); !proto.Equal(got, s) {
				out[name] += got.String()
			}
		}
	}
	for name, hide := range map[string][]memoryv1.SectionKind{
		"context": nil, "context of periods": {memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS},
	} {
		hide = append(hide, memoryv1.SectionKind_SECTION_KIND_FACTS, memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS, Recalled)
		req := &memoryv1.BuildContextRequest{SessionId: "new", Query: "plans", Overrides: &memoryv1.ContextOverrides{}, Render: memoryv1.Render_RENDER_TEXT}
		for _, kind := range hide {
			req.Overrides.Sections = append(req.Overrides.Sections, &memoryv1.SectionSwitch{Section: kind})
		}
		out[name] = h.Context(t, req).String()
	}
	return out
}

// Untold fails when anything tells the words.
func (h *Server) Untold(t *testing.T, when string, words ...string) {
	t.Helper()
	for kind, text := range h.Told(t) {
		for _, w := range words {
			if strings.Contains(text, w) {
				t.Errorf("%s, the %s tells of %s: %s", when, kind, w, text)
			}
		}
	}
}

// Tell waits until every kind of summary tells the words.
func (h *Server) Tell(t *testing.T, what string, words string) {
	t.Helper()
	Eventually(t, what, func() bool {
		told := h.Told(t)
		return !slices.ContainsFunc([]string{"session", "week", "month", "context", "context of periods"}, func(kind string) bool {
			return !strings.Contains(told[kind], words)
		})
	})
}

// Hanging is a server whose model never answers, so that no summary is written anew.
func Hanging(t *testing.T) func(*config.Config) {
	t.Helper()
	model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Delays: llmtest.Delays{Hold: make(chan struct{})}}
	}})
	t.Cleanup(model.Close)
	return func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" }
}

func (h *Server) SearchFacts(t *testing.T, query string) *memoryv1.SearchFactsResponse {
	t.Helper()
	return Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: query}))(t)
}

// ByMeaning reports whether the dense arm found a fact.
func ByMeaning(r *memoryv1.SearchFactsResponse, fact string) bool {
	return slices.ContainsFunc(r.GetHits(), func(h *memoryv1.FactHit) bool {
		return h.GetFact().GetText() == fact && slices.ContainsFunc(h.GetScore().GetArms(), func(a *memoryv1.ArmScore) bool { return a.GetArm() == "dense" })
	})
}

func (h *Server) Summaries() memoryv1.SummaryServiceClient {
	return memoryv1.NewSummaryServiceClient(h.Conn)
}

// Talk records a conversation of n messages.
func (h *Server) Talk(t *testing.T, session string, n int) {
	t.Helper()
	for i := range n / 2 {
		h.RecordTurn(t, session,
			User("", fmt.Sprintf("On day %d we decided to visit the castle of Prague with my sister Grace.", i+1)),
			Assistant("", fmt.Sprintf("Noted: on day %d you visit the castle of Prague with Grace.", i+1)))
	}
}

func (h *Server) Summarize(t *testing.T, session string) *memoryv1.SummarizeResponse {
	t.Helper()
	return Must(h.Summaries().Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: session}))(t)
}
