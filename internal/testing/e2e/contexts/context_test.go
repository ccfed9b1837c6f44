package contexts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// foundIn are the items that have something of the query, without what fills.
func foundIn(s *memoryv1.Section) (items []*memoryv1.ContextItem) {
	for _, i := range s.GetItems() {
		if i.GetSelection() == memoryv1.Selection_SELECTION_FOUND {
			items = append(items, i)
		}
	}
	return items
}

func TestBuildContext(t *testing.T) {
	t.Parallel()
	t.Run("gives an unknown user an empty, valid context", func(t *testing.T) {
		h := e2e.Start(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "none", Query: "anything", Render: memoryv1.Render_RENDER_OPENAI})
		if len(r.GetSections()) != 0 || r.GetRendering() != `{"messages":[]}` || r.GetEtag() == "" {
			t.Errorf("context %v", r)
		}
	})
	t.Run("recalls what an earlier session said, at once", func(t *testing.T) {
		h := e2e.Trip(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "Is Grace allergic to anything?", Render: memoryv1.Render_RENDER_TEXT, Explain: true})
		got := e2e.Section(r, e2e.Recalled).GetItems()
		if len(got) == 0 || !slices.Contains(e2e.IDs(e2e.Section(r, e2e.Recalled)), "hotel") {
			t.Fatalf("recalled %v", got)
		}
		if !strings.Contains(r.GetRendering(), "[1 Mar 2026] user: My sister Grace is allergic to peanuts") && !strings.Contains(r.GetRendering(), "[1 March 2026] user: My sister Grace is allergic to peanuts") {
			t.Errorf("rendering\n%s", r.GetRendering())
		}
		for _, item := range foundIn(e2e.Section(r, e2e.Recalled)) {
			if e := item.GetExplanation(); e.GetRank() < 1 || !addsUp(e) {
				t.Errorf("explanation does not add up: %v", e)
			}
		}
	})
	t.Run("recalls the same from memory, from unindexed turns and from segments", func(t *testing.T) {
		h := e2e.Trip(t)
		req := &memoryv1.BuildContextRequest{SessionId: "summer", Query: "allergic peanuts train", Render: memoryv1.Render_RENDER_TEXT, AsOf: timestamppb.New(e2e.Epoch.AddDate(0, 0, 91)), Explain: true}
		fresh := h.Context(t, req)
		h.Indexed(t, req)
		indexed := h.Context(t, req)
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		loaded := h.Context(t, req)
		if fresh.GetRendering() != indexed.GetRendering() {
			t.Errorf("before indexing\n%s\nafter\n%s", fresh.GetRendering(), indexed.GetRendering())
		}
		if !proto.Equal(indexed, loaded) {
			t.Errorf("before a restart\n%v\nafter\n%v", indexed, loaded)
		}
	})
	t.Run("gives equal bytes for equal inputs", func(t *testing.T) {
		h := e2e.Trip(t)
		req := &memoryv1.BuildContextRequest{SessionId: "summer", Query: "allergic peanuts", AsOf: timestamppb.New(e2e.Epoch)}
		h.Indexed(t, req)
		a, b := h.Context(t, req), h.Context(t, req)
		if x, y := e2e.Encode(t, a), e2e.Encode(t, b); x != y {
			t.Errorf("first %s\nsecond %s", x, y)
		}
		later := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "allergic peanuts", AsOf: timestamppb.New(e2e.Epoch.AddDate(1, 0, 0))})
		if later.GetEtag() != a.GetEtag() {
			t.Error("the etag depends on as_of")
		}
		h.RecordTurn(t, "summer", e2e.User("", "one more"))
		if h.Context(t, req).GetEtag() == a.GetEtag() {
			t.Error("the etag does not change with the session")
		}
	})
	t.Run("is accepted by each provider's rules, in every memory role", func(t *testing.T) {
		h := e2e.Trip(t)
		h.RecordTurn(t, "summer", e2e.ToolCall("", "c1", "search", `{"q":"soup"}`), e2e.ToolResult("", "c1", "12 soups"), e2e.Assistant("", "Twelve soups."))
		for _, role := range []memoryv1.MemoryRole{1, 2, 3} {
			req := &memoryv1.BuildContextRequest{SessionId: "summer", Query: "allergic peanuts", Instructions: "Be kind.", Overrides: &memoryv1.ContextOverrides{MemoryRole: role}, Pending: []*memoryv1.Message{e2e.User("", "and dessert?")}}
			req.Render = memoryv1.Render_RENDER_OPENAI
			if err := providerrules.OpenAI([]byte(h.Context(t, req).GetRendering())); err != nil {
				t.Errorf("OpenAI, %v: %v", role, err)
			}
			req.Render = memoryv1.Render_RENDER_ANTHROPIC
			if err := providerrules.Anthropic([]byte(h.Context(t, req).GetRendering())); err != nil {
				t.Errorf("Anthropic, %v: %v", role, err)
			}
		}
	})
	t.Run("keeps state, instructions, recent and pending in order", func(t *testing.T) {
		h := e2e.Trip(t)
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "summer", StatePatch: e2e.Object("guests", structpb.NewNumberValue(4))}))(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", Instructions: "Be kind.", Render: memoryv1.Render_RENDER_TEXT, Pending: []*memoryv1.Message{e2e.User("", "and dessert?")}})
		text, last := r.GetRendering(), -1
		for _, want := range []string{"Be kind.", `{"guests":4}`, "allergic to peanuts", "Help me to cook dinner", "and dessert?"} {
			at := strings.Index(text, want)
			if at <= last {
				t.Errorf("%q stands at %d, after %d:\n%s", want, at, last, text)
			}
			last = at
		}
	})
	t.Run("never goes over its budget and says what it left out", func(t *testing.T) {
		h := e2e.Start(t)
		for i := range 60 {
			h.RecordTurn(t, "s", e2e.At(e2e.User(fmt.Sprintf("u%d", i), fmt.Sprintf("This is message number %d about the garden and its %d roses.", i, i)), i))
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "roses", Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(600)}})
		if r.GetUsage().GetTokens() > 600 || r.GetUsage().GetTokens() < 500 {
			t.Errorf("%d tokens of 600", r.GetUsage().GetTokens())
		}
		if n := len(e2e.Section(r, e2e.Recent).GetItems()); n < 10 {
			t.Errorf("%d recent messages, want at least recent_n = 10", n)
		}
		accountedFor(t, r, 60)
	})
	t.Run("never renders a result without its call", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hi"), e2e.ToolResult("b", "lost", "forty-two"), e2e.ToolCall("c", "c1", "f", "{}"), e2e.ToolResult("d", "c1", "seven"), e2e.User("e", "thanks"))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "forty-two seven", Render: memoryv1.Render_RENDER_TEXT})
		if strings.Contains(r.GetRendering(), "forty-two") || !strings.Contains(r.GetRendering(), "seven") {
			t.Errorf("rendering\n%s", r.GetRendering())
		}
		if o := r.GetOmitted(); len(o) != 1 || o[0].GetReason() != memoryv1.OmitReason_OMIT_REASON_ORPHAN_RESULT || o[0].GetFromSeq() != 2 {
			t.Errorf("omitted %v", o)
		}
	})
	t.Run("takes the query from the last words of the user when none is given", func(t *testing.T) {
		h := e2e.Trip(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Pending: []*memoryv1.Message{e2e.User("", "When is the night train?")}})
		if !slices.Contains(e2e.IDs(e2e.Section(r, e2e.Recalled)), "train") {
			t.Errorf("recalled %v", e2e.IDs(e2e.Section(r, e2e.Recalled)))
		}
	})
	t.Run("takes a model of which nothing is known, and says so", func(t *testing.T) {
		h := e2e.Trip(t)
		for _, model := range []string{"nobody-knows", "vendor/nobody-knows"} {
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", Model: model})
			if u := r.GetUsage(); u.GetCounter() != "estimate" || u.GetBudgetTokens() != 8000 || u.GetWindowTokens() != 0 || len(e2e.Section(r, e2e.Recalled).GetItems()) == 0 {
				t.Errorf("%s: %v", model, u)
			}
			if d := r.GetDegraded(); len(d) != 1 || d[0].GetTier() != "model" {
				t.Errorf("%s: degraded %v", model, d)
			}
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", Model: "anthropic/claude-sonnet-4-5"})
		if r.GetUsage().GetWindowTokens() != 200_000 || len(r.GetDegraded()) != 0 {
			t.Errorf("a known one: %v, degraded %v", r.GetUsage(), r.GetDegraded())
		}
	})
	t.Run("raises the profile's budget for what the user pasted, and says by how much", func(t *testing.T) {
		h := e2e.Trip(t)
		pasted := []*memoryv1.Message{e2e.User("", strings.Repeat("word ", 20_000))}
		for _, model := range []string{"", "gpt-4o", "nobody-knows"} {
			u := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Pending: pasted, Model: model}).GetUsage()
			if u.GetTokens() < 20_000 || u.GetTokens() > u.GetAvailableTokens() || u.GetRaisedTokens() != u.GetBudgetTokens()-8000 || u.GetRaisedTokens() < 12_000 {
				t.Errorf("%q: %v", model, u)
			}
		}
		_, err := h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "summer", Pending: pasted, Model: "gpt-4"})
		e2e.Refused(t, err, codes.InvalidArgument, "BUDGET_TOO_SMALL", "overrides.budget_tokens")
		_, err = h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "summer", Pending: pasted, Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(8000)}})
		e2e.Refused(t, err, codes.InvalidArgument, "BUDGET_TOO_SMALL", "overrides.budget_tokens")
	})
	t.Run("a reserve larger than the budget leaves no negative number of tokens", func(t *testing.T) {
		h := e2e.Trip(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", Model: "gpt-4o", ReserveOutputTokens: 9000})
		if u := r.GetUsage(); u.GetAvailableTokens() != 8000 || len(e2e.Section(r, e2e.Recalled).GetItems()) == 0 {
			t.Errorf("with a model: %v", u)
		}
		r = h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", ReserveOutputTokens: 9000})
		if d := r.GetDegraded(); len(d) != 1 || d[0].GetTier() != "budget" || r.GetUsage().GetAvailableTokens() < 0 {
			t.Errorf("without: %v, degraded %v", r.GetUsage(), d)
		}
		_, err := h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "summer", ReserveOutputTokens: 9000, Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(8000)}})
		if e2e.Refused(t, err, codes.InvalidArgument, "BUDGET_TOO_SMALL", "overrides.budget_tokens"); strings.Contains(err.Error(), "-") && strings.Contains(err.Error(), "-1000") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("recalls at most top_k messages", func(t *testing.T) {
		h := e2e.Trip(t)
		for k := range 4 {
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "sister peanuts train sleeper", Overrides: &memoryv1.ContextOverrides{TopK: proto.Int32(int32(k))}})
			if n := len(e2e.Section(r, e2e.Recalled).GetItems()); n != k {
				t.Errorf("%d recalled, top_k %d", n, k)
			}
		}
	})
	t.Run("leaves a section out when told to", func(t *testing.T) {
		h := e2e.Trip(t)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "summer", Query: "peanuts", Overrides: &memoryv1.ContextOverrides{Sections: []*memoryv1.SectionSwitch{{Section: e2e.Recalled, Enabled: false}}}})
		if len(e2e.Section(r, e2e.Recalled).GetItems()) != 0 || len(e2e.Section(r, e2e.Recent).GetItems()) != 1 {
			t.Errorf("sections %v", r.GetSections())
		}
	})
	t.Run("fills its budget although a reply in the tail is too long for it", func(t *testing.T) {
		h := e2e.Start(t)
		for i := range 40 {
			h.RecordTurn(t, "old", e2e.At(e2e.User("", fmt.Sprintf("The garden has %d roses and %s", i, strings.Repeat("some more flowers ", 10))), 0))
		}
		h.RecordTurn(t, "now", e2e.Assistant("", strings.Repeat("word ", 4000)))
		for i := range 10 {
			h.RecordTurn(t, "now", e2e.User("", fmt.Sprintf("short %d", i)))
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "now", Query: "garden roses flowers", Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(1500)}})
		if got := r.GetUsage().GetTokens(); got < 1400 || got > 1500 {
			t.Errorf("%d tokens of 1500", got)
		}
	})
	t.Run("recalls a passage of a recent message that does not fit whole", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.Assistant("long", strings.Repeat("filler words stand here. ", 900)+"\n\nThe name of the fountain is heron."))
		h.RecordTurn(t, "s", e2e.User("q", "hm"))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "fountain heron", Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(600)}, Render: memoryv1.Render_RENDER_TEXT})
		if !strings.Contains(r.GetRendering(), "fountain is heron") {
			t.Errorf("rendering\n%s", r.GetRendering())
		}
	})
	t.Run("finds the user's last words far behind the tail, and with recent messages off", func(t *testing.T) {
		h := e2e.Trip(t)
		h.RecordTurn(t, "agent", e2e.User("", "When is the night train?"))
		for range 30 {
			h.RecordTurn(t, "agent", e2e.Assistant("", strings.Repeat("thinking about it ", 60)))
		}
		for name, o := range map[string]*memoryv1.ContextOverrides{
			// A summary takes room, and how much depends on when it was written.
			"behind the tail": {BudgetTokens: proto.Int64(700), Sections: []*memoryv1.SectionSwitch{{Section: memoryv1.SectionKind_SECTION_KIND_SUMMARY}}},
			"recent off":      {Sections: []*memoryv1.SectionSwitch{{Section: e2e.Recent}}},
		} {
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "agent", Overrides: o})
			if !slices.Contains(e2e.IDs(e2e.Section(r, e2e.Recalled)), "train") {
				t.Errorf("%s: recalled %v", name, e2e.IDs(e2e.Section(r, e2e.Recalled)))
			}
		}
	})
	t.Run("keeps a pending result whose call is recorded, with recent messages off", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("", "go"), e2e.ToolCall("", "c1", "f", "{}"))
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Pending: []*memoryv1.Message{e2e.ToolResult("", "c1", "forty-two")}, Overrides: &memoryv1.ContextOverrides{Sections: []*memoryv1.SectionSwitch{{Section: e2e.Recent}}}, Render: memoryv1.Render_RENDER_OPENAI})
		if err := providerrules.OpenAI([]byte(r.GetRendering())); err != nil || !strings.Contains(r.GetRendering(), "forty-two") {
			t.Errorf("%v\n%s", err, r.GetRendering())
		}
	})
	t.Run("answers within what a client receives, whatever the messages carry", func(t *testing.T) {
		h := e2e.Start(t)
		numbers := make([]any, 6000)
		for i := range numbers {
			numbers[i] = 1
		}
		metadata := e2e.Must(structpb.NewStruct(map[string]any{"n": numbers}))(t)
		opaque := &memoryv1.Part{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: "x", Json: strings.Repeat("y", 600_000)}}}
		for range 12 {
			h.RecordTurn(t, "s", &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Metadata: metadata, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "hello"}}}, opaque}})
		}
		h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "hello"})
		e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "hello"}))(t)
		n := 0
		for token := ""; ; {
			page := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageToken: token}))(t)
			n += len(page.GetMessages())
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		if n != 12 {
			t.Errorf("%d messages on all pages, want 12", n)
		}
	})
	t.Run("answers soon when the query is a pasted page", func(t *testing.T) {
		h := e2e.Start(t)
		var page strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&page, "w%d ", i)
		}
		h.RecordTurn(t, "s", e2e.User("", page.String()))
		h.RecordTurn(t, "s", e2e.User("", page.String()+"again"))
		ctx, cancel := context.WithTimeout(h.Ctx, e2e.EventuallyWithin)
		defer cancel()
		e2e.Must(h.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s"}))(t)
	})
	t.Run("shows nothing of another user", func(t *testing.T) {
		h := e2e.Trip(t)
		r := e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "eve", SessionId: "spring", Query: "Grace allergic peanuts"}))(t)
		if len(r.GetSections()) != 0 {
			t.Errorf("eve sees %v", r.GetSections())
		}
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "eve", Query: "peanuts"}))(t)
		if len(hits.GetHits()) != 0 {
			t.Errorf("eve finds %v", hits.GetHits())
		}
	})
}

