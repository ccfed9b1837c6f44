package erasure_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// shown is all that a caller can see of ada: every list, search and context.
func shown(t *testing.T, h *e2e.Server) string {
	t.Helper()
	var b strings.Builder
	for _, session := range e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}))(t).GetSessions() {
		b.WriteString(prototext.Format(session))
		for _, m := range h.Transcript(t, session.GetSessionId()) {
			b.WriteString(prototext.Format(m))
		}
		b.WriteString(h.Context(t, &memoryv1.BuildContextRequest{SessionId: session.GetSessionId(), Query: "castle", Render: memoryv1.Render_RENDER_TEXT}).String())
	}
	for _, text := range h.Told(t) {
		b.WriteString(text)
	}
	facts := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: true}))(t)
	for _, f := range facts.GetFacts() {
		b.WriteString(prototext.Format(f))
		b.WriteString(prototext.Format(e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "ada", FactId: f.GetFactId()}))(t)))
	}
	for _, query := range []string{e2e.HiddenCastle, "castle"} {
		b.WriteString(prototext.Format(e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query}))(t)))
		b.WriteString(prototext.Format(e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: query}))(t)))
	}
	return b.String()
}

func TestErasureOfMessages(t *testing.T) {
	t.Parallel()
	t.Run("takes them out of lists, contexts, searches, facts and summaries at once, and leaves the rest", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange).Again(t, e2e.Hanging(t))
		if !strings.Contains(shown(t, h), e2e.HiddenCastle) {
			t.Fatal("nothing shows the castle before")
		}
		reply := e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "old", MessageIds: []string{"s"}}))(t)
		if job := reply.GetJob(); job.GetErasure().GetMessages() != 1 || job.GetFromSeq() != 3 || job.GetSessionId() != "old" {
			t.Errorf("the job is %v", job)
		}
		shown := shown(t, h)
		if strings.Contains(shown, e2e.HiddenCastle) {
			t.Errorf("still shown:\n%s", shown)
		}
		if !strings.Contains(shown, e2e.ShownCastle) {
			t.Error("what was not erased is gone too")
		}
		if got := messageSeqs(h.Transcript(t, "old")); !slices.Equal(got, []int64{1, 2, 4}) {
			t.Errorf("listed seqs %v", got)
		}
	})
	t.Run("summaries are written anew from what is left", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "old", MessageIds: []string{"s"}}))(t)
		h.Tell(t, "summaries of what is left", e2e.ShownCastle)
		h.Untold(t, "after the rebuild", e2e.HiddenCastle)
	})
	t.Run("takes a call and its result together, so that what is left is a whole conversation", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("u", "What is the weather?"), e2e.ToolCall("c", "call-1", "weather", "{}"), e2e.ToolResult("r", "call-1", "sunny"), e2e.Assistant("a", "Sunny."))
		extent := e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", Oldest: 2, ValidateOnly: true}))(t).GetExtent()
		if extent.GetMessages() != 3 || len(h.Transcript(t, "s")) != 4 {
			t.Errorf("would take %v, and %d are left", extent, len(h.Transcript(t, "s")))
		}
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"r"}}))(t)
		if got := e2e.MessageIDs(h.Transcript(t, "s")); !slices.Equal(got, []string{"u", "a"}) {
			t.Errorf("left are %v", got)
		}
	})
	t.Run("chooses the oldest, those before a seq, or all", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for name, of := range map[string]struct {
			req  *memoryv1.DeleteMessagesRequest
			left []int64
		}{
			"oldest":     {&memoryv1.DeleteMessagesRequest{Oldest: 2}, []int64{3, 4}},
			"more":       {&memoryv1.DeleteMessagesRequest{Oldest: 20}, nil},
			"before_seq": {&memoryv1.DeleteMessagesRequest{BeforeSeq: 4}, []int64{4}},
			"all":        {&memoryv1.DeleteMessagesRequest{All: true}, nil},
		} {
			h.RecordTurn(t, name, e2e.User("1", "one"), e2e.Assistant("2", "two"), e2e.User("3", "three"), e2e.Assistant("4", "four"))
			of.req.UserId, of.req.SessionId = "ada", name
			e2e.Must(h.DeleteMessages(h.Ctx, of.req))(t)
			if got := messageSeqs(h.Transcript(t, name)); !slices.Equal(got, of.left) {
				t.Errorf("%s: left are %v", name, got)
			}
			if r := h.RecordTurn(t, name, e2e.User("5", "five")); r.GetFirstSeq() != 5 {
				t.Errorf("%s: the next message has seq %d", name, r.GetFirstSeq())
			}
		}
	})
	t.Run("a message that is sent again stays erased", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.Assistant("2", "two"))
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"1"}}))(t)
		r := h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.Assistant("2", "two"), e2e.User("3", "three"))
		if got := e2e.MessageIDs(h.Transcript(t, "s")); !slices.Equal(got, []string{"2", "3"}) || len(r.GetDeduplicatedIds()) != 2 {
			t.Errorf("listed are %v, deduplicated %v", got, r.GetDeduplicatedIds())
		}
	})
	t.Run("a repeated request_id erases nothing of what was recorded since, and is refused with another body", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"))
		req := &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", All: true, RequestId: "r", Wait: e2e.LongWait}
		first := e2e.Must(h.DeleteMessages(h.Ctx, req))(t).GetJob()
		h.RecordTurn(t, "s", e2e.User("2", "two"))
		again := e2e.Must(h.DeleteMessages(h.Ctx, req))(t).GetJob()
		if got := e2e.MessageIDs(h.Transcript(t, "s")); !slices.Equal(got, []string{"2"}) || first.GetJobId() != again.GetJobId() {
			t.Errorf("left are %v; jobs %s and %s", got, first.GetJobId(), again.GetJobId())
		}
		_, err := h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", Oldest: 1, RequestId: "r"})
		e2e.Refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
	})
	t.Run("what cannot be meant is refused with the field, and nothing is erased", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"))
		for field, req := range map[string]*memoryv1.DeleteMessagesRequest{
			"message_ids":    {UserId: "ada", SessionId: "s"},
			"message_ids[1]": {UserId: "ada", SessionId: "s", MessageIds: []string{"1", ""}},
			"oldest":         {UserId: "ada", SessionId: "s", Oldest: -1},
			"before_seq":     {UserId: "ada", SessionId: "s", BeforeSeq: -1},
			"session_id":     {UserId: "ada", All: true},
			"wait":           {UserId: "ada", SessionId: "s", All: true, Wait: durationpb.New(-1)},
			"request_id":     {UserId: "ada", SessionId: "s", All: true, RequestId: "\n"},
		} {
			_, err := h.DeleteMessages(h.Ctx, req)
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", field)
		}
		_, err := h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", MessageIds: []string{"1", "9"}})
		e2e.Refused(t, err, codes.NotFound, "MESSAGE_NOT_FOUND", "")
		_, err = h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "t", All: true})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "eve", SessionId: "s", All: true})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		if len(h.Transcript(t, "s")) != 1 {
			t.Error("the message is gone")
		}
	})
	t.Run("pages pass over places of erased messages", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		var all []*memoryv1.Message
		for i := range 250 {
			all = append(all, e2e.User(fmt.Sprint(i+1), "words"))
		}
		h.RecordTurn(t, "s", all...)
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s", BeforeSeq: 240}))(t)
		for _, newest := range []bool{false, true} {
			page := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 5, NewestFirst: newest}))(t)
			rest := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{
				UserId: "ada", SessionId: "s", PageSize: 100, NewestFirst: newest, PageToken: page.GetNextPageToken(),
			}))(t)
			if len(page.GetMessages()) != 5 || len(rest.GetMessages()) != 6 || rest.GetNextPageToken() != "" {
				t.Errorf("pages of %d and %d", len(page.GetMessages()), len(rest.GetMessages()))
			}
		}
	})
}

