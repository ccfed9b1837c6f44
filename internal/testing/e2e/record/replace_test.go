package record_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// visible is what an agent reads before it replaces the messages.
func visible(t *testing.T, h *e2e.Server) *memoryv1.ListMessagesResponse {
	t.Helper()
	return e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", VisibleOnly: true}))(t)
}

func listed(list *memoryv1.ListMessagesResponse) (out []string) {
	for _, m := range list.GetMessages() {
		out = append(out, m.GetParts()[0].GetText().GetText())
	}
	return out
}

func replacing(etag string, messages ...*memoryv1.Message) *memoryv1.ReplaceMessagesRequest {
	return &memoryv1.ReplaceMessagesRequest{UserId: "ada", SessionId: "s", Etag: etag, Messages: messages}
}

func TestReplaceMessages(t *testing.T) {
	t.Parallel()
	t.Run("what is the same stays with its id, the rest is erased or recorded", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.Assistant("2", "two"), e2e.User("3", "three"), e2e.Assistant("4", "four"))
		r := e2e.Must(h.ReplaceMessages(h.Ctx, replacing("", e2e.User("", "one"), e2e.User("", "three"), e2e.Assistant("4", "other words"), e2e.User("", "five"))))(t)
		if got := r.GetMessageIds(); len(got) != 4 || !slices.Equal(got[:3], []string{"1", "3", "4"}) || r.GetKept() != 2 {
			t.Errorf("%v, %d were kept", got, r.GetKept())
		}
		if r.GetFirstSeq() != 5 || r.GetLastSeq() != 6 || r.GetJob().GetErasure().GetMessages() != 2 {
			t.Errorf("recorded %d to %d, erased %d", r.GetFirstSeq(), r.GetLastSeq(), r.GetJob().GetErasure().GetMessages())
		}
		list := visible(t, h)
		if got := listed(list); !slices.Equal(got, []string{"one", "three", "other words", "five"}) || list.GetEtag() != r.GetEtag() {
			t.Errorf("%v, etag %s, promised %s", got, list.GetEtag(), r.GetEtag())
		}
		again := e2e.Must(h.ReplaceMessages(h.Ctx, replacing(r.GetEtag(), list.GetMessages()...)))(t)
		if again.GetKept() != 4 || again.GetJob() != nil || again.GetEtag() != r.GetEtag() {
			t.Errorf("the same list again: %v", again)
		}
	})
	t.Run("a list that changed since it was read is refused, and nothing is changed", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.User("2", "two"), e2e.User("3", "three"))
		changes := map[string]func(){
			"recorded": func() { h.RecordTurn(t, "s", e2e.User("", "four")) },
			"popped":   func() { e2e.Must(h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s"}))(t) },
			"hidden":   func() { h.Hide(t, "s", "1", true) },
			"shown":    func() { h.Hide(t, "s", "1", false) },
		}
		for _, what := range []string{"recorded", "popped", "hidden", "shown"} {
			etag := visible(t, h).GetEtag()
			changes[what]()
			before := listed(visible(t, h))
			_, err := h.ReplaceMessages(h.Ctx, replacing(etag, e2e.User("", "new")))
			e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
			if got := listed(visible(t, h)); !slices.Equal(got, before) {
				t.Errorf("%s: now %v", what, got)
			}
		}
	})
	t.Run("of calls at once by one etag one gets through, and nothing of the others is there", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.User("2", "two"))
		etag := visible(t, h).GetEtag()
		var all sync.WaitGroup
		var mu sync.Mutex
		won := []string{}
		for i := range 8 {
			all.Go(func() {
				text := fmt.Sprint("of ", i)
				_, err := h.ReplaceMessages(h.Ctx, replacing(etag, e2e.User("", "one"), e2e.User("2", text)))
				if err == nil {
					mu.Lock()
					won = append(won, "one", text)
					mu.Unlock()
					return
				}
				e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
			})
		}
		all.Wait()
		if got := listed(visible(t, h)); !slices.Equal(got, won) {
			t.Errorf("the list is %v, those that got through wrote %v", got, won)
		}
	})
	t.Run("a repeated request_id changes nothing, whatever was recorded since", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for _, text := range []string{"one", "two"} { // of a new session, and of one that is there
			req := replacing("", e2e.User("", text))
			req.RequestId = "r " + text
			if first := e2e.Must(h.ReplaceMessages(h.Ctx, req))(t); first.GetReplayed() || len(first.GetMessageIds()) != 1 {
				t.Errorf("first %v", first)
			}
			h.RecordTurn(t, "s", e2e.User("", "later"))
			if again := e2e.Must(h.ReplaceMessages(h.Ctx, req))(t); !again.GetReplayed() || len(again.GetMessageIds()) != 0 {
				t.Errorf("again %v", again)
			}
			if got := listed(visible(t, h)); !slices.Equal(got, []string{text, "later"}) {
				t.Errorf("now %v", got)
			}
			req.Messages[0].Text = "another body"
			_, err := h.ReplaceMessages(h.Ctx, req)
			e2e.Refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
		}
	})
	t.Run("hidden messages stay, and pages of visible ones are full and end where nothing visible follows", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		var all []*memoryv1.Message
		for i := range 130 {
			m := e2e.User(fmt.Sprint(i+1), fmt.Sprint("words ", i+1))
			m.Hidden = i%10 != 4 // 5, 15, … are shown
			all = append(all, m)
		}
		h.RecordTurn(t, "s", all...)
		for _, newest := range []bool{false, true} {
			var pages []int
			for token := ""; ; {
				page := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{
					UserId: "ada", SessionId: "s", PageSize: 5, VisibleOnly: true, NewestFirst: newest, PageToken: token,
				}))(t)
				pages = append(pages, len(page.GetMessages()))
				if token = page.GetNextPageToken(); token == "" {
					break
				}
			}
			if !slices.Equal(pages, []int{5, 5, 3}) {
				t.Errorf("newest first %v: pages of %v", newest, pages)
			}
		}
		h.StartAt(t, "s", 50)
		if got := e2e.MessageIDs(visible(t, h).GetMessages()); len(got) != 8 || got[0] != "55" {
			t.Errorf("from the context start on: %v", got)
		}
		e2e.Must(h.ReplaceMessages(h.Ctx, replacing("")))(t)
		if left := h.Transcript(t, "s"); len(visible(t, h).GetMessages()) != 0 || len(left) != 130-8 {
			t.Errorf("%d are left", len(left))
		}
	})
	t.Run("a list begins at a seq, in either order, and its pages go on from there", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		var all []*memoryv1.Message
		for i := range 9 {
			all = append(all, e2e.User(fmt.Sprint(i+1), fmt.Sprint("words ", i+1)))
		}
		h.RecordTurn(t, "s", all...)
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"6"}}))(t)
		for _, c := range []struct {
			from   int64
			newest bool
			want   string
		}{
			{0, false, "12345789"},
			{1, false, "12345789"},
			{4, false, "45789"},
			{6, false, "789"},
			{9, false, "9"},
			{10, false, ""},
			{0, true, "98754321"},
			{1, true, "1"},
			{4, true, "4321"},
			{6, true, "54321"},
			{1 << 62, true, "98754321"},
		} {
			got := ""
			for token := ""; ; {
				page := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{
					UserId: "ada", SessionId: "s", PageSize: 2, NewestFirst: c.newest, FromSeq: c.from, PageToken: token,
				}))(t)
				got += strings.Join(e2e.MessageIDs(page.GetMessages()), "")
				if token = page.GetNextPageToken(); token == "" {
					break
				}
			}
			if got != c.want {
				t.Errorf("from %d, newest first %t: %q, want %q", c.from, c.newest, got, c.want)
			}
		}
	})
	t.Run("messages up to after_seq stay", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.User("2", "two"), e2e.User("3", "three"))
		req := replacing("", e2e.User("", "new"))
		req.AfterSeq = 2
		e2e.Must(h.ReplaceMessages(h.Ctx, req))(t)
		if got := listed(visible(t, h)); !slices.Equal(got, []string{"one", "two", "new"}) {
			t.Errorf("now %v", got)
		}
	})
	t.Run("an original that differs is recorded anew, and the call of a result that stays is found", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		first := e2e.User("", "one")
		first.Original = &memoryv1.Original{Format: "x", Data: []byte("a")}
		h.RecordTurn(t, "s", first, e2e.ToolCall("2", "call-1", "weather", "{}"), e2e.Assistant("3", "three"))
		first.Original.Data = []byte("b")
		r := e2e.Must(h.ReplaceMessages(h.Ctx, replacing("", first, e2e.ToolCall("2", "call-1", "weather", "{}"), e2e.ToolResult("", "call-1", "sunny"))))(t)
		if r.GetKept() != 0 || len(r.GetFindings()) != 0 {
			t.Errorf("kept %d, findings %v", r.GetKept(), r.GetFindings())
		}
		list := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", IncludeOriginal: true}))(t)
		if got := list.GetMessages(); len(got) != 3 || string(got[0].GetOriginal().GetData()) != "b" {
			t.Errorf("now %v", got)
		}
	})
	t.Run("bad requests are refused", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		_, err := h.ReplaceMessages(h.Ctx, replacing(""))
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		req := replacing("")
		req.AfterSeq = -1
		_, err = h.ReplaceMessages(h.Ctx, req)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "after_seq")
		h.RecordTurn(t, "s", e2e.User("1", "one"))
		before := listed(visible(t, h))
		_, err = h.ReplaceMessages(h.Ctx, replacing("", e2e.User("2", "two"), e2e.User("", "")))
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "messages[1]")
		if got := listed(visible(t, h)); !slices.Equal(got, before) {
			t.Errorf("now %v", got)
		}
	})
}
