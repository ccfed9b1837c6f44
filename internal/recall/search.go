package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// Searcher finds a user's messages and facts, by words and by meaning, with the help of views and a reranker where they are
// configured. Its methods may be called concurrently.
type Searcher struct {
	store    Store
	messages MessageReader
	index    *SearchIndex
	facts    *FactCache
	queries  *Queries
	profiles contextprofile.Set
	meter    Meter
	now      func() time.Time
	related  func(term string) []synonyms.Word

	factVectors *vectorRetriever // nil for none, like the others
	turnVectors *vectorRetriever
	transcript  *textRetriever
	factTexts   *textRetriever
	reranker    *reranking
}

// Store is what a Searcher reads of the primary store, beside the messages that it found.
type Store interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	ViewBuilds
}

// MessageReader reads messages by their places, under the scope of the user who asks: see store.Transcript. It may have a call wait
// that reads much.
type MessageReader interface {
	MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error)
}

// Meter counts what was not as it should be. It must not block.
type Meter interface {
	// Degraded counts a reply that lacks a tier.
	Degraded(tier string)
	// ForeignHits counts hits of another scope than the asked one: a view whose filter does not hold.
	ForeignHits(view string, n int)
	// StaleHits counts hits that the primary store does not have, or not for the caller.
	StaleHits(view string, n int)
}

// Options are what a Searcher needs. All but views and the reranker are required.
type Options struct {
	Store    Store
	Messages MessageReader
	Caches   Caches
	Queries  *Queries
	Profiles contextprofile.Set
	Meter    Meter
	Now      func() time.Time
	Related  func(term string) []synonyms.Word // see rank.Query.Near
	Views    Views
	Rerank   Rerank
}

// Caches hold what a Searcher has of users in memory.
type Caches struct {
	Index *SearchIndex
	Facts *FactCache
}

// Views are the views that a Searcher asks. The zero value has none.
type Views struct {
	Vectors  VectorView    // nil to compare every vector here
	Texts    TextView      // nil for none
	Deadline time.Duration // how long a call waits for a view; required with one
}

// Rerank is the reranker that a Searcher asks. The zero value has none.
type Rerank struct {
	Reranker   Reranker      // nil for none
	Candidates int           // how many of the best messages it reads, 2 or more; required with one
	Deadline   time.Duration // how long a call waits for it; required with one
}

// New makes a Searcher.
func New(o Options) *Searcher {
	return &Searcher{
		store: o.Store, messages: o.Messages, index: o.Caches.Index, facts: o.Caches.Facts, queries: o.Queries,
		profiles: o.Profiles, meter: o.Meter, now: o.Now, related: o.Related,
		factVectors: newVectorRetriever(memory.ViewVectors, o), turnVectors: newVectorRetriever(memory.ViewMessageVectors, o),
		transcript: newTextRetriever(memory.ViewTranscript, o), factTexts: newTextRetriever(memory.ViewFacts, o),
		reranker: newReranking(o.Rerank, o.Now),
	}
}

// SearchParams asks for a page of messages by their words.
type SearchParams struct {
	User       memory.UserRef
	Query      string
	SessionIDs []string      // only these; nil for all
	Roles      []memory.Role // only these; nil for all
	From, To   time.Time
	AsOf       time.Time // that relative times of the query count from; zero for now
	Offset     int
	Limit      int
	MaxBytes   int // the page may end early once it holds so much content
	Explain    bool
}

// MessageHit is a message that was found.
type MessageHit struct {
	memory.PlacedMessage
	Hit        rank.Hit
	Rank       int // from 1, over all pages
	Snippet    string
	Highlights []text.Span // bytes of Snippet
}

// SearchResult is a page of hits.
type SearchResult struct {
	Hits     []MessageHit
	More     bool
	Next     int    // the offset of the next page, where More is set
	Embedder string // whose vectors ranked; "" when words alone did
	Degraded []memory.Degradation
}

// SearchMessages finds messages by the ranking of BuildContext. What the user said is preferred, less than in a context,
// unless the query asks for what the assistant said.
func (s *Searcher) SearchMessages(ctx context.Context, p SearchParams) (SearchResult, error) {
	ctx = store.OneRequest(ctx)
	if p.AsOf.IsZero() {
		p.AsOf = s.now().UTC().Truncate(time.Microsecond)
	}
	p.Query = s.profiles.SecretsOf("").Words(p.Query)
	sessions, err := s.sessionKeys(ctx, p.User, p.SessionIDs)
	if err != nil {
		return SearchResult{}, err
	}
	ask := MessageQuestion{Ref: memory.SessionRef{UserRef: p.User}, Query: rank.Query{
		Sessions: sessions, Roles: p.Roles, From: p.From, To: p.To, Limit: p.Offset + p.Limit + 1, Explain: p.Explain,
		UserPrior: searchPrior(p.Query),
	}}
	in := s.NewLookups(ctx, p.User, func() (string, error) { return p.Query, nil })
	in.Found = sync.OnceValues(func() (RankedFacts, error) {
		return s.FindFacts(ctx, in.Facts, FactQuestion{QueryVector: in.Vector, WithSources: true})
	})
	if err := s.Understand(&ask, in, p.AsOf); err != nil {
		return SearchResult{}, err
	}
	found, late, err := s.FindMessages(ctx, ask, "")
	if err != nil {
		return SearchResult{}, err
	}
	vector, lack := in.Vector()
	if vector.Version != 0 {
		facts, _ := in.Found() // the search would have failed with its error
		lack = facts.Degraded
	}
	out := SearchResult{
		Degraded: slices.Concat(lack, found.Degradations(), late), Embedder: vector.Model,
		Next: p.Offset + p.Limit, More: len(found.Hits) > p.Offset+p.Limit,
	}
	CountDegraded(s.meter, out.Degraded)
	page := found.Hits[min(p.Offset, len(found.Hits)):min(p.Offset+p.Limit, len(found.Hits))]
	return s.readPage(ctx, p, page, out, ask.Query)
}