func TestPopMessages(t *testing.T) {
	t.Parallel()
	pop := func(t *testing.T, h *e2e.Server, n int32) []string {
		t.Helper()
		return e2e.MessageIDs(e2e.Must(h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", Count: n}))(t).GetMessages())
	}
	t.Run("returns exactly the newest in their order, and their ids may be recorded again with another body", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.ToolCall("2", "call-1", "weather", "{}"), e2e.ToolResult("3", "call-1", "sunny"), e2e.Assistant("4", "four"))
		if got := pop(t, h, 2); !slices.Equal(got, []string{"3", "4"}) {
			t.Errorf("took %v", got)
		}
		if text := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: memoryv1.Render_RENDER_OPENAI}).GetRendering(); strings.Contains(text, "call-1") {
			t.Errorf("the call without its result is rendered: %s", text)
		}
		r := h.RecordTurn(t, "s", e2e.User("4", "other words"))
		if got := e2e.MessageIDs(h.Transcript(t, "s")); !slices.Equal(got, []string{"1", "2", "4"}) || r.GetFirstSeq() != 5 {
			t.Errorf("listed are %v, the new one has seq %d", got, r.GetFirstSeq())
		}
		if got := pop(t, h, 0); !slices.Equal(got, []string{"4"}) {
			t.Errorf("one by default: took %v", got)
		}
		if got := pop(t, h, 100); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("all that is left: took %v", got)
		}
		if got := pop(t, h, 1); len(got) != 0 {
			t.Errorf("of nothing it took %v", got)
		}
	})
	t.Run("of calls at once, beside calls that record, each takes others and none is lost", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		const writers, each = 4, 25
		var all sync.WaitGroup
		var mu sync.Mutex
		var taken []string
		for w := range writers {
			all.Go(func() {
				for i := range each {
					req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User(fmt.Sprintf("%d-%d", w, i), "words")}}
					if _, err := h.Record(h.Ctx, req); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for range each {
					reply, err := h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", Count: 2})
					if err != nil {
						continue // no session yet, or others were faster: nothing was taken
					}
					mu.Lock()
					taken = append(taken, e2e.MessageIDs(reply.GetMessages())...)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		left := append(taken, e2e.MessageIDs(h.Transcript(t, "s"))...)
		slices.Sort(left)
		if got := slices.Compact(slices.Clone(left)); len(left) != writers*each || len(got) != len(left) {
			t.Errorf("%d taken or left, %d of them once, of %d", len(left), len(got), writers*each)
		}
	})
	t.Run("a repeated request_id takes nothing more", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("1", "one"), e2e.User("2", "two"))
		req := &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", RequestId: "r"}
		first, again := e2e.Must(h.PopMessages(h.Ctx, req))(t), e2e.Must(h.PopMessages(h.Ctx, req))(t)
		if first.GetReplayed() || !again.GetReplayed() || len(again.GetMessages()) != 0 || len(h.Transcript(t, "s")) != 1 {
			t.Errorf("first %v, again %v", first, again)
		}
	})
	t.Run("more than a reply holds is refused, and nothing is taken", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		for i := range 5 {
			h.RecordTurn(t, "s", e2e.User(fmt.Sprint(i), strings.Repeat("word ", 200_000)))
		}
		_, err := h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", Count: 5})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "count")
		_, err = h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", Count: 1001})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "count")
		if got := pop(t, h, 3); len(got) != 3 {
			t.Errorf("took %v", got)
		}
	})
}

