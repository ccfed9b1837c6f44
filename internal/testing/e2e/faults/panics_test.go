package faults_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// panicCanary stands for a user's words in the value of a panic.
const panicCanary = "zq-panic-canary-zq"

// panickyTruth is a store whose methods panic while they are armed.
type panickyTruth struct {
	store.PrimaryStore
	mu    sync.Mutex
	armed map[string]bool
	hits  map[string]int
}

func (p *panickyTruth) arm(methods ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.hits = map[string]bool{}, map[string]int{}
	for _, m := range methods {
		p.armed[m] = true
	}
}

// hit reports whether every method has panicked since it was armed.
func (p *panickyTruth) hit(methods ...string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range methods {
		if p.hits[m] == 0 {
			return false
		}
	}
	return true
}

func (p *panickyTruth) at(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed[method] {
		p.hits[method]++
		panic(panicCanary)
	}
}

func (p *panickyTruth) Check(ctx context.Context) error {
	p.at("Check")
	return p.PrimaryStore.Check(ctx)
}

func (p *panickyTruth) Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error) {
	p.at("Hidden")
	return p.PrimaryStore.Hidden(ctx, user)
}

func (p *panickyTruth) TopNodes(ctx context.Context, ref memory.SessionRef, through int64) ([]memory.SummaryNode, error) {
	p.at("TopNodes")
	return p.PrimaryStore.TopNodes(ctx, ref, through)
}

func (p *panickyTruth) Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error) {
	p.at("Periods")
	return p.PrimaryStore.Periods(ctx, q)
}

func (p *panickyTruth) SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	p.at("SearchIndex")
	return p.PrimaryStore.SearchIndex(ctx, q)
}

func (p *panickyTruth) PendingUsers(ctx context.Context, limit int) ([]memory.UserRef, error) {
	p.at("PendingUsers")
	return p.PrimaryStore.PendingUsers(ctx, limit)
}

func (p *panickyTruth) PutSegment(ctx context.Context, w store.SegmentWrite) (int64, error) {
	p.at("PutSegment")
	return p.PrimaryStore.PutSegment(ctx, w)
}

func (p *panickyTruth) PendingSessions(ctx context.Context, before time.Time, limit int) ([]memory.SessionRef, error) {
	p.at("PendingSessions")
	return p.PrimaryStore.PendingSessions(ctx, before, limit)
}

func (p *panickyTruth) SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error) {
	p.at("SessionWork")
	return p.PrimaryStore.SessionWork(ctx, ref)
}

func (p *panickyTruth) FactsToEmbed(ctx context.Context, q store.EmbedQuery) ([]store.FactText, error) {
	p.at("FactsToEmbed")
	return p.PrimaryStore.FactsToEmbed(ctx, q)
}

func (p *panickyTruth) WorkStats(ctx context.Context) (store.WorkStats, error) {
	p.at("WorkStats")
	return p.PrimaryStore.WorkStats(ctx)
}

// onPanicky serves from a store that panics.
func onPanicky(t *testing.T, data string, p *panickyTruth) *e2e.Server {
	t.Helper()
	return e2e.StartWith(t, data, app.Options{Hooks: app.Hooks{Wrap: func(truth store.PrimaryStore) store.PrimaryStore {
		p.PrimaryStore = truth
		return p
	}}}, func(c *config.Config) { c.MetricsListen = "127.0.0.1:0" })
}

// quiet fails when the value of a panic stands in the log.
func quiet(t *testing.T, h *e2e.Server) {
	t.Helper()
	if strings.Contains(h.Log.String(), panicCanary) {
		t.Error("the value of a panic stands in the log")
	}
}

func TestAPanicBesideTheGoroutineOfACallIsTheCallsError(t *testing.T) {
	p := &panickyTruth{}
	h := onPanicky(t, filepath.Join(t.TempDir(), "strata.db"), p)
	h.RecordTurn(t, "s", e2e.User("m1", "I live in Vienna"), e2e.Assistant("m2", "Noted."))
	req := &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Query: "where do I live"}
	for _, method := range []string{"Hidden", "TopNodes", "Periods", "SearchIndex"} {
		t.Run(method, func(t *testing.T) {
			p.arm(method)
			_, err := h.BuildContext(h.Ctx, req)
			if !p.hit(method) {
				t.Fatal("it was not called")
			}
			if status.Code(err) != codes.Internal || strings.Contains(err.Error(), panicCanary) || strings.Contains(err.Error(), ".go") {
				t.Errorf("the call returned %v", err)
			}
			p.arm()
			h.Context(t, req)
		})
	}
	if n := h.Sample(t, "strata_panics_total"); n < 4 {
		t.Errorf("%v panics were counted", n)
	}
	if log := h.Log.String(); !strings.Contains(log, "panic of type string") || !strings.Contains(log, "panics_test.go") {
		t.Errorf("the log does not say what panicked, and where: %s", log)
	}
	quiet(t, h)
}

