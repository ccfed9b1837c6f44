package record_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

const hiddenReason = memoryv1.OmitReason_OMIT_REASON_HIDDEN

func TestHiding(t *testing.T) {
	t.Parallel()
	peanuts := &memoryv1.BuildContextRequest{SessionId: "summer", Query: "allergic to peanuts", Render: memoryv1.Render_RENDER_TEXT, AsOf: timestamppb.New(e2e.Epoch)}
	t.Run("a hidden message is recalled in no session, and again when it is shown again", func(t *testing.T) {
		h := e2e.Trip(t)
		h.Indexed(t, peanuts)
		before := h.Context(t, peanuts)
		if !slices.Contains(e2e.IDs(e2e.Section(before, e2e.Recalled)), "hotel") {
			t.Fatalf("recalled %v", e2e.IDs(e2e.Section(before, e2e.Recalled)))
		}
		if m := h.Hide(t, "spring", "hotel", true); !m.GetHidden() {
			t.Errorf("hidden message %v", m)
		}
		if got := e2e.IDs(e2e.Section(h.Context(t, peanuts), e2e.Recalled)); slices.Contains(got, "hotel") {
			t.Errorf("recalled %v", got)
		}
		h.Hide(t, "spring", "hotel", false)
		if after := h.Context(t, peanuts); !proto.Equal(before, after) {
			t.Errorf("before\n%v\nafter\n%v", before, after)
		}
	})
	t.Run("nothing before a session's context start is recalled, and what a user said later still is", func(t *testing.T) {
		h := e2e.Trip(t)
		h.StartAt(t, "spring", 3)
		req := proto.CloneOf(peanuts)
		req.Query = "peanuts night train"
		if got := e2e.IDs(e2e.Section(h.Context(t, req), e2e.Recalled)); !slices.Contains(got, "train") || slices.Contains(got, "hotel") || slices.Contains(got, "ok") {
			t.Errorf("recalled %v", got)
		}
	})
	t.Run("hits that are hidden take no other's place", func(t *testing.T) {
		h := e2e.Start(t)
		for i := range 30 {
			h.RecordTurn(t, "past", e2e.User(fmt.Sprintf("m%d", i), fmt.Sprintf("The lemon tree number %d needs water.", i)))
		}
		h.RecordTurn(t, "now", e2e.User("q", "Which tree?"))
		top := int32(3)
		req := &memoryv1.BuildContextRequest{SessionId: "now", Query: "lemon tree water", Overrides: &memoryv1.ContextOverrides{TopK: &top}}
		first := e2e.IDs(e2e.Section(h.Context(t, req), e2e.Recalled))
		for i := range 24 {
			h.Hide(t, "past", fmt.Sprintf("m%d", i), true)
		}
		got := e2e.IDs(e2e.Section(h.Context(t, req), e2e.Recalled))
		if len(first) != 3 || len(got) != 3 {
			t.Errorf("recalled %v, then %v", first, got)
		}
		for _, id := range got {
			if !slices.Contains([]string{"m24", "m25", "m26", "m27", "m28", "m29"}, id) {
				t.Errorf("recalled %v", got)
			}
		}
	})
	t.Run("search finds what is hidden, and says so", func(t *testing.T) {
		h := e2e.Trip(t)
		h.Hide(t, "spring", "train", true)
		h.StartAt(t, "spring", 3)
		marks := map[string]bool{}
		for _, hit := range e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "peanuts train sleeper sister"}))(t).GetHits() {
			marks[hit.GetMessage().GetId()] = hit.GetHidden()
		}
		want := map[string]bool{"hotel": true, "ok": true, "train": true, "nice": false, "dinner": false}
		for id, hidden := range want {
			if got, found := marks[id]; !found || got != hidden {
				t.Errorf("%s: found %v, hidden %v; all are %v", id, found, got, marks)
			}
		}
	})
	t.Run("the transcript keeps what is hidden, and says which message it is", func(t *testing.T) {
		h := e2e.Trip(t)
		h.Hide(t, "spring", "ok", true)
		for _, m := range h.Transcript(t, "spring") {
			if m.GetHidden() != (m.GetId() == "ok") {
				t.Errorf("message %v", m)
			}
		}
	})
	t.Run("a message may be recorded hidden", func(t *testing.T) {
		h := e2e.Start(t)
		secret := e2e.User("s", "The code is 4711.")
		secret.Hidden = true
		h.RecordTurn(t, "s", e2e.User("a", "Hello."), secret)
		if r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: memoryv1.Render_RENDER_TEXT}); strings.Contains(r.GetRendering(), "4711") {
			t.Errorf("rendering %q", r.GetRendering())
		}
	})
	t.Run("a session is asked for by the last words that are not hidden", func(t *testing.T) {
		h := e2e.Trip(t)
		h.RecordTurn(t, "summer", e2e.User("secret", "And what about the night train?"))
		h.Hide(t, "summer", "secret", true)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Explain: true})
		if terms := strings.Join(r.GetRetrieval().GetTerms(), " "); !strings.Contains(terms, "dinner") || strings.Contains(terms, "train") {
			t.Errorf("asked for %q", terms)
		}
	})
	t.Run("a new summary is made of nothing that lies before the start", func(t *testing.T) {
		h := e2e.Start(t)
		h.Talk(t, "s", 10)
		h.Summarize(t, "s")
		h.StartAt(t, "s", 11)
		h.RecordTurn(t, "s", e2e.User("", "On day 99 we decided to see the opera of Lviv."), e2e.Assistant("", "Noted: on day 99 you see the opera of Lviv."))
		h.Summarize(t, "s")
		for i := range 12 {
			h.RecordTurn(t, "s", e2e.User("", fmt.Sprintf("And what about plan %d?", i)))
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: memoryv1.Render_RENDER_TEXT, Overrides: withoutFacts()})
		summary := e2e.Section(r, memoryv1.SectionKind_SECTION_KIND_SUMMARY).GetItems()
		if len(summary) != 1 || summary[0].GetSummary().GetFromSeq() != 11 || !strings.Contains(r.GetRendering(), "opera of Lviv") || strings.Contains(r.GetRendering(), "castle") {
			t.Errorf("summary %v of\n%s", summary, r.GetRendering())
		}
	})
	t.Run("no model that summarises what comes after the start is told of what lies before", func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		model := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprint(r))
			return llmtest.Reply{Text: "The user decided to see a place with sister Grace."}
		}})
		t.Cleanup(model.Close)
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" })
		h.Talk(t, "s", 6)
		h.Summarize(t, "s")
		h.StartAt(t, "s", 7)
		h.RecordTurn(t, "s", e2e.User("", "We decided to see the opera of Lviv."), e2e.Assistant("", "Noted: the opera of Lviv."))
		h.Summarize(t, "s")
		mu.Lock()
		defer mu.Unlock()
		if last := asked[len(asked)-1]; !strings.Contains(asked[0], "castle") || !strings.Contains(last, "opera") || strings.Contains(last, "castle") || strings.Contains(last, "a place with sister Grace") {
			t.Errorf("asked first %q, last %q", asked[0], last)
		}
	})
	t.Run("a start that hides what is not said yet is refused with what may be given", func(t *testing.T) {
		h := e2e.Trip(t)
		for _, seq := range []int64{6, -1} {
			_, err := h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{
				Session: &memoryv1.Session{UserId: "ada", SessionId: "spring", ContextStartSeq: seq}, UpdateMask: e2e.MaskOf("context_start_seq"),
			})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "session.context_start_seq")
		}
	})
	t.Run("an update without a mask hides nothing and takes nothing back", func(t *testing.T) {
		h := e2e.Trip(t)
		h.StartAt(t, "spring", 3)
		h.Hide(t, "spring", "ok", true)
		got := e2e.Must(h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "ada", SessionId: "spring", Title: "x"}}))(t).GetSession()
		m := e2e.Must(h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{UserId: "ada", SessionId: "spring", Message: &memoryv1.Message{Id: "ok", Pinned: true}}))(t).GetMessage()
		if got.GetContextStartSeq() != 3 || !m.GetHidden() {
			t.Errorf("session %v, message %v", got, m)
		}
	})
}