// searchPrior is how far a search prefers what the user said.
func searchPrior(query string) float64 {
	if promptinjection.AsksReply(query) {
		return 0
	}
	return rank.SearchUserPrior
}

// matchedMessages searches the user's own index by words and by meaning, and beside it the full-text view: a further source
// of candidates. Without its answer that of the index stands. The scope is read where the caller does not know it.
func (s *Searcher) matchedMessages(ctx context.Context, q MessageQuestion, scope memory.ScopeKey) (Found, []memory.Degradation, error) {
	if q.isEmpty() {
		found, err := s.index.Search(ctx, q)
		return found, nil, err
	}
	q.viewed = s.transcript != nil
	var found Found
	var matches []rank.Match
	var late []memory.Degradation
	both, part := safegroup.WithContext(ctx)
	both.Go(func() (err error) {
		matches, late, err = s.matchMessages(part, q, scope)
		return err
	})
	err := both.WaitWith(func() (err error) {
		found, err = s.index.Search(part, q)
		return err
	})
	if err != nil {
		return Found{}, nil, err
	}
	found.Hits = fused(found, matches, q.MinRelevance)
	found.Hits = found.Hits[:min(len(found.Hits), q.Limit)]
	return found, late, nil
}

// fused ranks what all retrievers found. How relevant a hit is that the words did not find is not known: one that has to be
// relevant is not believed to be.
func fused(found Found, matches []rank.Match, minRelevance float64) []rank.Hit {
	hits := rank.Fuse(
		found.Hits,
		rank.DenseRetriever(found.Turns),
		rank.DenseFactsRetriever(found.Sources),
		found.Times,
		rank.ViewRetriever(matches),
		rank.StandingRetriever(found.Standing),
	)
	if minRelevance == 0 {
		return hits
	}
	return slices.DeleteFunc(hits, func(h rank.Hit) bool { return !h.Lexical() })
}

// matchMessages asks the full-text view, where there is one. A user who is not known has no messages.
func (s *Searcher) matchMessages(
	ctx context.Context, q MessageQuestion, scope memory.ScopeKey,
) ([]rank.Match, []memory.Degradation, error) {
	if s.transcript == nil || len(q.Terms) == 0 {
		return nil, nil, nil
	}
	if scope == "" {
		user, err := s.store.User(ctx, q.Ref.UserRef)
		if err != nil && !memory.IsGone(err) {
			return nil, nil, fmt.Errorf("read user: %w", err)
		}
		scope = user.Scope
	}
	if q.Sessions != nil && len(q.Sessions) == 0 {
		return nil, nil, nil
	}
	hits, late := s.transcript.search(ctx, store.TextSearch{
		Scope: scope, Terms: q.Terms, Sessions: slices.Sorted(maps.Keys(q.Sessions)), From: q.From, To: q.To, Roles: q.Roles,
	})
	var matches []rank.Match
	for _, h := range hits {
		if (q.Sessions == nil || q.Sessions[h.Place.Session]) && (q.Exclude == nil || !q.Exclude(h.Place)) {
			matches = append(matches, rank.Match{Place: h.Place, Score: h.Score})
		}
	}
	return matches, late, nil
}

// readAtOnce is how many hits are read from the primary store at once: messages may be a mebibyte each.
const readAtOnce = 20

// readPage verifies hits until the page is full or holds MaxBytes of content.
func (s *Searcher) readPage(ctx context.Context, p SearchParams, page []rank.Hit, out SearchResult, q rank.Query) (SearchResult, error) {
	size := 0
	for start := 0; start < len(page); start += readAtOnce {
		hits := page[start:min(start+readAtOnce, len(page))]
		found, err := s.Confirm(ctx, Candidates{User: p.User, Hits: hits, Query: q})
		if err != nil {
			return SearchResult{}, err
		}
		for _, v := range found {
			hit := messageHit(*v.Message, *v.Hit, p.Offset+start+v.At+1, q.Terms)
			hit.Message = Shown(hit.Message, s.profiles.SecretsOf(""))
			out.Hits = append(out.Hits, hit)
			size += v.Message.Message.ContentBytes()
		}
		if next := start + len(hits); size > p.MaxBytes && next < len(page) {
			out.More, out.Next = true, p.Offset+next
			return out, nil
		}
	}
	return out, nil
}