func TestAPanicInBackgroundWorkEndsNeitherTheServerNorTheWork(t *testing.T) {
	data := filepath.Join(t.TempDir(), "strata.db")
	p := &panickyTruth{}
	atStart := []string{"PendingUsers", "PendingSessions", "FactsToEmbed", "Check"}
	later := []string{"PutSegment", "SessionWork", "WorkStats"}
	req := &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Query: "Vienna"}
	for _, run := range []string{"first start", "second start, which finds what the first left"} {
		t.Run(run, func(t *testing.T) {
			p.arm(append(atStart, later...)...)
			h := onPanicky(t, data, p)
			h.RecordTurn(t, "s", e2e.User("", "I live in Vienna"), e2e.Assistant("", "Noted."))
			e2e.Eventually(t, "every panic", func() bool {
				h.Scrape(t)
				return p.hit(atStart...) && p.hit(later...)
			})
			p.arm()
			h.RecordTurn(t, "s", e2e.User("", "and like it"), e2e.Assistant("", "Good."))
			h.Indexed(t, req)
			h.Extracted(t, "s")
			if h.Sample(t, "strata_panics_total") == 0 {
				t.Error("no panic was counted")
			}
			quiet(t, h)
			h.Stop()
		})
	}
}

func TestAPanicOfARequestOverHTTPEndsThatRequestAlone(t *testing.T) {
	p := &panickyTruth{}
	h := onPanicky(t, filepath.Join(t.TempDir(), "strata.db"), p)
	p.arm("Check")
	code, _, body := h.OverHTTP(t, http.MethodGet, "/readyz", "", nil)
	if !p.hit("Check") {
		t.Fatal("it was not called")
	}
	if code != http.StatusInternalServerError || strings.Contains(body, panicCanary) || strings.Contains(body, ".go") {
		t.Errorf("HTTP %d %s", code, body)
	}
	p.arm()
	if code, _, body := h.OverHTTP(t, http.MethodGet, "/readyz", "", nil); code != http.StatusOK {
		t.Errorf("the next one: HTTP %d %s", code, body)
	}
	if n := h.Sample(t, "strata_panics_total"); n < 1 {
		t.Errorf("%v panics were counted", n)
	}
	if log := h.Log.String(); !strings.Contains(log, "panic of type string") || !strings.Contains(log, "panics_test.go") {
		t.Errorf("the log does not say what panicked, and where: %s", log)
	}
	quiet(t, h)
}

// panickyAnalyzer is the server's, which panics for messages with the canary while it is broken.
type panickyAnalyzer struct {
	indexing.Analyzer
	broken *atomic.Bool
}

func (p panickyAnalyzer) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]segment.Doc, int, error) {
	for _, m := range messages {
		if p.broken.Load() && strings.Contains(m.Message.PlainText(), panicCanary) {
			panic(m.Message.PlainText())
		}
	}
	return p.Analyzer.Analyze(ctx, messages)
}

