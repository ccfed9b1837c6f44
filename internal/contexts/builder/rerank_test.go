package builder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/rerank"
	"github.com/stratamem/strata/internal/store"
)

// endpoint is a reranker over HTTP. It scores a document by the first of its words that it is told to like, the first
// word highest, and keeps what it was sent.
type endpoint struct {
	*rerank.Client
	t      *testing.T
	likes  []string
	mu     sync.Mutex
	asked  int
	query  string
	sent   []string
	answer http.HandlerFunc // in place of scores; nil on a good day
}

func newEndpoint(t *testing.T, likes ...string) *endpoint {
	t.Helper()
	e := &endpoint{t: t, likes: likes}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	client, err := rerank.New(rerank.Options{BaseURL: server.URL, Model: "test-model", API: rerank.Cohere, Meter: e, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	e.Client = client
	return e
}

// Reranked implements rerank.Meter.
func (e *endpoint) Reranked(rerank.Call) {}

// turn sets what is answered from now on, and forgets what was sent.
func (e *endpoint) turn(answer http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.sent, e.answer = 0, nil, answer
}

func (e *endpoint) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		e.t.Errorf("the body is no JSON: %v", err)
	}
	e.mu.Lock()
	e.asked++
	e.query, e.sent = in.Query, append(e.sent, in.Documents...)
	answer := e.answer
	e.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	var results []string
	for i, d := range in.Documents {
		results = append(results, fmt.Sprintf(`{"index":%d,"relevance_score":%d}`, i, -e.likesAt(d)))
	}
	answers(http.StatusOK, `{"results":[`+strings.Join(results, ",")+`]}`)(w, r)
}

func (e *endpoint) likesAt(document string) int {
	for i, word := range e.likes {
		if strings.Contains(document, word) {
			return i
		}
	}
	return len(e.likes)
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

// roses are messages that one query finds, in this order.
var roses = []string{
	"Roses, roses, nothing but roses.", "The roses smell, roses all over.", "Old roses stand behind the wooden garden house.",
	"Next week the gardener comes and cuts the many roses near the pond and the gate.",
}

func (r *rig) grows() {
	r.t.Helper()
	for i, words := range roses {
		r.says(ada, fmt.Sprintf("session-%d", i), words)
	}
}

func (r *rig) search(s services, p recall.SearchParams) recall.SearchResult {
	r.t.Helper()
	p.User, p.MaxBytes, p.Explain = ada, 1<<20, true
	if p.Limit == 0 {
		p.Limit = 20
	}
	out, err := s.SearchMessages(r.t.Context(), p)
	r.must(err)
	return out
}

func wordsOf(hits []recall.MessageHit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Message.PlainText())
	}
	return out
}

