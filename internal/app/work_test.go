package app_test

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
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

func TestWork(t *testing.T) {
	t.Parallel()
	t.Run("a wait ends when messages are indexed and facts learnt", func(t *testing.T) {
		h := start(t)
		h.recordTurn(t, "s", user("", "I live in Rome."))
		r := must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: longWait}))(t)
		if w := r.GetWatermarks(); !r.GetReached() || w.GetRecorded() != 1 || w.GetIndexed() != 1 || w.GetExtracted() != 1 || r.GetParkedJobId() != "" {
			t.Errorf("waited %v", r)
		}
	})
	t.Run("a wait for what does not happen ends with its timeout", func(t *testing.T) {
		h := start(t)
		h.recordTurn(t, "s", user("", "I live in Rome."))
		r := must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: "s", MinSeq: 9, Timeout: durationpb.New(10 * time.Millisecond),
		}))(t)
		if r.GetReached() || r.GetWatermarks().GetRecorded() != 1 {
			t.Errorf("waited %v", r)
		}
	})
	t.Run("a wait is answered within the server's and the client's deadline", func(t *testing.T) {
		h := start(t)
		h.recordTurn(t, "s", user("", "I live in Rome.")) // by a server that gives it all the time it takes
		h.stop()
		h = startOn(t, h.data, func(c *config.Config) { c.RequestTimeout = time.Second })
		req := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", MinSeq: 9, Timeout: durationpb.New(time.Hour)}
		for _, deadline := range []time.Duration{time.Minute, 500 * time.Millisecond} {
			r := inTime(h.ctx, t, deadline, func(ctx context.Context) (*memoryv1.WaitForWatermarkResponse, error) {
				return h.work().WaitForWatermark(ctx, req)
			})
			if r.GetReached() {
				t.Errorf("waited %v", r)
			}
		}
	})
	t.Run("an unknown session is NOT_FOUND", func(t *testing.T) {
		h := start(t)
		h.recordAs(t, "ada")
		_, err := h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "none"})
		refused(t, err, codes.NotFound, "SESSION_NOT_FOUND", "")
		_, err = h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "eve", SessionId: "s"})
		refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("every service reports its health by name", func(t *testing.T) {
		h := start(t)
		for _, name := range []string{"FactService", "SummaryService", "UserService", "WorkService", "MaintenanceService"} {
			eventually(t, name+" serving", func() bool {
				r, err := healthv1.NewHealthClient(h.conn).Check(h.ctx, &healthv1.HealthCheckRequest{Service: "memory.v1." + name})
				return err == nil && r.GetStatus() == healthv1.HealthCheckResponse_SERVING
			})
		}
	})
	t.Run("the health of a service that is none is not found", func(t *testing.T) {
		_, err := healthv1.NewHealthClient(start(t).conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: "memory.v1.NoService"})
		if status.Code(err) != codes.NotFound {
			t.Error(err)
		}
	})
	t.Run("jobs that are done are listed on request, with what they were about", func(t *testing.T) {
		h := start(t)
		h.learn(t, "s", "I live in Rome.")
		if open := h.jobs(t); len(open) != 0 {
			t.Errorf("open jobs %v", open)
		}
		done := h.jobs(t, applied)
		if len(done) != 1 || done[0].GetKind() != memoryv1.JobKind_JOB_KIND_EXTRACT || done[0].GetSessionId() != "s" || done[0].GetFromSeq() != 1 || done[0].GetToSeq() != 2 || done[0].GetGeneration() != 1 {
			t.Errorf("jobs %v", done)
		}
	})
	t.Run("jobs come in pages, and of another user there are none", func(t *testing.T) {
		h := start(t)
		h.learn(t, "s", "I live in Rome.")
		h.learn(t, "s2", "I work at Initech.")
		h.recordAs(t, "eve")
		req := &memoryv1.ListJobsRequest{UserId: "ada", States: []memoryv1.JobState{applied}, PageSize: 1}
		first := must(h.work().ListJobs(h.ctx, req))(t)
		req.PageToken = first.GetNextPageToken()
		second := must(h.work().ListJobs(h.ctx, req))(t)
		if len(first.GetJobs()) != 1 || len(second.GetJobs()) != 1 || first.GetJobs()[0].GetJobId() == second.GetJobs()[0].GetJobId() || second.GetNextPageToken() != "" {
			t.Errorf("first %v\nsecond %v", first, second)
		}
		req.UserId = "eve"
		_, err := h.work().ListJobs(h.ctx, req)
		refused(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID", "page_token")
		req.PageToken = ""
		if r := must(h.work().ListJobs(h.ctx, req))(t); len(r.GetJobs()) != 0 {
			t.Errorf("eve's jobs %v", r)
		}
	})
	t.Run("a job that is done can neither be retried nor skipped, and another user's is NOT_FOUND", func(t *testing.T) {
		h := start(t)
		h.learn(t, "s", "I live in Rome.")
		h.recordAs(t, "eve")
		id := h.jobs(t, applied)[0].GetJobId()
		_, err := h.work().RetryJob(h.ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: id})
		refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		_, err = h.work().SkipJob(h.ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: id})
		refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		_, err = h.work().RetryJob(h.ctx, &memoryv1.RetryJobRequest{UserId: "eve", JobId: id})
		refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
		_, err = h.work().SkipJob(h.ctx, &memoryv1.SkipJobRequest{UserId: "eve", JobId: id})
		refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
	})
	t.Run("bad input names its field", func(t *testing.T) {
		h := start(t)
		for name, row := range map[string]struct {
			call  func() error
			field string
		}{
			"an unknown watermark": {func() error {
				_, err := h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{1, 9}})
				return err
			}, "of[1]"},
			"a negative seq": {func() error {
				_, err := h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", MinSeq: -1})
				return err
			}, "min_seq"},
			"a negative timeout": {func() error {
				_, err := h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: durationpb.New(-1)})
				return err
			}, "timeout"},
			"a session without its user": {func() error {
				_, err := h.work().ListJobs(h.ctx, &memoryv1.ListJobsRequest{SessionId: "s"})
				return err
			}, "user_id"},
			"a kind that is not set": {func() error {
				_, err := h.work().ListJobs(h.ctx, &memoryv1.ListJobsRequest{Kinds: []memoryv1.JobKind{0}})
				return err
			}, "kinds[0]"},
			"an unknown state": {func() error {
				_, err := h.work().ListJobs(h.ctx, &memoryv1.ListJobsRequest{States: []memoryv1.JobState{9}})
				return err
			}, "states[0]"},
			"new vectors of no model": {func() error {
				_, err := h.maintenance().Reembed(h.ctx, &memoryv1.ReembedRequest{})
				return err
			}, "model"},
			"vectors of too many numbers": {func() error {
				_, err := h.maintenance().Reembed(h.ctx, &memoryv1.ReembedRequest{Model: "m", Dimension: 20000})
				return err
			}, "dimension"},
			"a retry without a job": {func() error { _, err := h.work().RetryJob(h.ctx, &memoryv1.RetryJobRequest{UserId: "ada"}); return err }, "job_id"},
			"a skip without a user": {func() error { _, err := h.work().SkipJob(h.ctx, &memoryv1.SkipJobRequest{JobId: "j"}); return err }, "user_id"},
		} {
			t.Run(name, func(t *testing.T) { refused(t, row.call(), codes.InvalidArgument, "FIELD_INVALID", row.field) })
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
	h := startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.ExtractionModel = model.URL(), "scripted"
		p := c.Profiles["default"]
		p.Extraction.Language = "de"
		c.Profiles["default"] = p
	})
	h.recordTurn(t, "s", user("", "I live in Lisbon"), assistant("", "A fine city."))
	h.catchUp(t, "s")
	if system := <-systems; !strings.Contains(system, "BCP 47 tag de") {
		t.Errorf("the prompt does not ask for German: %s", system)
	}
	facts := must(h.facts().ListFacts(h.ctx, &memoryv1.ListFactsRequest{UserId: "ada"}))(t).GetFacts()
	if len(facts) != 1 || facts[0].GetText() != "Wohnt in Lissabon" || facts[0].GetLanguage() != "de" ||
		facts[0].GetEvidence()[0].GetQuote() != "I live in Lisbon" {
		t.Errorf("facts %v", facts)
	}
}