func TestAMessageThatCannotBeIndexed(t *testing.T) {
	t.Parallel()
	const words = "the ferry to Naxos " + panicCanary
	index, parked := memoryv1.JobKind_JOB_KIND_INDEX, memoryv1.JobState_JOB_STATE_PARKED
	found := func(t *testing.T, h *e2e.Server, word string) bool {
		t.Helper()
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: word}))(t).GetHits()
		return slices.ContainsFunc(hits, func(hit *memoryv1.MessageHit) bool { return strings.Contains(hit.String(), word) })
	}
	// unindexed serves, and has a job parked for the second of two messages, which were searched before they were indexed.
	unindexed := func(t *testing.T, data string) (h *e2e.Server, broken *atomic.Bool, job *memoryv1.Job) {
		t.Helper()
		broken = &atomic.Bool{}
		broken.Store(true)
		h = e2e.StartWith(t, data, app.Options{Hooks: app.Hooks{WrapAnalyzer: func(a indexing.Analyzer) indexing.Analyzer {
			return panickyAnalyzer{a, broken}
		}}}, func(*config.Config) {})
		h.RecordTurn(t, "s", e2e.User("m1", "the night train to Vienna"), e2e.User("m2", words))
		if found(t, h, "Naxos") || !found(t, h, "Vienna") {
			t.Error("before they are indexed, the other message alone must be found")
		}
		e2e.Eventually(t, "a parked job", func() bool {
			jobs := h.Jobs(t, parked)
			if len(jobs) == 1 {
				job = jobs[0]
			}
			return job != nil
		})
		return h, broken, job
	}
	t.Run("is a parked job that names it and none of its words", func(t *testing.T) {
		h, _, job := unindexed(t, filepath.Join(t.TempDir(), "strata.db"))
		if job.GetKind() != index || job.GetSessionId() != "s" || job.GetFromSeq() != 2 || job.GetToSeq() != 2 || job.GetReason() != "analysis_panic" {
			t.Errorf("job %v", job)
		}
		if strings.Contains(job.String(), panicCanary) {
			t.Errorf("the job tells words of the message: %v", job)
		}
		e2e.Eventually(t, "the other message alone found", func() bool { return !found(t, h, "Naxos") && found(t, h, "Vienna") })
		quiet(t, h)
	})
	t.Run("is found once it can be, by a retry", func(t *testing.T) {
		h, broken, job := unindexed(t, filepath.Join(t.TempDir(), "strata.db"))
		broken.Store(false)
		e2e.Must(h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: job.GetJobId()}))(t)
		e2e.Eventually(t, "the retried job", func() bool {
			done := h.Jobs(t, e2e.Applied)
			return slices.ContainsFunc(done, func(j *memoryv1.Job) bool { return j.GetJobId() == job.GetJobId() }) && found(t, h, "Naxos")
		})
		if !found(t, h, "Vienna") {
			t.Error("the other message is not found any more")
		}
	})
	t.Run("whose job a person skips stays in the transcript, and work goes on", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "strata.db")
		h, _, job := unindexed(t, data)
		skipped := e2e.Must(h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: job.GetJobId()}))(t).GetJob()
		if skipped.GetState() != memoryv1.JobState_JOB_STATE_SKIPPED || skipped.GetKind() != index {
			t.Errorf("skipped %v", skipped)
		}
		goesOn := func(h *e2e.Server, said, word string) {
			h.RecordTurn(t, "s", e2e.User("", said))
			r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
			if !r.GetReached() || r.GetParkedJobId() != "" {
				t.Errorf("waited %v", r)
			}
			if !found(t, h, word) || !found(t, h, "Vienna") {
				t.Errorf("what was said of %s, or of Vienna, is not found", word)
			}
			if jobs := h.Jobs(t, parked); len(jobs) != 0 {
				t.Errorf("parked %v", jobs)
			}
			messages := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s"}))(t).GetMessages()
			if len(messages) < 3 || messages[1].GetId() != "m2" || messages[1].GetParts()[0].GetText().GetText() != words {
				t.Errorf("the transcript is %v", messages)
			}
			health := e2e.Must(healthv1.NewHealthClient(h.Conn).Check(h.Ctx, &healthv1.HealthCheckRequest{}))(t)
			if health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
				t.Errorf("health %v", health)
			}
		}
		goesOn(h, "a tram in Lisbon", "Lisbon")
		h.Stop()
		again := e2e.StartWith(t, data, app.Options{}, func(*config.Config) {})
		goesOn(again, "a barge in Ghent", "Ghent")
		_, err := again.Work().SkipJob(again.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: job.GetJobId()})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
	})
}

// panickyClient is the client of an embedding endpoint, which panics for texts with the canary while it is broken.
type panickyClient struct {
	embed.Embedder
	broken *atomic.Bool
}

func (p panickyClient) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		if p.broken.Load() && strings.Contains(text, panicCanary) {
			panic(text)
		}
	}
	return p.Embedder.Embed(ctx, texts)
}