func TestARerankerOrdersTheBestOfWhatWasFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grows()
	e := newEndpoint(t, "gardener", "wooden", "smell")
	plain, reranked := r.service(wiring{}), r.service(wiring{reranker: e})
	if d := cmp.Diff(roses, wordsOf(r.search(plain, recall.SearchParams{Query: "roses"}).Hits)); d != "" {
		t.Fatal("the words alone find another order:", d)
	}
	want := []string{roses[3], roses[2], roses[1], roses[0]}
	t.Run("in a search, which says where each stood before", func(t *testing.T) {
		got := r.search(reranked, recall.SearchParams{Query: "roses"})
		if d := cmp.Diff(want, wordsOf(got.Hits)); d != "" || got.Degraded != nil {
			t.Error(d, got.Degraded)
		}
		for i, h := range got.Hits {
			if d := cmp.Diff([]string{fmt.Sprintf("lexical %d", 4-i), fmt.Sprintf("rerank %d", i+1)}, arms(h.Hit.Retrievers)); d != "" {
				t.Errorf("hit %d: %s", i, d)
			}
			if h.Rank != i+1 || h.Hit.Score != 1+1/float64(10+h.Rank) || h.Hit.Retrievers[1].Score != float64(-i) {
				t.Errorf("hit %d has rank %d and score %v of %v", i, h.Rank, h.Hit.Score, h.Hit.Retrievers)
			}
		}
	})
	t.Run("in a context", func(t *testing.T) {
		out, err := reranked.BuildContext(t.Context(), builder.ContextParams{Ref: ada.Session("now"), Query: "roses", AsOf: r.now, Render: assembly.RenderOpenAI, Explain: true, MaxBytes: 1 << 20})
		r.must(err)
		if len(out.Recalled) != 4 || !slices.Equal(out.Ranks, []int{1, 2, 3, 4}) || out.Degraded != nil {
			t.Fatalf("recalled %d at %v, degraded %v", len(out.Recalled), out.Ranks, out.Degraded)
		}
		for i, h := range out.Recalled {
			if string(h.Session) == "" || h.Retrievers[1] != (rank.RetrieverScore{Name: rank.RetrieverRerank, Rank: i + 1, Score: float64(-i)}) {
				t.Errorf("recalled message %d: %+v", i, h.Retrievers)
			}
		}
	})
	t.Run("it reads the query, and of each message who said it, when and what", func(t *testing.T) {
		e.turn(nil)
		r.search(reranked, recall.SearchParams{Query: "Where are the roses?"})
		if e.query != "Where are the roses?" || e.calls() != 1 || len(e.sent) != 4 || e.sent[0] != "user, 2026-03-01: "+roses[0] {
			t.Errorf("asked %q in %d calls of %q", e.query, e.calls(), e.sent)
		}
	})
	t.Run("what is not among its candidates follows as it was", func(t *testing.T) {
		got := r.search(r.service(wiring{reranker: e, reranked: 3}), recall.SearchParams{Query: "roses"})
		if d := cmp.Diff([]string{roses[2], roses[1], roses[0], roses[3]}, wordsOf(got.Hits)); d != "" {
			t.Error(d)
		}
		last := got.Hits[3].Hit
		if d := cmp.Diff([]string{"lexical 4"}, arms(last.Retrievers)); d != "" || last.Score != 1/14. {
			t.Error(d, last.Score)
		}
	})
	t.Run("pages follow each other", func(t *testing.T) {
		var all []string
		for offset := range 4 {
			got := r.search(reranked, recall.SearchParams{Query: "roses", Offset: offset, Limit: 1})
			if got.More != (offset < 3) || len(got.Hits) != 1 || got.Hits[0].Rank != offset+1 {
				t.Errorf("page %d: %d hits, more %v", offset, len(got.Hits), got.More)
			}
			all = append(all, wordsOf(got.Hits)...)
		}
		if d := cmp.Diff(want, all); d != "" {
			t.Error(d)
		}
	})
	t.Run("nothing is sent where there is nothing to order", func(t *testing.T) {
		e.turn(nil)
		for _, query := range []string{"pond", "zebra", "?"} {
			r.search(reranked, recall.SearchParams{Query: query})
		}
		if e.calls() != 0 {
			t.Errorf("it was asked %d times with %q", e.calls(), e.sent)
		}
	})
}

func TestWhatGoesWrongWithARerankerLeavesTheOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grows()
	e := newEndpoint(t, "gardener")
	want := r.ask(r.service(wiring{}), "roses")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		waits  time.Duration
		reason string
	}{
		"a fault of the server": {answers(500, "canary"), time.Minute, "the reranker answered with status 500"},
		"half an answer": {
			answers(200, `{"results":[{"index":0`), time.Minute, "the answer is not the JSON of a reranker: are the base URL and the API right?",
		},
		"too few scores": {
			answers(200, `{"results":[{"index":3,"relevance_score":1}]}`), time.Minute, "the reranker answered 1 scores for 4 documents",
		},
		"no answer in time": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 20 * time.Millisecond, "the reranker did not answer in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e.turn(c.answer)
			s := r.service(wiring{reranker: e, waits: c.waits})
			got := r.ask(s, "roses")
			lacks := []memory.Degradation{{Tier: memory.TierRerank, Reason: c.reason}}
			for _, d := range []string{
				cmp.Diff(want.messages.Hits, got.messages.Hits), cmp.Diff(want.context.Rendering, got.context.Rendering),
				cmp.Diff(lacks, got.messages.Degraded), cmp.Diff(lacks, got.context.Degraded),
			} {
				if d != "" {
					t.Error(d)
				}
			}
			if n := r.counts.of("degraded rerank"); n != 2 {
				t.Errorf("%d replies counted as degraded", n)
			}
		})
	}
}