// accountedFor checks that every seq is in the context, in a gap, or before the first message.
func accountedFor(t *testing.T, r *memoryv1.BuildContextResponse, last int64) {
	t.Helper()
	raw, summarised := r.GetCoverage().GetRawFrom(), r.GetCoverage().GetSummaryThrough()
	covered := map[int64]bool{}
	for _, item := range e2e.Section(r, e2e.Recalled).GetItems() {
		covered[item.GetSeq()] = true
	}
	for _, g := range r.GetCoverage().GetGaps() {
		for seq := g.GetFromSeq(); seq <= g.GetToSeq(); seq++ {
			covered[seq] = true
		}
	}
	for seq := int64(1); seq <= last; seq++ {
		if seq > summarised && seq < raw && !covered[seq] {
			t.Errorf("message %d is neither in the context, nor in a summary, nor in a gap", seq)
		}
	}
	if n := int64(len(e2e.Section(r, e2e.Recent).GetItems())); n != last-raw+1 {
		t.Errorf("%d recent messages, raw from %d to %d", n, raw, last)
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestSearchMessages(t *testing.T) {
	t.Parallel()
	h := e2e.Trip(t)
	search := func(t *testing.T, req *memoryv1.SearchMessagesRequest) *memoryv1.SearchMessagesResponse {
		t.Helper()
		req.UserId = "ada"
		return e2e.Must(h.SearchMessages(h.Ctx, req))(t)
	}
	t.Run("highlights the words of the query", func(t *testing.T) {
		hit := search(t, &memoryv1.SearchMessagesRequest{Query: "sister Grace and the peanut", Explain: true}).GetHits()[0]
		var words []string
		for _, r := range hit.GetHighlights() {
			words = append(words, string([]rune(hit.GetSnippet())[r.GetStart():r.GetEnd()]))
		}
		if hit.GetMessage().GetId() != "hotel" || !slices.Contains(words, "peanuts") {
			t.Errorf("hit %v, highlights %v", hit, words)
		}
	})
	t.Run("pages without repeats", func(t *testing.T) {
		seen, token := map[string]int{}, ""
		for {
			r := search(t, &memoryv1.SearchMessagesRequest{Query: "sister train peanuts sleeper", PageSize: 1, PageToken: token})
			for _, hit := range r.GetHits() {
				seen[hit.GetMessage().GetId()]++
			}
			if token = r.GetNextPageToken(); token == "" {
				break
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s came %d times", id, n)
			}
		}
		if len(seen) != 5 {
			t.Errorf("found %v, want all five", seen)
		}
	})
	t.Run("filters by session and time", func(t *testing.T) {
		for name, req := range map[string]*memoryv1.SearchMessagesRequest{
			"session": {Query: "sister", SessionIds: []string{"summer", "no such"}},
			"time":    {Query: "sister", StartTime: timestamppb.New(e2e.Epoch.AddDate(0, 0, 80))},
		} {
			hits := search(t, req).GetHits()
			if len(hits) != 1 || hits[0].GetMessage().GetId() != "dinner" {
				t.Errorf("%s: %v", name, hits)
			}
		}
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	t.Run("are listed the latest first, page by page", func(t *testing.T) {
		h := e2e.Start(t)
		for i := range 5 {
			h.RecordTurn(t, fmt.Sprintf("s%d", i), e2e.User("", "hello"))
		}
		h.RecordTurn(t, "s1", e2e.User("", "again"))
		var got []string
		for token := ""; ; {
			r := e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada", PageSize: 2, PageToken: token}))(t)
			for _, s := range r.GetSessions() {
				got = append(got, s.GetSessionId())
			}
			if token = r.GetNextPageToken(); token == "" {
				break
			}
		}
		if want := []string{"s1", "s4", "s3", "s2", "s0"}; !slices.Equal(got, want) {
			t.Errorf("sessions %v, want %v", got, want)
		}
	})
	t.Run("an imported session stands where it was held, not where it was imported", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "today", e2e.User("", "hello"))
		said := time.Date(2024, 3, 8, 9, 0, 0, 0, time.UTC)
		old := e2e.User("", "we leave for Lisbon")
		old.CreateTime = timestamppb.New(said)
		h.RecordTurn(t, "imported", old)
		r := e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}))(t).GetSessions()
		if len(r) != 2 || r[1].GetSessionId() != "imported" || !r[1].GetLastMessageTime().AsTime().Equal(said) {
			t.Errorf("sessions %v", r)
		}
	})
	t.Run("change by mask and etag", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("", "hello"))
		first := e2e.Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"}))(t).GetSession()
		update := func(s *memoryv1.Session) error {
			_, err := h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: s})
			return err
		}
		if err := update(&memoryv1.Session{UserId: "ada", SessionId: "s", Title: "Trip", Etag: first.GetEtag()}); err != nil {
			t.Fatal(err)
		}
		e2e.Refused(t, update(&memoryv1.Session{UserId: "ada", SessionId: "s", Title: "Lost", Etag: first.GetEtag()}), codes.Aborted, "ETAG_MISMATCH", "")
		e2e.Refused(t, update(&memoryv1.Session{UserId: "ada", SessionId: "s", Profile: "nope"}), codes.InvalidArgument, "PROFILE_UNKNOWN", "")
		e2e.Refused(t, update(&memoryv1.Session{UserId: "ada", SessionId: "t", Title: "x"}), codes.NotFound, "SESSION_NOT_FOUND", "")
		now := e2e.Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"}))(t).GetSession()
		if now.GetTitle() != "Trip" {
			t.Errorf("title %q", now.GetTitle())
		}
	})
	t.Run("keep a message's content when its labels change", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hello"))
		m := e2e.Must(h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: "a", Pinned: true, Tags: []string{"keep"}}}))(t).GetMessage()
		if !m.GetPinned() || m.GetTags()[0] != "keep" || m.GetParts()[0].GetText().GetText() != "hello" {
			t.Errorf("message %v", m)
		}
		_, err := h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: "b", Pinned: true}})
		e2e.Refused(t, err, codes.NotFound, "MESSAGE_NOT_FOUND", "")
	})
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	r := e2e.Must(h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{Texts: []string{"tiktoken is great!", ""}, Messages: []*memoryv1.Message{e2e.User("", "tiktoken is great!")}, Model: "gpt-4"}))(t)
	if r.GetCounter() != "cl100k_base" || r.GetTotalTokens() != 12 || r.GetTextTokens()[0] != 6 {
		t.Errorf("counts %v", r)
	}
}