func TestConsentWhileTheModelIsAsked(t *testing.T) {
	t.Parallel()
	none := memoryv1.ExtractMode_EXTRACT_MODE_NONE
	for name, forbid := range map[string]func(h *harness) error{
		"user": func(h *harness) error {
			_, err := h.users().UpdateUser(h.ctx, &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "ada", Extract: none}})
			return err
		},
		"session": func(h *harness) error {
			_, err := h.UpdateSession(h.ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "ada", SessionId: "s", Extract: none}})
			return err
		},
		"message": func(h *harness) error {
			_, err := h.UpdateMessage(h.ctx, &memoryv1.UpdateMessageRequest{
				UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: "m", Extract: none},
			})
			return err
		},
	} {
		t.Run("extract NONE on the "+name+" that is acknowledged before the answer comes keeps its fact from being stored", func(t *testing.T) {
			var h *harness
			h = scripted(t, func(llmtest.Request) llmtest.Reply {
				if err := forbid(h); err != nil {
					t.Error(err)
				}
				return livesIn("Rome", "I live in Rome")
			})
			h.recordTurn(t, "s", user("m", "I live in Rome."), assistant("", "I see."))
			eventually(t, "the job is skipped", func() bool {
				jobs := h.jobs(t, memoryv1.JobState_JOB_STATE_SKIPPED)
				return len(jobs) == 1 && jobs[0].GetReason() == "extract_none" && jobs[0].GetModelCalls() == 1
			})
			if got := h.listFacts(t, true); len(got) != 0 {
				t.Errorf("facts %v", got)
			}
		})
	}
}

