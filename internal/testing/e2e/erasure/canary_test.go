package erasure_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// collector is an OTLP collector that keeps what it is sent as it came.
type collector struct {
	mu   sync.Mutex
	sent []byte
}

func (c *collector) keep(_ any, s grpc.ServerStream) error {
	var spans, reply []byte
	if err := s.RecvMsg(&spans); err != nil {
		return err
	}
	c.mu.Lock()
	c.sent = append(c.sent, spans...) // copied: the codec's bytes are reused
	c.mu.Unlock()
	return s.SendMsg(&reply)
}

func (c *collector) spans() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.sent)
}

// collect serves a collector, and returns its URL.
func collect(t *testing.T) (*collector, string) {
	t.Helper()
	l := e2e.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	c := &collector{}
	s := grpc.NewServer(grpc.ForceServerCodec(e2e.RawCodec{}), grpc.UnknownServiceHandler(c.keep))
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		serving.Wait()
	})
	return c, "http://" + l.Addr().String()
}

// TestGrownCanaries: what grows out of a user's messages is seen by that user alone, and never by logs, metrics, traces
// or errors, also where a model's endpoint repeats the prompt in its errors.
func TestGrownCanaries(t *testing.T) {
	t.Parallel()
	model := llmtest.New(llmtest.Options{Chat: e2e.Indiscreet, Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		if slices.ContainsFunc(r.Texts, func(s string) bool { return strings.Contains(s, "poison") }) {
			words := strings.Join(r.Texts, " ")
			return llmtest.EmbedReply{Status: http.StatusBadRequest, Failure: llmtest.Failure{Type: words, Code: words, Message: words}}
		}
		return llmtest.EmbedReply{}
	}})
	t.Cleanup(model.Close)
	traces, endpoint := collect(t)
	h := e2e.StartOn(t, t.TempDir()+"/strata.db", func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = model.URL(), "scripted", "scripted"
		c.EmbeddingBaseURL, c.EmbeddingModel = model.URL(), "embedder"
		c.MetricsListen, c.OTLPEndpoint = "127.0.0.1:0", endpoint
	})
	users := []string{"ada", "Ada", "ada ", "ada%", "ad", "été", "e\u0301te\u0301"}
	canary := func(user string) string { return fmt.Sprintf("canary%xcanary", user) }
	for _, u := range users {
		grow(t, h, u, canary(u))
	}
	facts := map[string]string{}
	for _, u := range users {
		for _, f := range e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: u}))(t).GetFacts() {
			facts[u] = f.GetFactId()
		}
	}
	for _, u := range users {
		own := ""
		for _, reply := range grown(t, h, u, canary(users[0])) {
			text := e2e.Encode(t, reply)
			if strings.Contains(text, canary(u)) {
				own += fmt.Sprintf("%T ", reply)
			}
			for _, other := range users {
				// The query holds the first user's canary, and no reply repeats a query.
				if other != u && strings.Contains(text, canary(other)) {
					t.Errorf("%q sees the canary of %q in %T", u, other, reply)
				}
			}
		}
		for _, from := range []string{"BuildContext", "ListFacts", "SearchFacts", "ListQuarantined", "ListFactRevisions", "GetSummary"} {
			if !strings.Contains(own, from) {
				t.Errorf("%q does not see its own canary in %s: %s", u, from, own)
			}
		}
		for _, other := range users {
			if _, err := h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: u, FactId: facts[other]}); (err == nil) != (u == other) || strings.Contains(fmt.Sprint(err), "canary") {
				t.Errorf("%q reads the fact of %q: %v", u, other, err)
			}
		}
	}
	everybody := e2e.Encode(t, e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{PageSize: 500, States: e2e.AllStates}))(t)) +
		e2e.Encode(t, e2e.Must(h.Users().ListUsers(h.Ctx, &memoryv1.ListUsersRequest{}))(t))
	metrics := h.Scrape(t)
	h.Stop() // sends the last spans
	for name, text := range map[string]string{"jobs and users": everybody, "metrics": metrics, "log": h.Log.String(), "spans": traces.spans()} {
		if strings.Contains(text, "canary") || strings.Contains(text, "poison") {
			at := strings.Index(text, "canary")
			t.Errorf("%s hold content: …%q…", name, text[max(0, at-200):min(len(text), at+50)])
		}
	}
	if !strings.Contains(traces.spans(), "scripted") || !strings.Contains(metrics, `model="scripted"`) {
		t.Errorf("there are no spans or metrics of model calls; %d bytes of spans", len(traces.spans()))
	}
}

// grow makes facts, a summary, a refused operation, and jobs that an endpoint's indiscreet error parked.
func grow(t *testing.T, h *e2e.Server, user, canary string) {
	t.Helper()
	say := func(session, words string) {
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: user, SessionId: session, Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: words}, {Role: memoryv1.Role_ROLE_ASSISTANT, Text: "I see."},
		}}))(t)
	}
	for session, words := range map[string]string{"s": "I like " + canary + ".", "bad": "Is it poison or " + canary + "?"} {
		say(session, words)
		e2e.Must(h.Summaries().Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: user, SessionId: session}))(t)
		e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: user, SessionId: session, Timeout: e2e.LongWait, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		}))(t)
	}
	e2e.Must(h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: user, Text: "Fears poison and " + canary}}))(t)
}

// grown is every reply that may hold what grew, to questions that name another user's canary.
func grown(t *testing.T, h *e2e.Server, user, foreign string) []proto.Message {
	t.Helper()
	replies := []proto.Message{
		e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: user, IncludePast: true}))(t),
		e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: user, Query: "likes poison " + foreign}))(t),
		e2e.Must(h.Facts().ListQuarantined(h.Ctx, &memoryv1.ListQuarantinedRequest{UserId: user}))(t),
		e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: user}))(t),
		e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: user, SessionId: "s"}))(t),
		e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: user, States: e2e.AllStates}))(t),
		e2e.Must(h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: user}))(t),
	}
	for _, render := range []memoryv1.Render{memoryv1.Render_RENDER_TEXT, memoryv1.Render_RENDER_OPENAI, memoryv1.Render_RENDER_STRUCTURED} {
		for _, session := range []string{"s", "bad", "new"} {
			replies = append(replies, e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{
				UserId: user, SessionId: session, Query: "likes " + foreign, Render: render, Explain: true,
			}))(t))
		}
	}
	for _, f := range e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: user}))(t).GetFacts() {
		replies = append(replies, e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: user, FactId: f.GetFactId()}))(t))
	}
	for _, j := range e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: user}))(t).GetJobs() {
		if strings.Contains(j.GetReason(), "canary") || j.GetState() == memoryv1.JobState_JOB_STATE_PARKED && !strings.Contains(j.GetReason(), "400") {
			t.Errorf("job %v", j)
		}
	}
	return replies
}
