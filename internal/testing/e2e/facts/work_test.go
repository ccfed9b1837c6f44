package facts_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestWork(t *testing.T) {
	t.Parallel()
	t.Run("a wait ends when messages are indexed and facts learnt", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("", "I live in Rome."))
		r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
		if w := r.GetWatermarks(); !r.GetReached() || w.GetRecorded() != 1 || w.GetIndexed() != 1 || w.GetExtracted() != 1 || r.GetParkedJobId() != "" {
			t.Errorf("waited %v", r)
		}
	})
	t.Run("a wait for what does not happen ends with its timeout", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("", "I live in Rome."))
		r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: "s", MinSeq: 9, Timeout: durationpb.New(10 * time.Millisecond),
		}))(t)
		if r.GetReached() || r.GetWatermarks().GetRecorded() != 1 {
			t.Errorf("waited %v", r)
		}
	})
	t.Run("a wait is answered within the server's and the client's deadline", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("", "I live in Rome.")) // by a server that gives it all the time it takes
		h.Stop()
		h = e2e.StartOn(t, h.Data, func(c *config.Config) { c.RequestTimeout = time.Second })
		req := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", MinSeq: 9, Timeout: durationpb.New(time.Hour)}
		for _, deadline := range []time.Duration{time.Minute, 500 * time.Millisecond} {
			r := e2e.InTime(h.Ctx, t, deadline, func(ctx context.Context) (*memoryv1.WaitForWatermarkResponse, error) {
				return h.Work().WaitForWatermark(ctx, req)
			})
			if r.GetReached() {
				t.Errorf("waited %v", r)
			}
		}
	})
	t.Run("an unknown session is NOT_FOUND", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordAs(t, "ada")
		_, err := h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "none"})
		e2e.Refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "eve", SessionId: "s"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("every service reports its health by name", func(t *testing.T) {
		h := e2e.Start(t)
		for _, name := range []string{"FactService", "SummaryService", "UserService", "WorkService", "MaintenanceService"} {
			e2e.Eventually(t, name+" serving", func() bool {
				r, err := healthv1.NewHealthClient(h.Conn).Check(h.Ctx, &healthv1.HealthCheckRequest{Service: "memory.v1." + name})
				return err == nil && r.GetStatus() == healthv1.HealthCheckResponse_SERVING
			})
		}
	})
	t.Run("the health of a service that is none is not found", func(t *testing.T) {
		_, err := healthv1.NewHealthClient(e2e.Start(t).Conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "memory.v1.NoService"})
		if status.Code(err) != codes.NotFound {
			t.Error(err)
		}
	})
	t.Run("jobs that are done are listed on request, with what they were about", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		if open := h.Jobs(t); len(open) != 0 {
			t.Errorf("open jobs %v", open)
		}
		done := h.Jobs(t, e2e.Applied)
		if len(done) != 1 || done[0].GetKind() != memoryv1.JobKind_JOB_KIND_EXTRACT || done[0].GetSessionId() != "s" || done[0].GetFromSeq() != 1 || done[0].GetToSeq() != 2 || done[0].GetGeneration() != 1 {
			t.Errorf("jobs %v", done)
		}
	})
	t.Run("jobs come in pages, and of another user there are none", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		h.Learn(t, "s2", "I work at Initech.")
		h.RecordAs(t, "eve")
		req := &memoryv1.ListJobsRequest{UserId: "ada", States: []memoryv1.JobState{e2e.Applied}, PageSize: 1}
		first := e2e.Must(h.Work().ListJobs(h.Ctx, req))(t)
		req.PageToken = first.GetNextPageToken()
		second := e2e.Must(h.Work().ListJobs(h.Ctx, req))(t)
		if len(first.GetJobs()) != 1 || len(second.GetJobs()) != 1 || first.GetJobs()[0].GetJobId() == second.GetJobs()[0].GetJobId() || second.GetNextPageToken() != "" {
			t.Errorf("first %v\nsecond %v", first, second)
		}
		req.UserId = "eve"
		_, err := h.Work().ListJobs(h.Ctx, req)
		e2e.Refused(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID", "page_token")
		req.PageToken = ""
		if r := e2e.Must(h.Work().ListJobs(h.Ctx, req))(t); len(r.GetJobs()) != 0 {
			t.Errorf("eve's jobs %v", r)
		}
	})
	t.Run("a job that is done can neither be retried nor skipped, and another user's is NOT_FOUND", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		h.RecordAs(t, "eve")
		id := h.Jobs(t, e2e.Applied)[0].GetJobId()
		_, err := h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: id})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		_, err = h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: id})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		_, err = h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "eve", JobId: id})
		e2e.Refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
		_, err = h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "eve", JobId: id})
		e2e.Refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
	})
	t.Run("bad input names its field", func(t *testing.T) {
		h := e2e.Start(t)
		for name, row := range map[string]struct {
			call  func() error
			field string
		}{
			"an unknown watermark": {func() error {
				_, err := h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{1, 9}})
				return err
			}, "of[1]"},
			"a negative seq": {func() error {
				_, err := h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", MinSeq: -1})
				return err
			}, "min_seq"},
			"a negative timeout": {func() error {
				_, err := h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: durationpb.New(-1)})
				return err
			}, "timeout"},
			"a session without its user": {func() error {
				_, err := h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{SessionId: "s"})
				return err
			}, "user_id"},
			"a kind that is not set": {func() error {
				_, err := h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{Kinds: []memoryv1.JobKind{0}})
				return err
			}, "kinds[0]"},
			"an unknown state": {func() error {
				_, err := h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{States: []memoryv1.JobState{9}})
				return err
			}, "states[0]"},
			"new vectors of no model": {func() error {
				_, err := h.Maintenance().Reembed(h.Ctx, &memoryv1.ReembedRequest{})
				return err
			}, "model"},
			"vectors of too many numbers": {func() error {
				_, err := h.Maintenance().Reembed(h.Ctx, &memoryv1.ReembedRequest{Model: "m", Dimension: 20000})
				return err
			}, "dimension"},
			"a retry without a job": {func() error { _, err := h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada"}); return err }, "job_id"},
			"a skip without a user": {func() error { _, err := h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{JobId: "j"}); return err }, "user_id"},
		} {
			t.Run(name, func(t *testing.T) { e2e.Refused(t, row.call(), codes.InvalidArgument, "FIELD_INVALID", row.field) })
		}
	})
}

