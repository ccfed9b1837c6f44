package contexts_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestSummaries(t *testing.T) {
	t.Parallel()
	t.Run("there is none before a trigger, and one of everything on request", func(t *testing.T) {
		h := e2e.Start(t)
		h.Talk(t, "s", 4)
		req := &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}
		_, err := h.Summaries().GetSummary(h.Ctx, req)
		e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
		r := h.Summarize(t, "s")
		got := r.GetSummary()
		if !r.GetComplete() || got.GetThroughSeq() != 4 || got.GetText() == "" || got.GetTokens() == 0 || len(got.GetNodes()) != 1 || !strings.HasPrefix(got.GetNodes()[0].GetModel(), "builtin:") {
			t.Fatalf("summarised %v", r)
		}
		if again := e2e.Must(h.Summaries().GetSummary(h.Ctx, req))(t).GetSummary(); !proto.Equal(again, got) {
			t.Errorf("summarised %v\nread %v", got, again)
		}
	})
	t.Run("a trigger summarises in the background and keeps the latest messages raw", func(t *testing.T) {
		h := e2e.Start(t)
		h.Talk(t, "s", 12)
		e2e.Eventually(t, "a summary", func() bool {
			r, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
			return err == nil && r.GetSummary().GetThroughSeq() > 0 && r.GetSummary().GetThroughSeq() <= 7
		})
	})
	t.Run("another user's session is NOT_FOUND, and its summary is not listed", func(t *testing.T) {
		h := e2e.Start(t)
		h.Talk(t, "trip", 2)
		h.RecordAs(t, "eve")
		h.Summarize(t, "trip")
		_, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "eve", SessionId: "trip"})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.Summaries().Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: "eve", SessionId: "trip"})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		if r := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "eve"}))(t); len(r.GetSummaries()) != 0 {
			t.Errorf("eve's summaries %v", r)
		}
	})
	t.Run("a call whose time is up returns what there is, and the work goes on", func(t *testing.T) {
		hold := make(chan struct{})
		model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			return llmtest.Reply{Delays: llmtest.Delays{Hold: hold}, Text: "The user visits the castle of Prague with sister Grace on day 1."}
		}})
		t.Cleanup(model.Close)
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" })
		h.Talk(t, "s", 2)
		r := e2e.InTime(h.Ctx, t, time.Second, func(ctx context.Context) (*memoryv1.SummarizeResponse, error) {
			return h.Summaries().Summarize(ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: "s"})
		})
		if r.GetComplete() || r.GetSummary() != nil {
			t.Errorf("summarised %v", r)
		}
		close(hold)
		if r := h.Summarize(t, "s"); !r.GetComplete() || r.GetSummary().GetNodes()[0].GetModel() != "scripted" {
			t.Errorf("summarised %v", r)
		}
	})
	t.Run("what a model left out of the middle stands at its place in time", func(t *testing.T) {
		model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			return llmtest.Say("The user moved to Lisbon in March. The user's sister Mia visits in June.")
		}})
		t.Cleanup(model.Close)
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" })
		h.RecordTurn(t, "s", e2e.User("", "I moved to Lisbon in March."), e2e.Assistant("", "A fine city."),
			e2e.User("", "We agreed to pay Mr. Costa a deposit of 480 euros."), e2e.Assistant("", "I keep it in mind."),
			e2e.User("", "My sister Mia visits us in June."), e2e.Assistant("", "How nice."))
		got := h.Summarize(t, "s").GetSummary()
		text := got.GetText()
		place := []int{strings.Index(text, "Lisbon"), strings.Index(text, "480 euros"), strings.Index(text, "Mia")}
		if place[0] < 0 || !slices.IsSorted(place) || got.GetNodes()[0].GetModel() != "scripted" {
			t.Errorf("the summary is out of order: %q by %s", text, got.GetNodes()[0].GetModel())
		}
	})
	t.Run("a session of state alone is complete without a summary", func(t *testing.T) {
		h := e2e.Start(t)
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: e2e.Object("k", e2e.StructString("v"))}))(t)
		if r := h.Summarize(t, "s"); r.GetSummary() != nil || !r.GetComplete() {
			t.Errorf("summarised %v", r)
		}
	})
	t.Run("summaries are listed by their last message, the latest first, in pages", func(t *testing.T) {
		h := e2e.Start(t)
		for _, s := range []string{"one", "two", "three"} {
			h.Talk(t, s, 2)
			h.Summarize(t, s)
		}
		req, seen := &memoryv1.ListSummariesRequest{UserId: "ada", PageSize: 2}, []string(nil)
		for range 2 {
			page := e2e.Must(h.Summaries().ListSummaries(h.Ctx, req))(t)
			for _, s := range page.GetSummaries() {
				seen = append(seen, s.GetSessionId())
			}
			req.PageToken = page.GetNextPageToken()
		}
		if req.GetPageToken() != "" || !slices.Equal(seen, []string{"three", "two", "one"}) {
			t.Errorf("summaries of %q, token %q", seen, req.GetPageToken())
		}
	})
	t.Run("a week that is over is summarised, listed and found by its name", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.At(e2e.User("", "My sister Grace is allergic to peanuts, we decided in Vienna."), 0), e2e.At(e2e.Assistant("", "I will avoid peanuts for Grace."), 0))
		h.Summarize(t, "s")
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange) // the sweep at the start finds what a later one would
		week := memoryv1.SummaryKind_SUMMARY_KIND_WEEK
		var listed []*memoryv1.Summary
		e2e.Eventually(t, "a weekly summary", func() bool {
			listed = e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: week}))(t).GetSummaries()
			return len(listed) > 0
		})
		if len(listed) != 1 || listed[0].GetName() != "2026-W09" || listed[0].GetStartTime().AsTime().Weekday().String() != "Monday" {
			t.Fatalf("weeks %v", listed)
		}
		got := e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W09"}))(t).GetSummary()
		if !proto.Equal(got, listed[0]) {
			t.Errorf("listed %v\nread %v", listed[0], got)
		}
		_, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W01"})
		e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
	})
	t.Run("bad input names its field", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordAs(t, "ada")
		week := memoryv1.SummaryKind_SUMMARY_KIND_WEEK
		for name, row := range map[string]struct {
			req   *memoryv1.GetSummaryRequest
			field string
		}{
			"no user":                 {&memoryv1.GetSummaryRequest{SessionId: "s"}, "user_id"},
			"no session":              {&memoryv1.GetSummaryRequest{UserId: "ada"}, "session_id"},
			"a name of a session":     {&memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s", Name: "x"}, "name"},
			"an unknown kind":         {&memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s", Kind: 9}, "kind"},
			"a week without a name":   {&memoryv1.GetSummaryRequest{UserId: "ada", Kind: week}, "name"},
			"a week of a session":     {&memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W09", SessionId: "s"}, "session_id"},
			"a month for a week":      {&memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-03"}, "name"},
			"a week that there isn't": {&memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W54"}, "name"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := h.Summaries().GetSummary(h.Ctx, row.req)
				e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
			})
		}
	})
}
