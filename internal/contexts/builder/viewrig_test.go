package builder_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ada  = memory.UserRef{Tenant: "t", UserID: "ada"}
	eve  = memory.UserRef{Tenant: "t", UserID: "eve"}
)

// topics is an embedder of few meanings: a text's vector says which of them its words are of.
type topics struct{}

func (topics) Info() embed.Info { return embed.Info{Model: "topics", Dimension: 4, Semantic: true} }

func (topics) Embed(_ context.Context, texts []string) ([][]float32, error) {
	meanings := [][]string{{"violin", "music", "concert", "song"}, {"tea", "drink", "beverage"}, {"bakery", "job", "work"}}
	out := make([][]float32, len(texts))
	for i, words := range texts {
		v := []float64{0, 0, 0, .3}
		for _, term := range text.Terms(words) {
			for m, all := range meanings {
				if slices.ContainsFunc(all, func(w string) bool { return slices.Contains(text.Terms(w), term) }) {
					v[m]++
				}
			}
		}
		length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2] + v[3]*v[3])
		for _, x := range v {
			out[i] = append(out[i], float32(x/length))
		}
	}
	return out, nil
}

// version is the embedding in use.
type version struct{ memory.Embedding }

func (v *version) Active() (memory.Embedding, embed.Embedder) { return v.Embedding, topics{} }

// counts is a meter.
type counts struct {
	sync.Mutex
	n map[string]int
}

func (c *counts) add(name string, n int) {
	c.Lock()
	defer c.Unlock()
	c.n[name] += n
}

func (c *counts) Degraded(tier string) { c.add("degraded "+tier, 1) }
func (c *counts) HistoryShrunk(call string, r compaction.Result) {
	c.add(call+" tokens saved", int(r.Before.Tokens-r.After.Tokens))
}

func (c *counts) WordsChecked(call string, done memory.CheckAction) {
	c.add(call+" "+done.String(), 1)
}
func (c *counts) ForeignHits(view string, n int) { c.add("foreign "+view, n) }
func (c *counts) StaleHits(view string, n int)   { c.add("stale "+view, n) }

func (c *counts) of(name string) int {
	c.Lock()
	defer c.Unlock()
	return c.n[name]
}

// idle does no background work.
type idle struct{}

func (idle) Nudge(memory.SessionRef)                    {}
func (idle) Hurry(memory.SessionRef, ...memory.JobKind) {}
func (idle) LookAgain(memory.UserRef, string)           {}
func (idle) Changed(memory.SessionRef) <-chan struct{}  { return nil }
func (idle) Rebuild(memory.UserRef)                     {}
func (idle) Wake()                                      {}
func (idle) Analyze(_ context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error) {
	for _, m := range messages {
		docs = append(docs, segment.Analyze(m))
	}
	return docs, 0, nil
}

// rig is a service over a real primary store and views in memory. It feeds the views when the test says so.
type rig struct {
	t        *testing.T
	truth    *sqlitestore.Store
	vectors  *memview.Vectors
	texts    *memview.Texts
	version  version
	counts   *counts
	now      time.Time
	id       int
	facts    *recall.FactCache
	services int
}

// truth is what a service and its caches read.
type truth interface{ store.PrimaryStore }

// services are those that tests ask.
type services struct {
	*sessions.Recorder
	*builder.ContextBuilder
	*recall.Searcher
	*facts.FactEditor
	*sessions.Users
}

// wiring says what a service of a rig is made of.
type wiring struct {
	vectors  recall.VectorView
	texts    recall.TextView
	truth    truth         // the rig's when nil
	deadline time.Duration // a minute when 0: nothing in memory is as slow
	reranker recall.Reranker
	reranked int           // how many candidates it reads; 50 when 0
	waits    time.Duration // for the reranker; a minute when 0
	near     func(term string) []synonyms.Word
	least    int // the least significance of facts in contexts; 0 for any
	models   compactmodel.Models
	history  compaction.Policy
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := &rig{t: t, truth: s, vectors: memview.NewVectors(), texts: memview.NewTexts(), now: noon}
	if r.version.Embedding, err = s.AddEmbedding(t.Context(), memory.Embedding{Model: "topics", Dimension: 4}); err != nil {
		t.Fatal(err)
	}
	return r
}