// lastMark is how many messages have a mark.
const lastMark = 40

// withoutFacts leaves out what was learnt: it holds whatever is hidden.
func withoutFacts() *memoryv1.ContextOverrides {
	return &memoryv1.ContextOverrides{Sections: []*memoryv1.SectionSwitch{
		{Section: memoryv1.SectionKind_SECTION_KIND_FACTS}, {Section: memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS},
	}}
}

// Whatever is hidden, no context but its facts tells of it, in whatever form, and when all is shown again every context is as
// it was.
func TestHidingIsWholeAndReversible(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes one call after the other: make test runs it")
	}
	t.Parallel()
	h := e2e.Start(t)
	for n := int64(1); n <= lastMark; n += 2 {
		h.RecordTurn(t, "s", e2e.At(e2e.User(fmt.Sprint(n), "We decided to visit the castle "+e2e.Mark(n)+"."), 0), e2e.At(e2e.Assistant(fmt.Sprint(n+1), "Noted, the castle "+e2e.Mark(n+1)+" it is."), 0))
		if n%8 == 7 {
			h.Summarize(t, "s")
		}
	}
	e2e.Eventually(t, "a merge of four summaries", func() bool {
		nodes := e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t).GetSummary().GetNodes()
		return slices.ContainsFunc(nodes, func(n *memoryv1.SummaryNode) bool { return n.GetLevel() > 0 })
	})
	h.Extracted(t, "s")
	h.RecordTurn(t, "elsewhere", e2e.At(e2e.User("q", "Which castle did we decide to visit?"), 1))
	h.Extracted(t, "elsewhere")
	h.Summarize(t, "elsewhere") // or it would be when it has been quiet for long enough, in the midst of the test
	var requests []*memoryv1.BuildContextRequest
	recentN := int32(4)
	for _, session := range []string{"s", "elsewhere"} {
		for _, form := range []memoryv1.Render{memoryv1.Render_RENDER_STRUCTURED, memoryv1.Render_RENDER_TEXT, memoryv1.Render_RENDER_OPENAI, memoryv1.Render_RENDER_ANTHROPIC} {
			requests = append(requests, &memoryv1.BuildContextRequest{
				SessionId: session, Query: "castle visit", Render: form, AsOf: timestamppb.New(e2e.Epoch.AddDate(0, 0, 2)), UserId: "ada",
				Overrides: &memoryv1.ContextOverrides{RecentN: &recentN, Sections: []*memoryv1.SectionSwitch{ // facts stay, and so do weeks
					{Section: memoryv1.SectionKind_SECTION_KIND_FACTS}, {Section: memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS}, {Section: memoryv1.SectionKind_SECTION_KIND_PERIODS},
				}},
			})
		}
	}
	for _, req := range requests[:4] { // and with a policy that has the tail summarised
		req = proto.CloneOf(req)
		req.Overrides.Policy = e2e.Whole(6, 3)
		requests = append(requests, req)
	}
	h.Indexed(t, requests[0])
	h.Indexed(t, requests[4])
	build := func(t rapid.TB) (out []*memoryv1.BuildContextResponse) {
		for _, req := range requests {
			r, err := h.BuildContext(h.Ctx, req)
			if err != nil {
				t.Fatalf("build: %v", err)
			}
			out = append(out, r)
		}
		return out
	}
	before := build(t)
	for at, kind := range map[int]memoryv1.SectionKind{1: memoryv1.SectionKind_SECTION_KIND_SUMMARY, 9: memoryv1.SectionKind_SECTION_KIND_SUMMARY, 5: memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS, 6: e2e.Recalled} {
		if len(e2e.Section(before[at], kind).GetItems()) == 0 {
			t.Fatalf("the context has no %v:\n%v", kind, before[at])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		seqs := rapid.SliceOfNDistinct(rapid.Int64Range(1, lastMark), 0, 8, func(n int64) int64 { return n }).Draw(t, "hidden")
		first := rapid.SampledFrom([]int64{0, 0, 1, 7, 12, 25, lastMark, lastMark + 1}).Draw(t, "start")
		setHidden(h, t, seqs, true)
		setStart(h, t, first)
		for i, r := range build(t) {
			for n := int64(1); n <= lastMark; n++ {
				if (n < first || slices.Contains(seqs, n)) && strings.Contains(r.String(), e2e.Mark(n)) {
					t.Fatalf("%v tells of message %d: %v", requests[i], n, r)
				}
			}
			checkHidden(t, requests[i], r, func(n int64) bool { return n < first || slices.Contains(seqs, n) })
		}
		setHidden(h, t, seqs, false)
		setStart(h, t, 0)
		for i, r := range build(t) {
			if !proto.Equal(unnamed(before[i]), unnamed(r)) {
				t.Fatalf("before\n%v\nafter\n%v", before[i], r)
			}
		}
	})
}