// sessionKeys returns the keys of the sessions to search, nil for all. A session that does not exist has no messages.
func (s *Searcher) sessionKeys(ctx context.Context, user memory.UserRef, ids []string) (map[memory.SessionKey]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	keys := map[memory.SessionKey]bool{}
	for _, id := range ids {
		session, err := s.store.Session(ctx, user.Session(id))
		if memory.IsGone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		keys[session.Key] = true
	}
	return keys, nil
}

// Candidates are hits of a query to be verified for the user who asked.
type Candidates struct {
	User     memory.UserRef
	Hits     []rank.Hit
	Query    rank.Query
	MaxBytes int64 // of the messages to read; 0 for no limit
}

// Confirmed is a hit with its message, as the primary store has it.
type Confirmed struct {
	Hit     *rank.Hit // not to be changed: it may be that of Candidates.Hits
	At      int       // its index in Candidates.Hits
	Message *memory.PlacedMessage
}

// Confirm reads hits from the primary store under the caller's scope: what is not there, or not the caller's, is left out, and
// so are the last ones beyond the limit.
func (s *Searcher) Confirm(ctx context.Context, in Candidates) ([]Confirmed, error) {
	if len(in.Hits) == 0 {
		return nil, nil
	}
	messages, err := s.messages.MessagesAt(ctx, store.PlacesQuery{User: in.User, Places: in.Places(), MaxBytes: in.MaxBytes})
	if err != nil {
		return nil, fmt.Errorf("read messages that were found: %w", err)
	}
	out, stale := in.Match(messages)
	if s.transcript != nil {
		s.transcript.stale(stale)
	}
	return out, nil
}

// Places are where the hits stand, in their order.
func (in Candidates) Places() []memory.Place {
	places := make([]memory.Place, len(in.Hits))
	for i, h := range in.Hits {
		places[i] = h.Place
	}
	return places
}

// Match puts hits and messages, which stand in the order of the hits, together, and counts the hits that the view should not have
// returned.
func (in Candidates) Match(messages []memory.PlacedMessage) (out []Confirmed, stale int) {
	all := in.isWhole(messages)
	out = make([]Confirmed, 0, len(messages))
	for i := range in.Hits {
		h := &in.Hits[i]
		ok := len(messages) > 0 && messages[0].Place == h.Place
		switch {
		case ok && in.admits(h, &messages[0].Message):
			out = append(out, Confirmed{h.Placed(&messages[0].Message, in.Query.Terms), i, &messages[0]})
		case h.OnlyViewed() && (ok || all):
			stale++
		}
		if ok {
			messages = messages[1:]
		}
	}
	return out, stale
}

// isWhole reports whether no message can be missing for the limit alone: what was read is far from it.
func (in Candidates) isWhole(messages []memory.PlacedMessage) bool {
	size := int64(0)
	for i := range messages {
		size += int64(messages[i].Message.ContentBytes())
	}
	return in.MaxBytes == 0 || size < in.MaxBytes/2
}

// admits reports whether a message may be a hit. An index knows its time by the millisecond; what only a view found may be anything,
// since the view has what it was given, but is not believed.
func (in Candidates) admits(h *rank.Hit, m *memory.Message) bool {
	said := m.SaidTime()
	inTime := (in.Query.From.IsZero() || !said.Before(in.Query.From)) && (in.Query.To.IsZero() || said.Before(in.Query.To))
	return inTime && (!h.OnlyViewed() || m.Recallable() && (in.Query.Roles == nil || slices.Contains(in.Query.Roles, m.Role)))
}

func messageHit(m memory.PlacedMessage, h rank.Hit, at int, terms []string) MessageHit {
	snippet := passage(m.Message.SaidText(), h.Passage)
	return MessageHit{PlacedMessage: m, Hit: h, Rank: at, Snippet: snippet, Highlights: highlights(snippet, terms)}
}

// passage cuts a span out of words. An index that does not fit the words any more must not break a reply.
func passage(words string, span text.Span) string {
	if span.Start < 0 || span.End > len(words) || span.Start > span.End {
		return words
	}
	return span.Of(words)
}

// highlights returns where the query's terms stand in a snippet; spans that touch become one.
func highlights(snippet string, terms []string) []text.Span {
	wanted := make(map[string]bool, len(terms))
	for _, t := range terms {
		wanted[t] = true
	}
	var out []text.Span
	for _, t := range text.Tokens(snippet) {
		if !wanted[t.Term] {
			continue
		}
		if n := len(out); n > 0 && t.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, t.End)
			continue
		}
		out = append(out, text.Span{Start: t.Start, End: t.End})
	}
	return out
}