func TestAProfileSetsTheLanguageOfFacts(t *testing.T) {
	t.Parallel()
	systems := make(chan string, 8)
	model := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		systems <- r.System
		return llmtest.Say(`{"operations":[{"op":"add","text":"Wohnt in Lissabon","category":"personal_info","significance":8,"confidence":0.9,` +
			`"subject":"","attribute":"home_city","tags":[],"message":"m1","quote":"I live in Lisbon","supersedes":"","valid_from":""}]}`)
	}})
	t.Cleanup(model.Close)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.ExtractionModel = model.URL(), "scripted"
		p := c.Profiles["default"]
		p.Extraction.Language = "de"
		c.Profiles["default"] = p
	})
	h.RecordTurn(t, "s", e2e.User("", "I live in Lisbon"), e2e.Assistant("", "A fine city."))
	h.CatchUp(t, "s")
	if system := <-systems; !strings.Contains(system, "BCP 47 tag de") {
		t.Errorf("the prompt does not ask for German: %s", system)
	}
	facts := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada"}))(t).GetFacts()
	if len(facts) != 1 || facts[0].GetText() != "Wohnt in Lissabon" || facts[0].GetLanguage() != "de" ||
		facts[0].GetEvidence()[0].GetQuote() != "I live in Lisbon" {
		t.Errorf("facts %v", facts)
	}
}

