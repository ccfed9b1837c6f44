package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// visible is what an agent reads before it replaces the messages.
func visible(t *testing.T, h *harness) *memoryv1.ListMessagesResponse {
	t.Helper()
	return must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", VisibleOnly: true}))(t)
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
		h := start(t)
		h.recordTurn(t, "s", user("1", "one"), assistant("2", "two"), user("3", "three"), assistant("4", "four"))
		r := must(h.ReplaceMessages(h.ctx, replacing("", user("", "one"), user("", "three"), assistant("4", "other words"), user("", "five"))))(t)
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
		again := must(h.ReplaceMessages(h.ctx, replacing(r.GetEtag(), list.GetMessages()...)))(t)
		if again.GetKept() != 4 || again.GetJob() != nil || again.GetEtag() != r.GetEtag() {
			t.Errorf("the same list again: %v", again)
		}
	})
	t.Run("a list that changed since it was read is refused, and nothing is changed", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		h.recordTurn(t, "s", user("1", "one"), user("2", "two"), user("3", "three"))
		changes := map[string]func(){
			"recorded": func() { h.recordTurn(t, "s", user("", "four")) },
			"popped":   func() { must(h.PopMessages(h.ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s"}))(t) },
			"hidden":   func() { h.hide(t, "s", "1", true) },
			"shown":    func() { h.hide(t, "s", "1", false) },
		}
		for _, what := range []string{"recorded", "popped", "hidden", "shown"} {
			etag := visible(t, h).GetEtag()
			changes[what]()
			before := listed(visible(t, h))
			_, err := h.ReplaceMessages(h.ctx, replacing(etag, user("", "new")))
			refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
			if got := listed(visible(t, h)); !slices.Equal(got, before) {
				t.Errorf("%s: now %v", what, got)
			}
		}
	})
	t.Run("of calls at once by one etag one gets through, and nothing of the others is there", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		h.recordTurn(t, "s", user("1", "one"), user("2", "two"))
		etag := visible(t, h).GetEtag()
		var all sync.WaitGroup
		var mu sync.Mutex
		won := []string{}
		for i := range 8 {
			all.Go(func() {
				text := fmt.Sprint("of ", i)
				_, err := h.ReplaceMessages(h.ctx, replacing(etag, user("", "one"), user("2", text)))
				if err == nil {
					mu.Lock()
					won = append(won, "one", text)
					mu.Unlock()
					return
				}
				refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
			})
		}
		all.Wait()
		if got := listed(visible(t, h)); !slices.Equal(got, won) {
			t.Errorf("the list is %v, those that got through wrote %v", got, won)
		}
	})
	t.Run("a repeated request_id changes nothing, whatever was recorded since", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		for _, text := range []string{"one", "two"} { // of a new session, and of one that is there
			req := replacing("", user("", text))
			req.RequestId = "r " + text
			if first := must(h.ReplaceMessages(h.ctx, req))(t); first.GetReplayed() || len(first.GetMessageIds()) != 1 {
				t.Errorf("first %v", first)
			}
			h.recordTurn(t, "s", user("", "later"))
			if again := must(h.ReplaceMessages(h.ctx, req))(t); !again.GetReplayed() || len(again.GetMessageIds()) != 0 {
				t.Errorf("again %v", again)
			}
			if got := listed(visible(t, h)); !slices.Equal(got, []string{text, "later"}) {
				t.Errorf("now %v", got)
			}
			req.Messages[0].Text = "another body"
			_, err := h.ReplaceMessages(h.ctx, req)
			refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
		}
	})
	t.Run("hidden messages stay, and pages of visible ones are full and end where nothing visible follows", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		var all []*memoryv1.Message
		for i := range 130 {
			m := user(fmt.Sprint(i+1), fmt.Sprint("words ", i+1))
			m.Hidden = i%10 != 4 // 5, 15, … are shown
			all = append(all, m)
		}
		h.recordTurn(t, "s", all...)
		for _, newest := range []bool{false, true} {
			var pages []int
			for token := ""; ; {
				page := must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{
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
		h.startAt(t, "s", 50)
		if got := messageIDs(visible(t, h).GetMessages()); len(got) != 8 || got[0] != "55" {
			t.Errorf("from the context start on: %v", got)
		}
		must(h.ReplaceMessages(h.ctx, replacing("")))(t)
		if left := h.transcript(t, "s"); len(visible(t, h).GetMessages()) != 0 || len(left) != 130-8 {
			t.Errorf("%d are left", len(left))
		}
	})
	t.Run("a list begins at a seq, in either order, and its pages go on from there", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		var all []*memoryv1.Message
		for i := range 9 {
			all = append(all, user(fmt.Sprint(i+1), fmt.Sprint("words ", i+1)))
		}
		h.recordTurn(t, "s", all...)
		must(h.DeleteMessages(h.ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"6"}}))(t)
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
				page := must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{
					UserId: "ada", SessionId: "s", PageSize: 2, NewestFirst: c.newest, FromSeq: c.from, PageToken: token,
				}))(t)
				got += strings.Join(messageIDs(page.GetMessages()), "")
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
		h := start(t)
		h.recordTurn(t, "s", user("1", "one"), user("2", "two"), user("3", "three"))
		req := replacing("", user("", "new"))
		req.AfterSeq = 2
		must(h.ReplaceMessages(h.ctx, req))(t)
		if got := listed(visible(t, h)); !slices.Equal(got, []string{"one", "two", "new"}) {
			t.Errorf("now %v", got)
		}
	})
	t.Run("an original that differs is recorded anew, and the call of a result that stays is found", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		first := user("", "one")
		first.Original = &memoryv1.Original{Format: "x", Data: []byte("a")}
		h.recordTurn(t, "s", first, toolCall("2", "call-1", "weather", "{}"), assistant("3", "three"))
		first.Original.Data = []byte("b")
		r := must(h.ReplaceMessages(h.ctx, replacing("", first, toolCall("2", "call-1", "weather", "{}"), toolResult("", "call-1", "sunny"))))(t)
		if r.GetKept() != 0 || len(r.GetFindings()) != 0 {
			t.Errorf("kept %d, findings %v", r.GetKept(), r.GetFindings())
		}
		list := must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", IncludeOriginal: true}))(t)
		if got := list.GetMessages(); len(got) != 3 || string(got[0].GetOriginal().GetData()) != "b" {
			t.Errorf("now %v", got)
		}
	})
	t.Run("bad requests are refused", func(t *testing.T) {
		t.Parallel()
		h := start(t)
		_, err := h.ReplaceMessages(h.ctx, replacing(""))
		refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		req := replacing("")
		req.AfterSeq = -1
		_, err = h.ReplaceMessages(h.ctx, req)
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "after_seq")
		h.recordTurn(t, "s", user("1", "one"))
		before := listed(visible(t, h))
		_, err = h.ReplaceMessages(h.ctx, replacing("", user("2", "two"), user("", "")))
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "messages[1]")
		if got := listed(visible(t, h)); !slices.Equal(got, before) {
			t.Errorf("now %v", got)
		}
	})
}