func TestErasureOfSessionsAndUsers(t *testing.T) {
	t.Parallel()
	t.Run("a deleted session is in nothing at once, and its id begins again at seq 1", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		h.RecordTurn(t, "other", e2e.User("o", "I play the cello."))
		req := &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: "old", RequestId: "r"}
		first := e2e.Must(h.DeleteSession(h.Ctx, req))(t).GetJob()
		shown := shown(t, h)
		if strings.Contains(shown, e2e.HiddenCastle) || strings.Contains(shown, e2e.ShownCastle) || !strings.Contains(shown, "cello") {
			t.Errorf("shown is:\n%s", shown)
		}
		_, err := h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "old"})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: "old"})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		if r := h.RecordTurn(t, "old", e2e.User("k", "A new beginning.")); r.GetFirstSeq() != 1 {
			t.Errorf("begins at seq %d", r.GetFirstSeq())
		}
		again := e2e.Must(h.DeleteSession(h.Ctx, req))(t).GetJob()
		if len(h.Transcript(t, "old")) != 1 || again.GetJobId() != first.GetJobId() {
			t.Error("the repeated call erased the new session")
		}
	})
	t.Run("an erased user is in nothing at once, comes back at seq 1, and a repeated request_id leaves the new life", func(t *testing.T) {
		t.Parallel()
		h := e2e.Castles(t, e2e.NoChange)
		for _, key := range []string{"wish", "list"} {
			e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
				UserId: "ada", Namespace: []string{"notes"}, Key: key, ValueJson: `{"text": "A canoe"}`,
			}}))(t)
		}
		extent := e2e.Must(h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada", ValidateOnly: true}))(t).GetExtent()
		if extent.GetSessions() != 1 || extent.GetMessages() != 4 || extent.GetDocuments() != 2 {
			t.Errorf("would take %v", extent)
		}
		req := &memoryv1.EraseUserRequest{UserId: "ada", RequestId: "r", Wait: e2e.LongWait}
		job := e2e.Must(h.Users().EraseUser(h.Ctx, req))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED || len(job.GetErasure().GetStores()) == 0 || job.GetUserId() != "ada" {
			t.Errorf("after the wait the job is %v", job)
		}
		for _, r := range job.GetErasure().GetStores() {
			if r.GetFound() == 0 || r.GetDeleted() != r.GetFound() || r.GetRemaining() != 0 || r.GetPurgedBy() != memoryv1.PurgedBy_PURGED_BY_SWEEP {
				t.Errorf("the receipt says %v", r)
			}
		}
		_, err := h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "ada"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		_, err = h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		if r := h.RecordTurn(t, "old", e2e.User("k", "I am back.")); r.GetFirstSeq() != 1 {
			t.Errorf("comes back at seq %d", r.GetFirstSeq())
		}
		if again := e2e.Must(h.Users().EraseUser(h.Ctx, req))(t).GetJob(); again.GetJobId() != job.GetJobId() || len(h.Transcript(t, "old")) != 1 {
			t.Error("the repeated call erased the new life")
		}
		if shown := shown(t, h); strings.Contains(shown, e2e.HiddenCastle) || strings.Contains(shown, e2e.ShownCastle) {
			t.Errorf("the new life shows the old one:\n%s", shown)
		}
	})
	t.Run("erasures are jobs: listed among others in the order of time, found by who was erased, and final once", func(t *testing.T) {
		t.Parallel()
		h := e2e.StartOn(t, t.TempDir()+"/strata.db", func(*config.Config) {})
		h.RecordTurn(t, "s", e2e.User("1", "My brother Hugo lives in Bergen."), e2e.Assistant("2", "Nice."))
		wait := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
		if !wait.GetReached() {
			t.Fatal("not extracted")
		}
		var erased []string
		for range 3 {
			h.RecordTurn(t, "s", e2e.User("", "words"))
			erased = append(erased, e2e.Must(h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s", Wait: e2e.LongWait}))(t).GetJob().GetJobId())
		}
		slices.Reverse(erased)
		states := []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_APPLIED}
		var listed []*memoryv1.Job
		for token := ""; ; {
			page := e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: "ada", States: states, PageSize: 1, PageToken: token}))(t)
			listed = append(listed, page.GetJobs()...)
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		var got []string
		kinds := map[memoryv1.JobKind]bool{}
		for i, j := range listed {
			if kinds[j.GetKind()] = true; j.GetKind() == memoryv1.JobKind_JOB_KIND_ERASE {
				got = append(got, j.GetJobId())
			}
			if i > 0 && j.GetCreateTime().AsTime().After(listed[i-1].GetCreateTime().AsTime()) {
				t.Error("not the latest first")
			}
		}
		if !slices.Equal(got, erased) || !kinds[memoryv1.JobKind_JOB_KIND_EXTRACT] {
			t.Errorf("listed %v of %v", got, erased)
		}
		job := e2e.Must(h.Work().GetJob(h.Ctx, &memoryv1.GetJobRequest{UserId: "ada", JobId: erased[0], Wait: e2e.LongWait}))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED || job.GetSessionId() != "s" {
			t.Errorf("the job is %v", job)
		}
		_, err := h.Work().GetJob(h.Ctx, &memoryv1.GetJobRequest{UserId: "eve", JobId: erased[0]})
		e2e.Refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
		_, err = h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: erased[0]})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		_, err = h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: erased[0]})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_SKIPPABLE", "")
		_, err = h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "ada", JobId: erased[0]})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_REVERTIBLE", "")
	})
}

func messageSeqs(messages []*memoryv1.Message) (all []int64) {
	for _, m := range messages {
		all = append(all, m.GetSeq())
	}
	return all
}