func TestConsentWhileTheModelIsAsked(t *testing.T) {
	t.Parallel()
	none := memoryv1.ExtractMode_EXTRACT_MODE_NONE
	for name, forbid := range map[string]func(h *e2e.Server) error{
		"user": func(h *e2e.Server) error {
			_, err := h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "ada", Extract: none}})
			return err
		},
		"session": func(h *e2e.Server) error {
			_, err := h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "ada", SessionId: "s", Extract: none}})
			return err
		},
		"message": func(h *e2e.Server) error {
			_, err := h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{
				UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: "m", Extract: none},
			})
			return err
		},
	} {
		t.Run("extract NONE on the "+name+" that is acknowledged before the answer comes keeps its fact from being stored", func(t *testing.T) {
			var h *e2e.Server
			h = e2e.Scripted(t, func(llmtest.Request) llmtest.Reply {
				if err := forbid(h); err != nil {
					t.Error(err)
				}
				return e2e.LivesIn("Rome", "I live in Rome")
			})
			h.RecordTurn(t, "s", e2e.User("m", "I live in Rome."), e2e.Assistant("", "I see."))
			e2e.Eventually(t, "the job is skipped", func() bool {
				jobs := h.Jobs(t, memoryv1.JobState_JOB_STATE_SKIPPED)
				return len(jobs) == 1 && jobs[0].GetReason() == "extract_none" && jobs[0].GetModelCalls() == 1
			})
			if got := h.ListFacts(t, true); len(got) != 0 {
				t.Errorf("facts %v", got)
			}
		})
	}
}

func TestParkedJobs(t *testing.T) {
	t.Parallel()
	// parked serves with a model that refuses its key once, and has the extraction of what ada said parked.
	parked := func(t *testing.T) (h *e2e.Server, id string) {
		var asked atomic.Int32
		h = e2e.Scripted(t, func(llmtest.Request) llmtest.Reply {
			if asked.Add(1) == 1 {
				return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "no such key"})
			}
			return e2e.LivesIn("Rome", "I live in Rome")
		})
		h.RecordTurn(t, "s", e2e.User("", "I live in Rome."), e2e.Assistant("", "I see."))
		r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
		jobs := h.Jobs(t)
		if r.GetReached() || len(jobs) != 1 || r.GetParkedJobId() != jobs[0].GetJobId() || jobs[0].GetState() != memoryv1.JobState_JOB_STATE_PARKED || !strings.Contains(jobs[0].GetReason(), "401") {
			t.Fatalf("waited %v, jobs %v", r, jobs)
		}
		return h, jobs[0].GetJobId()
	}
	extracted := func(t *testing.T, h *e2e.Server) {
		req := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}}
		if r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, req))(t); !r.GetReached() {
			t.Fatalf("waited %v", r)
		}
	}
	t.Run("a retry learns what the parked job could not", func(t *testing.T) {
		h, id := parked(t)
		job := e2e.Must(h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: id}))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_OPEN || job.GetAttempts() != 0 {
			t.Errorf("retried %v", job)
		}
		extracted(t, h)
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Lives in Rome"}) {
			t.Errorf("facts %q", got)
		}
		if done := h.Jobs(t, e2e.Applied); len(done) != 1 || done[0].GetModelCalls() != 2 || done[0].GetInputTokens() == 0 || done[0].GetOutputTokens() == 0 {
			t.Errorf("jobs %v", done)
		}
	})
	t.Run("a retry of all learns what a parked job could not, of the reason and kind that are meant", func(t *testing.T) {
		h, id := parked(t)
		reason := h.Jobs(t)[0].GetReason()
		h.RecordAs(t, "eve")
		for name, req := range map[string]*memoryv1.RetryJobsRequest{
			"another reason": {UserId: "ada", Reason: "transient_exhausted"},
			"another kind":   {UserId: "ada", Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_WEEK}},
			"no user's kind": {Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_VERIFY}},
			"another user":   {UserId: "eve"},
		} {
			if got := e2e.Must(h.Work().RetryJobs(h.Ctx, req))(t).GetJobs(); len(got) != 0 {
				t.Errorf("%s: retried %v", name, got)
			}
		}
		retried := e2e.Must(h.Work().RetryJobs(h.Ctx, &memoryv1.RetryJobsRequest{Reason: reason, PageSize: 1}))(t)
		if got := retried.GetJobs(); len(got) != 1 || got[0].GetJobId() != id || got[0].GetState() != memoryv1.JobState_JOB_STATE_OPEN || retried.GetNextPageToken() != "" {
			t.Fatalf("retried %v", retried)
		}
		extracted(t, h)
	})
	t.Run("a skip lets the session go on without it", func(t *testing.T) {
		h, id := parked(t)
		job := e2e.Must(h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: id}))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_SKIPPED {
			t.Errorf("skipped %v", job)
		}
		extracted(t, h)
		if got := h.ListFacts(t, true); len(got) != 0 {
			t.Errorf("facts %v", got)
		}
	})
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	h := e2e.Scripted(t, func(llmtest.Request) llmtest.Reply { return e2e.LivesIn("Paris", "I live in Paris") })
	h.Learn(t, "s", "I live in Rome.")
	h.Learn(t, "s2", "I live in Rome, really.")
	if got := h.ListFacts(t, true); len(got) != 0 {
		t.Errorf("learnt what nobody said: %v", got)
	}
	req := &memoryv1.ListQuarantinedRequest{UserId: "ada", PageSize: 1}
	first := e2e.Must(h.Facts().ListQuarantined(h.Ctx, req))(t)
	req.PageToken = first.GetNextPageToken()
	second := e2e.Must(h.Facts().ListQuarantined(h.Ctx, req))(t)
	if len(first.GetOperations()) != 1 || len(second.GetOperations()) != 1 || second.GetNextPageToken() != "" {
		t.Fatalf("first %v\nsecond %v", first, second)
	}
	op := first.GetOperations()[0]
	if op.GetReason() != "quote_not_found" || op.GetSessionId() != "s2" || op.GetModel() != "scripted" || !strings.Contains(op.GetOperation(), "Paris") || op.GetCreateTime() == nil {
		t.Errorf("quarantined %v", op)
	}
}