func TestAMessageForWhichTheClientOfAnEndpointPanics(t *testing.T) {
	t.Parallel()
	for _, set := range []e2e.StoreSet{e2e.Embedded, e2e.OnMongoDB} {
		t.Run("over "+string(set), func(t *testing.T) {
			t.Parallel()
			endpoint := e2e.NewEmbedder(t)
			broken := &atomic.Bool{}
			broken.Store(true)
			var corner backendtest.Backends
			if set == e2e.OnMongoDB {
				corner = backendtest.Backends{MongoDB: backend.MongoDB(t), Name: e2e.NewName(t)}
				t.Cleanup(func() {
					if err := corner.Drop(); err != nil {
						t.Errorf("drop the database: %v", err)
					}
				})
			}
			o := app.Options{
				Hooks:      app.Hooks{WrapEmbedder: func(e embed.Embedder) embed.Embedder { return panickyClient{e, broken} }},
				LateWrites: 100 * time.Millisecond,
			}
			h := e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), o, func(c *config.Config) {
				c.EmbeddingBaseURL, c.EmbeddingModel, c.MetricsListen = endpoint.URL(), "scripted", "127.0.0.1:0"
				if set == e2e.OnMongoDB {
					c.MongoDBURI, c.MongoDBDatabase = secret.New(corner.MongoDB), corner.Name
				}
			})
			aMessageWithoutItsVector(t, h, endpoint, broken)
		})
	}
}

// aMessageWithoutItsVector has a client panic for one of the messages each time, and sees what becomes of its job.
func aMessageWithoutItsVector(t *testing.T, h *e2e.Server, endpoint *e2e.Embedder, broken *atomic.Bool) {
	t.Helper()
	parked := memoryv1.JobState_JOB_STATE_PARKED
	one := func(seq int64) *memoryv1.Job {
		var job *memoryv1.Job
		e2e.Eventually(t, "a parked job", func() bool {
			for _, j := range h.Jobs(t, parked) {
				if j.GetFromSeq() == seq {
					job = j
				}
			}
			return job != nil
		})
		if job.GetKind() != memoryv1.JobKind_JOB_KIND_INDEX || job.GetToSeq() != seq || job.GetReason() != "analysis_panic" {
			t.Errorf("job %v", job)
		}
		return job
	}
	embeddedTexts := func(word string) (n int) {
		for _, text := range endpoint.Asked() {
			if strings.Contains(text, word) {
				n++
			}
		}
		return n
	}
	h.RecordTurn(t, "s", e2e.User("m1", "the night train to Vienna"), e2e.User("m2", "a ferry to Naxos "+panicCanary), e2e.User("m3", "a tram in Lisbon"))
	job := one(2)
	if embeddedTexts("Vienna") == 0 {
		t.Error("the other messages were not embedded")
	}

	t.Run("is embedded by a retry, and no other message is", func(t *testing.T) {
		broken.Store(false)
		e2e.Must(h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: job.GetJobId()}))(t)
		e2e.Eventually(t, "the retried job", func() bool {
			return slices.ContainsFunc(h.Jobs(t, e2e.Applied), func(j *memoryv1.Job) bool { return j.GetJobId() == job.GetJobId() })
		})
		asked := endpoint.Asked()
		if len(asked) != 1 || !strings.Contains(asked[0], "Naxos") {
			t.Errorf("embedded %d texts", len(asked))
		}
	})
	t.Run("stays without where a person skips its job", func(t *testing.T) {
		broken.Store(true)
		h.RecordTurn(t, "s", e2e.User("m4", "a barge in Ghent "+panicCanary), e2e.User("m5", "a bridge in Porto"))
		job := one(4)
		skipped := e2e.Must(h.Work().SkipJob(h.Ctx, &memoryv1.SkipJobRequest{UserId: "ada", JobId: job.GetJobId()}))(t).GetJob()
		if skipped.GetState() != memoryv1.JobState_JOB_STATE_SKIPPED || len(h.Jobs(t, parked)) != 0 {
			t.Errorf("skipped %v, parked %v", skipped, h.Jobs(t, parked))
		}
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "Ghent"}))(t).GetHits()
		if !slices.ContainsFunc(hits, func(hit *memoryv1.MessageHit) bool { return strings.Contains(hit.String(), "Ghent") }) {
			t.Errorf("it is not found by its words: %v", hits)
		}
	})
	t.Run("takes its job along when its session is erased", func(t *testing.T) {
		h.RecordTurn(t, "other", e2e.User("m6", "a canoe in Bled "+panicCanary), e2e.User("m7", "a bus in Graz"))
		one(1)
		e2e.Must(h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: "other"}))(t)
		e2e.Eventually(t, "no job of it", func() bool { return len(h.Jobs(t, parked)) == 0 })
	})
	if n := h.Sample(t, "strata_panics_total"); n < 3 {
		t.Errorf("%v panics were counted", n)
	}
	quiet(t, h)
}