func TestParkedJobs(t *testing.T) {
	t.Parallel()
	// parked serves with a model that refuses its key once, and has the extraction of what ada said parked.
	parked := func(t *testing.T) (h *harness, id string) {
		var asked atomic.Int32
		h = scripted(t, func(llmtest.Request) llmtest.Reply {
			if asked.Add(1) == 1 {
				return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "no such key"})
			}
			return livesIn("Rome", "I live in Rome")
		})
		h.recordTurn(t, "s", user("", "I live in Rome."), assistant("", "I see."))
		r := must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: longWait}))(t)
		jobs := h.jobs(t)
		if r.GetReached() || len(jobs) != 1 || r.GetParkedJobId() != jobs[0].GetJobId() || jobs[0].GetState() != memoryv1.JobState_JOB_STATE_PARKED || !strings.Contains(jobs[0].GetReason(), "401") {
			t.Fatalf("waited %v, jobs %v", r, jobs)
		}
		return h, jobs[0].GetJobId()
	}
	extracted := func(t *testing.T, h *harness) {
		req := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: longWait, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}}
		if r := must(h.work().WaitForWatermark(h.ctx, req))(t); !r.GetReached() {
			t.Fatalf("waited %v", r)
		}
	}
	t.Run("a retry learns what the parked job could not", func(t *testing.T) {
		h, id := parked(t)
		job := must(h.work().RetryJob(h.ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: id}))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_OPEN || job.GetAttempts() != 0 {
			t.Errorf("retried %v", job)
		}
		extracted(t, h)
		if got := texts(h.listFacts(t, false)); !slices.Equal(got, []string{"Lives in Rome"}) {
			t.Errorf("facts %q", got)
		}
		if done := h.jobs(t, applied); len(done) != 1 || done[0].GetModelCalls() != 2 || done[0].GetInputTokens() == 0 || done[0].GetOutputTokens() == 0 {
			t.Errorf("jobs %v", done)
		}
	})
	t.Run("a retry of all learns what a parked job could not, of the reason and kind that are meant", func(t *testing.T) {
		h, id := parked(t)
		reason := h.jobs(t)[0].GetReason()
		h.recordAs(t, "eve")
		for name, req := range map[string]*memoryv1.RetryJobsRequest{
			"another reason": {UserId: "ada", Reason: "transient_exhausted"},
			"another kind":   {UserId: "ada", Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_WEEK}},
			"no user's kind": {Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_VERIFY}},
			"another user":   {UserId: "eve"},
		} {
			if got := must(h.work().RetryJobs(h.ctx, req))(t).GetJobs(); len(got) != 0 {
				t.Errorf("%s: retried %v", name, got)
			}
		}
		retried := must(h.work().RetryJobs(h.ctx, &memoryv1.RetryJobsRequest{Reason: reason, PageSize: 1}))(t)
		if got := retried.GetJobs(); len(got) != 1 || got[0].GetJobId() != id || got[0].GetState() != memoryv1.JobState_JOB_STATE_OPEN || retried.GetNextPageToken() != "" {
			t.Fatalf("retried %v", retried)
		}
		extracted(t, h)
	})
	t.Run("a skip lets the session go on without it", func(t *testing.T) {
		h, id := parked(t)
		job := must(h.work().SkipJob(h.ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: id}))(t).GetJob()
		if job.GetState() != memoryv1.JobState_JOB_STATE_SKIPPED {
			t.Errorf("skipped %v", job)
		}
		extracted(t, h)
		if got := h.listFacts(t, true); len(got) != 0 {
			t.Errorf("facts %v", got)
		}
	})
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	h := scripted(t, func(llmtest.Request) llmtest.Reply { return livesIn("Paris", "I live in Paris") })
	h.learn(t, "s", "I live in Rome.")
	h.learn(t, "s2", "I live in Rome, really.")
	if got := h.listFacts(t, true); len(got) != 0 {
		t.Errorf("learnt what nobody said: %v", got)
	}
	req := &memoryv1.ListQuarantinedRequest{UserId: "ada", PageSize: 1}
	first := must(h.facts().ListQuarantined(h.ctx, req))(t)
	req.PageToken = first.GetNextPageToken()
	second := must(h.facts().ListQuarantined(h.ctx, req))(t)
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
	h := startOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.EmbeddingBaseURL = model.URL() })
	h.states(t, "Likes tea", "")
	job := must(h.maintenance().Reembed(h.ctx, &memoryv1.ReembedRequest{Model: "scripted"}))(t).GetJob()
	reembed := memoryv1.JobKind_JOB_KIND_REEMBED
	if job.GetKind() != reembed || job.GetState() != memoryv1.JobState_JOB_STATE_OPEN || job.GetUserId() != "" || job.GetTotal() != 1 || job.GetDone() != 0 {
		t.Errorf("job %v", job)
	}
	list := func(req *memoryv1.ListJobsRequest) (ids []string) {
		for _, j := range must(h.work().ListJobs(h.ctx, req))(t).GetJobs() {
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
		_, err := h.maintenance().Reembed(h.ctx, &memoryv1.ReembedRequest{Model: "other"})
		refused(t, err, codes.FailedPrecondition, "REEMBED_RUNNING", "")
	})
	t.Run("serves once it is done, and is gone from the list", func(t *testing.T) {
		close(hold)
		eventually(t, "the switch", func() bool {
			r := must(h.facts().SearchFacts(h.ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "tea"}))(t)
			return r.GetEmbedder() == "scripted" && len(r.GetHits()) == 1
		})
		if left := list(&memoryv1.ListJobsRequest{}); slices.Contains(left, job.GetJobId()) {
			t.Errorf("jobs %q", left)
		}
	})
}