// service makes a service with caches of its own, as another replica has them.
func (r *rig) service(w wiring) services {
	r.t.Helper()
	r.services++
	if w.truth == nil {
		w.truth = r.truth
	}
	if w.deadline == 0 {
		w.deadline = time.Minute
	}
	if w.reranked == 0 {
		w.reranked = 50
	}
	if w.waits == 0 {
		w.waits = time.Minute
	}
	log := slog.New(slog.DiscardHandler)
	searchIndex, err := recall.NewSearchIndex(recall.SearchIndexOptions{Store: w.truth, MaxBytes: 1 << 20, Indexer: idle{}, Turns: idle{}, Log: log})
	if err != nil {
		r.t.Fatal(err)
	}
	if r.facts, err = recall.NewFactCache(w.truth, 1<<20); err != nil {
		r.t.Fatal(err)
	}
	r.counts = &counts{n: map[string]int{}}
	profile := contextprofile.Profile{
		BudgetTokens: 8000, RecentN: 2, TopK: 20, RecallShare: .3, Sections: contextprofile.Sections{Recalled: true, Recent: true}, MemoryRole: contextprofile.MemoryAsSystem,
		Summaries: contextprofile.Summaries{Running: true, Previous: true, Periods: true, Share: .2, MaxSessions: 3, Weeks: 4, Months: 3},
		Counter:   "o200k_base", History: w.history, Facts: contextprofile.Facts{
			LongTerm: true, OfSession: true, Max: 20, MinScore: .3, Share: .2, Relevance: 1, MinSignificance: w.least,
		},
	}
	profiles := contextprofile.Set{Profiles: map[string]contextprofile.Profile{"default": profile}, Default: "default"}
	now := func() time.Time { return r.now }
	newID := func() string { r.id++; return fmt.Sprintf("%s-%d", "id", r.id) }
	search := recall.New(recall.Options{
		Store: w.truth, Messages: messagereader.New(w.truth, openGate{}), Caches: recall.Caches{Index: searchIndex, Facts: r.facts},
		Queries: recall.NewQueries(recall.QueriesOptions{
			Embeddings: &r.version, Deadline: time.Minute, Timeout: time.Minute, MaxRunning: 8,
		}),
		Profiles: profiles, Meter: r.counts, Now: now, Related: w.near,
		Views:  recall.Views{Vectors: w.vectors, Texts: w.texts, Deadline: w.deadline},
		Rerank: recall.Rerank{Reranker: w.reranker, Candidates: w.reranked, Deadline: w.waits},
	})
	fences := sessionguards.NewFences(w.truth, nil)
	work := work.NewWork(work.Options{Store: w.truth, Runner: idle{}, Now: now})
	summaries := summaries.NewSummaryReader(summaries.SummaryReaderOptions{Store: w.truth, Work: work, Runner: idle{}, Budgets: quota.Unlimited{}})
	return services{
		sessions.NewRecorder(sessions.RecorderOptions{
			Store: w.truth, Profiles: profiles, Fences: fences, Runner: idle{}, Meter: r.counts, Tenancy: quota.Unlimited{},
			Now: now, NewID: newID,
		}),
		builder.NewContextBuilder(builder.ContextBuilderOptions{
			Store: w.truth, Sources: builder.ContextSources{Search: search, Summaries: summaries, Work: work},
			Profiles: profiles, Models: w.models, Fences: fences, Usage: builder.NewUsage(r.truth, log), Meter: r.counts, Gate: openGate{},
			Tenancy: quota.Unlimited{}, Now: now,
		}),
		search,
		facts.NewFactEditor(facts.FactEditorOptions{Store: w.truth, Facts: r.facts, Vectors: idle{}, Now: now, NewID: newID}),
		sessions.NewUsers(w.truth, now),
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// says records a message of the user.
func (r *rig) says(user memory.UserRef, session, words string) {
	r.t.Helper()
	_, err := r.service(wiring{}).Record(r.t.Context(), sessions.RecordParams{
		Ref: user.Session(session), Messages: []memory.Message{{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)}, CreateTime: r.now}},
	})
	r.must(err)
}

// knows stores a fact of the user and returns its id.
func (r *rig) knows(user memory.UserRef, words string) string {
	r.t.Helper()
	return r.knowsAll(user, memory.Fact{Text: words, Significance: 5, Category: memory.CategoryOther})[0]
}

// knowsAll stores facts of the user and returns their ids.
func (r *rig) knowsAll(user memory.UserRef, known ...memory.Fact) (ids []string) {
	r.t.Helper()
	s := r.service(wiring{})
	for _, f := range known {
		f, err := s.CreateFact(r.t.Context(), facts.FactCreation{User: user, Fact: facts.WithFactDefaults(f)})
		r.must(err)
		ids = append(ids, f.ID)
	}
	return ids
}

// embeds stores the vectors that facts lack.
func (r *rig) embeds() {
	r.t.Helper()
	waiting, err := r.truth.FactsToEmbed(r.t.Context(), store.EmbedQuery{Version: r.version.Version, Limit: 1000})
	r.must(err)
	w := store.VectorWrite{Version: r.version.Version}
	for _, f := range waiting {
		v, err := topics{}.Embed(r.t.Context(), []string{f.Text})
		r.must(err)
		w.Vectors = append(w.Vectors, store.NewVector{User: f.User, FactID: f.FactID, Revision: f.Revision, Vector: v[0]})
	}
	r.must(r.truth.PutFactVectors(r.t.Context(), w))
}