func setHidden(h *e2e.Server, t rapid.TB, seqs []int64, hidden bool) {
	for _, n := range seqs {
		_, err := h.UpdateMessage(context.WithoutCancel(h.Ctx), &memoryv1.UpdateMessageRequest{
			UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: fmt.Sprint(n), Hidden: hidden}, UpdateMask: e2e.MaskOf("hidden"),
		})
		if err != nil {
			t.Fatalf("hide: %v", err)
		}
	}
}

func setStart(h *e2e.Server, t rapid.TB, seq int64) {
	_, err := h.UpdateSession(context.WithoutCancel(h.Ctx), &memoryv1.UpdateSessionRequest{
		Session: &memoryv1.Session{UserId: "ada", SessionId: "s", ContextStartSeq: seq}, UpdateMask: e2e.MaskOf("context_start_seq"),
	})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
}

// checkHidden asks that a context of the session lists what is hidden, and no other message as hidden, and that the
// provider would take it.
func checkHidden(t *rapid.T, req *memoryv1.BuildContextRequest, r *memoryv1.BuildContextResponse, hidden func(int64) bool) {
	var err error
	switch req.GetRender() {
	case memoryv1.Render_RENDER_OPENAI:
		err = providerrules.OpenAI([]byte(r.GetRendering()))
	case memoryv1.Render_RENDER_ANTHROPIC:
		err = providerrules.Anthropic([]byte(r.GetRendering()))
	}
	if err != nil {
		t.Fatalf("the provider would refuse it: %v\n%s", err, r.GetRendering())
	}
	if req.GetSessionId() != "s" {
		return
	}
	for n := int64(1); n <= lastMark; n++ {
		listed := slices.ContainsFunc(r.GetOmitted(), func(o *memoryv1.Omission) bool {
			return o.GetReason() == hiddenReason && o.GetFromSeq() <= n && n <= o.GetToSeq()
		})
		if listed != hidden(n) {
			t.Fatalf("message %d: listed as hidden %v: %v", n, listed, r.GetOmitted())
		}
	}
}

// unnamed is a reply without what is another when the same summary was written again.
func unnamed(r *memoryv1.BuildContextResponse) *memoryv1.BuildContextResponse {
	r = proto.CloneOf(r)
	r.Etag = ""
	for _, s := range r.GetSections() {
		for _, it := range s.GetItems() {
			if it.GetSummary() != nil {
				it.Summary.NodeIds = nil
			}
		}
	}
	return r
}
