package app_test

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
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

func TestSummaries(t *testing.T) {
	t.Parallel()
	t.Run("there is none before a trigger, and one of everything on request", func(t *testing.T) {
		h := start(t)
		h.talk(t, "s", 4)
		req := &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}
		_, err := h.summaries().GetSummary(h.ctx, req)
		refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
		r := h.summarize(t, "s")
		got := r.GetSummary()
		if !r.GetComplete() || got.GetThroughSeq() != 4 || got.GetText() == "" || got.GetTokens() == 0 || len(got.GetNodes()) != 1 || !strings.HasPrefix(got.GetNodes()[0].GetModel(), "builtin:") {
			t.Fatalf("summarised %v", r)
		}
		if again := must(h.summaries().GetSummary(h.ctx, req))(t).GetSummary(); !proto.Equal(again, got) {
			t.Errorf("summarised %v\nread %v", got, again)
		}
	})
	t.Run("a trigger summarises in the background and keeps the latest messages raw", func(t *testing.T) {
		h := start(t)
		h.talk(t, "s", 12)
		eventually(t, "a summary", func() bool {
			r, err := h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"})
			return err == nil && r.GetSummary().GetThroughSeq() > 0 && r.GetSummary().GetThroughSeq() <= 7
		})
	})
	t.Run("another user's session is NOT_FOUND, and its summary is not listed", func(t *testing.T) {
		h := start(t)
		h.talk(t, "trip", 2)
		h.recordAs(t, "eve")
		h.summarize(t, "trip")
		_, err := h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "eve", SessionId: "trip"})
		refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.summaries().Summarize(h.ctx, &memoryv1.SummarizeRequest{UserId: "eve", SessionId: "trip"})
		refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		if r := must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "eve"}))(t); len(r.GetSummaries()) != 0 {
			t.Errorf("eve's summaries %v", r)
		}
	})
	t.Run("a call whose time is up returns what there is, and the work goes on", func(t *testing.T) {
		hold := make(chan struct{})
		model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			return llmtest.Reply{Delays: llmtest.Delays{Hold: hold}, Text: "The user visits the castle of Prague with sister Grace on day 1."}
		}})
		t.Cleanup(model.Close)
		h := startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" })
		h.talk(t, "s", 2)
		r := inTime(h.ctx, t, time.Second, func(ctx context.Context) (*memoryv1.SummarizeResponse, error) {
			return h.summaries().Summarize(ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: "s"})
		})
		if r.GetComplete() || r.GetSummary() != nil {
			t.Errorf("summarised %v", r)
		}
		close(hold)
		if r := h.summarize(t, "s"); !r.GetComplete() || r.GetSummary().GetNodes()[0].GetModel() != "scripted" {
			t.Errorf("summarised %v", r)
		}
	})
	t.Run("what a model left out of the middle stands at its place in time", func(t *testing.T) {
		model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			return llmtest.Say("The user moved to Lisbon in March. The user's sister Mia visits in June.")
		}})
		t.Cleanup(model.Close)
		h := startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted" })
		h.recordTurn(t, "s", user("", "I moved to Lisbon in March."), assistant("", "A fine city."),
			user("", "We agreed to pay Mr. Costa a deposit of 480 euros."), assistant("", "I keep it in mind."),
			user("", "My sister Mia visits us in June."), assistant("", "How nice."))
		got := h.summarize(t, "s").GetSummary()
		text := got.GetText()
		place := []int{strings.Index(text, "Lisbon"), strings.Index(text, "480 euros"), strings.Index(text, "Mia")}
		if place[0] < 0 || !slices.IsSorted(place) || got.GetNodes()[0].GetModel() != "scripted" {
			t.Errorf("the summary is out of order: %q by %s", text, got.GetNodes()[0].GetModel())
		}
	})
	t.Run("a session of state alone is complete without a summary", func(t *testing.T) {
		h := start(t)
		must(h.Record(h.ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: object("k", structString("v"))}))(t)
		if r := h.summarize(t, "s"); r.GetSummary() != nil || !r.GetComplete() {
			t.Errorf("summarised %v", r)
		}
	})
	t.Run("summaries are listed by their last message, the latest first, in pages", func(t *testing.T) {
		h := start(t)
		for _, s := range []string{"one", "two", "three"} {
			h.talk(t, s, 2)
			h.summarize(t, s)
		}
		req, seen := &memoryv1.ListSummariesRequest{UserId: "ada", PageSize: 2}, []string(nil)
		for range 2 {
			page := must(h.summaries().ListSummaries(h.ctx, req))(t)
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
		h := start(t)
		h.recordTurn(t, "s", at(user("", "My sister Grace is allergic to peanuts, we decided in Vienna."), 0), at(assistant("", "I will avoid peanuts for Grace."), 0))
		h.summarize(t, "s")
		h.stop()
		h = startOn(t, h.data, noChange) // the sweep at the start finds what a later one would
		week := memoryv1.SummaryKind_SUMMARY_KIND_WEEK
		var listed []*memoryv1.Summary
		eventually(t, "a weekly summary", func() bool {
			listed = must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada", Kind: week}))(t).GetSummaries()
			return len(listed) > 0
		})
		if len(listed) != 1 || listed[0].GetName() != "2026-W09" || listed[0].GetStartTime().AsTime().Weekday().String() != "Monday" {
			t.Fatalf("weeks %v", listed)
		}
		got := must(h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W09"}))(t).GetSummary()
		if !proto.Equal(got, listed[0]) {
			t.Errorf("listed %v\nread %v", listed[0], got)
		}
		_, err := h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W01"})
		refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
	})
	t.Run("bad input names its field", func(t *testing.T) {
		h := start(t)
		h.recordAs(t, "ada")
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
				_, err := h.summaries().GetSummary(h.ctx, row.req)
				refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
			})
		}
	})
}