func TestReembed(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	model := llmtest.New(llmtest.Options{Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		if slices.Contains(r.Texts, "Likes tea") {
			return llmtest.EmbedReply{Delays: llmtest.Delays{Hold: hold}}
		}
		return llmtest.EmbedReply{}
	}})
	t.Cleanup(model.Close)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.EmbeddingBaseURL = model.URL() })
	h.States(t, "Likes tea", "")
	job := e2e.Must(h.Maintenance().Reembed(h.Ctx, &memoryv1.ReembedRequest{Model: "scripted"}))(t).GetJob()
	reembed := memoryv1.JobKind_JOB_KIND_REEMBED
	if job.GetKind() != reembed || job.GetState() != memoryv1.JobState_JOB_STATE_OPEN || job.GetUserId() != "" || job.GetTotal() != 1 || job.GetDone() != 0 {
		t.Errorf("job %v", job)
	}
	list := func(req *memoryv1.ListJobsRequest) (ids []string) {
		for _, j := range e2e.Must(h.Work().ListJobs(h.Ctx, req))(t).GetJobs() {
			ids = append(ids, j.GetJobId())
		}
		return ids
	}
	t.Run("stands in the list of all users' jobs and of its kind, not in a user's", func(t *testing.T) {
		only := []memoryv1.JobKind{reembed}
		if all, ofKind := list(&memoryv1.ListJobsRequest{}), list(&memoryv1.ListJobsRequest{Kinds: only}); !slices.Contains(all, job.GetJobId()) || !slices.Equal(ofKind, []string{job.GetJobId()}) {
			t.Errorf("all %q, of its kind %q", all, ofKind)
		}
		if of := list(&memoryv1.ListJobsRequest{UserId: "ada", Kinds: only}); len(of) != 0 {
			t.Errorf("ada's %q", of)
		}
		if merges := list(&memoryv1.ListJobsRequest{Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_MERGE}}); len(merges) != 0 {
			t.Errorf("merges %q", merges)
		}
	})
	t.Run("a call for another model is refused while it runs", func(t *testing.T) {
		_, err := h.Maintenance().Reembed(h.Ctx, &memoryv1.ReembedRequest{Model: "other"})
		e2e.Refused(t, err, codes.FailedPrecondition, "REEMBED_RUNNING", "")
	})
	t.Run("serves once it is done, and is gone from the list", func(t *testing.T) {
		close(hold)
		e2e.Eventually(t, "the switch", func() bool {
			r := e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "tea"}))(t)
			return r.GetEmbedder() == "scripted" && len(r.GetHits()) == 1
		})
		if left := list(&memoryv1.ListJobsRequest{}); slices.Contains(left, job.GetJobId()) {
			t.Errorf("jobs %q", left)
		}
	})
}