func TestARerankerThatFailsIsLeftAloneAndAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grows()
	e := newEndpoint(t, "gardener")
	s := r.service(wiring{reranker: e})
	search := func() recall.SearchResult { return r.search(s, recall.SearchParams{Query: "roses"}) }
	e.turn(answers(503, ""))
	for range 7 {
		search()
	}
	if e.calls() != 5 {
		t.Errorf("it was asked %d times, want 5", e.calls())
	}
	lacks := []memory.Degradation{{Tier: memory.TierRerank, Reason: "the reranker failed 5 times in a row and is not asked"}}
	if got := search(); !cmp.Equal(lacks, got.Degraded) || !cmp.Equal(roses, wordsOf(got.Hits)) {
		t.Errorf("degraded %v, %q", got.Degraded, wordsOf(got.Hits))
	}
	e.turn(nil)
	r.now = r.now.Add(time.Second)
	for range 2 {
		if got := search(); got.Degraded != nil || got.Hits[0].Message.PlainText() != roses[3] {
			t.Errorf("a second later: degraded %v, %q", got.Degraded, wordsOf(got.Hits))
		}
	}
	if e.calls() != 2 {
		t.Errorf("it was asked %d times after it recovered, want 2", e.calls())
	}
}

func TestNothingIsSentToARerankerThatTheTruthDoesNotHaveForTheCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.grows()
	r.says(eve, "hers", "Eve alone knows where the black roses grow.")
	scope := func(u memory.UserRef) memory.ScopeKey {
		user, err := r.truth.User(t.Context(), u)
		r.must(err)
		return user.Scope
	}
	place := func(ref memory.SessionRef) memory.Place {
		session, err := r.truth.Session(t.Context(), ref)
		r.must(err)
		return memory.Place{Session: session.Key, Seq: 1}
	}
	// A view that claims others' messages, and some that nobody has, for ada.
	liar := textFunc(func(context.Context, store.TextSearch) ([]store.TextHit, error) {
		return []store.TextHit{
			{Scope: scope(ada), Place: place(eve.Session("hers")), Score: 9},
			{Scope: scope(ada), Place: memory.Place{Session: place(ada.Session("session-1")).Session, Seq: 77}, Score: 8},
			{Scope: scope(eve), Place: place(eve.Session("hers")), Score: 7},
			{Scope: scope(ada), Place: place(ada.Session("session-1")), Score: 6},
		}, nil
	})
	e := newEndpoint(t, "black", "gardener")
	got := r.search(r.service(wiring{reranker: e, texts: liar}), recall.SearchParams{Query: "roses"})
	if len(e.sent) != 4 || strings.Contains(fmt.Sprint(e.sent), "black") {
		t.Errorf("sent %q", e.sent)
	}
	if len(got.Hits) != 4 || got.Hits[0].Message.PlainText() != roses[3] || r.counts.of("stale transcript") != 2 {
		t.Errorf("found %q, %d stale", wordsOf(got.Hits), r.counts.of("stale transcript"))
	}
}

func TestARerankerReadsPassagesThatAreNotTooLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(ada, "one", strings.Repeat("The weather was fine and nothing else happened on that day.\n\n", 200)+"The lighthouse stands on the northern cliff.")
	r.says(ada, "two", strings.Repeat("등대", 3000)+" lighthouse")
	e := newEndpoint(t)
	r.search(r.service(wiring{reranker: e}), recall.SearchParams{Query: strings.Repeat("lighthouse ", 900)})
	if len(e.sent) != 2 || len(e.query) > 2<<10 {
		t.Fatalf("%d documents, a query of %d bytes", len(e.sent), len(e.query))
	}
	if !slices.ContainsFunc(e.sent, func(d string) bool { return strings.HasSuffix(d, "The lighthouse stands on the northern cliff.") }) {
		t.Error("the passage that answers is not among what was sent")
	}
	for _, d := range e.sent {
		if len(d) > 2<<10 || !strings.HasPrefix(d, "user, 2026-03-01: ") {
			t.Errorf("a document of %d bytes", len(d))
		}
	}
}