// feedVectors tells the vector view all of the user's facts.
func (r *rig) feedVectors(user memory.UserRef) {
	r.t.Helper()
	ctx, feed, build := r.feed(memory.ViewVectors, user.Session(""))
	state, err := r.truth.FactsSince(ctx, user, 0)
	r.must(err)
	vectors, err := r.truth.FactVectors(ctx, store.FactVectorQuery{User: user, Version: r.version.Version})
	r.must(err)
	of := map[string][]float32{}
	told := store.FeedPosition{Revision: state.Revision, Version: r.version.Version}
	for _, v := range vectors {
		of[v.FactID], told.No = v.Vector, v.No
	}
	space := store.VectorSpace{View: memory.ViewVectors, Build: build, Version: r.version.Version, Dimension: 4}
	r.must(r.vectors.Prepare(ctx, space))
	for _, f := range state.Facts {
		if of[f.ID] != nil {
			if f.Pinned {
				f.Significance = memory.MaxSignificance
			}
			r.must(r.vectors.Put(ctx, space, []store.VectorRow{{
				Scope: state.Scope, FactID: f.ID, Revision: f.Revision, Vector: of[f.ID], Significance: f.Significance, Category: f.Category,
				ValidFrom: f.ValidFrom, ValidTo: f.ValidTo,
			}}))
		}
	}
	r.must(r.truth.SetCheckpoint(ctx, store.CheckpointUpdate{Feed: feed, Build: build, Checkpoint: told, Seen: feed.Head}))
}

// feedFacts tells the full-text view all of the user's facts.
func (r *rig) feedFacts(user memory.UserRef) {
	r.t.Helper()
	ctx, _, build := r.feed(memory.ViewFacts, user.Session(""))
	state, err := r.truth.FactsSince(ctx, user, 0)
	r.must(err)
	space := store.TextSpace{View: memory.ViewFacts, Build: build}
	r.must(r.texts.Prepare(ctx, space))
	for _, f := range state.Facts {
		r.must(r.texts.Put(ctx, space, []store.TextRow{{
			Scope: state.Scope, FactID: f.ID, Revision: f.Revision, Category: f.Category, Current: f.IsCurrent(), Time: f.ValidFrom, Terms: text.Terms(f.Text),
		}}))
	}
}

// feedMessages tells the full-text view all messages of the session, each with more terms than it has.
func (r *rig) feedMessages(ref memory.SessionRef, more ...string) {
	r.t.Helper()
	ctx, feed, build := r.feed(memory.ViewTranscript, ref)
	messages, err := r.truth.Messages(ctx, store.MessageQuery{Ref: ref, Limit: 1000})
	r.must(err)
	space := store.TextSpace{View: memory.ViewTranscript, Build: build}
	r.must(r.texts.Prepare(ctx, space))
	for _, m := range messages {
		r.must(r.texts.Put(ctx, space, []store.TextRow{{
			Scope: feed.Scope, Place: memory.Place{Session: feed.Key, Seq: m.Seq}, Revision: 1, Role: m.Role, Time: m.CreateTime,
			Terms: append(text.Terms(m.PlainText()), more...),
		}}))
	}
}

func (r *rig) feed(view memory.View, ref memory.SessionRef) (context.Context, store.Feed, int64) {
	r.t.Helper()
	feed, err := r.truth.Feed(r.t.Context(), view, ref)
	r.must(err)
	build, err := r.truth.ViewBuild(r.t.Context(), view)
	r.must(err)
	return r.t.Context(), feed, build
}

// tried is what a service answers to one question in all three ways.
type tried struct {
	context  builder.ContextResult
	messages recall.SearchResult
	facts    recall.FactsFound
}

func (r *rig) ask(s services, query string) tried {
	r.t.Helper()
	var out tried
	var errs [3]error
	out.context, errs[0] = s.BuildContext(r.t.Context(), builder.ContextParams{
		Ref: ada.Session("now"), Query: query, AsOf: r.now, Render: assembly.RenderOpenAI, Explain: true, MaxBytes: 1 << 20,
	})
	out.messages, errs[1] = s.SearchMessages(r.t.Context(), recall.SearchParams{User: ada, Query: query, Limit: 20, MaxBytes: 1 << 20, Explain: true})
	out.facts, errs[2] = s.SearchFacts(r.t.Context(), recall.FactSearch{User: ada, Query: query, Limit: 20, AsOf: r.now})
	r.must(errors.Join(errs[:]...))
	return out
}

// failing is a view of both kinds that does not answer as it should.
type failing func(ctx context.Context) error

type failingVectors struct{ fail failing }

func (f failingVectors) Search(ctx context.Context, _ store.VectorSearch) ([]store.VectorHit, error) {
	return nil, f.fail(ctx)
}

type failingTexts struct{ fail failing }

func (f failingTexts) Search(ctx context.Context, _ store.TextSearch) ([]store.TextHit, error) {
	return nil, f.fail(ctx)
}
