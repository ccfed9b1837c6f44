package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// TranscriptSearch asks for a page of messages by what is written in them alone.
type TranscriptSearch struct {
	User       memory.UserRef
	Query      string        // its words; where there are phrases it only ranks, and may be ""
	Phrases    []text.Phrase // every one must stand in a message
	SessionIDs []string      // only these; nil for all
	Roles      []memory.Role // only these; nil for all
	From, To   time.Time
	After      *TranscriptPosition // nil for the first page
	Limit      int
	MaxBytes   int // the page may end early once it holds so much content
	Explain    bool
}

// TranscriptPosition is where a page ended.
type TranscriptPosition struct {
	Hits int // on this page and those before
	store.TextPosition
}

// TranscriptPage is a page of hits. It may have fewer than were asked for, or none, and still not be the last.
type TranscriptPage struct {
	Hits      []MessageHit
	Positions []TranscriptPosition // of each hit
	Next      *TranscriptPosition  // where the next page begins; nil at the end
	Degraded  []memory.Degradation
}

const (
	// candidatesAtOnce is how many messages a view or an index is asked for at once, whose text is looked at then.
	candidatesAtOnce = 500
	// maxLooked is how many messages one call looks at: of a phrase of little words any message may be one that has it.
	maxLooked = 2000
)

// SearchTranscript finds messages by their words alone: those with most of the query's different words first, of equal ones the latest. It
// asks the full-text view where there is one, else, and where that does not answer, the user's own index: both return the same. Each is
// read from the primary store, where the words, the phrases and the filters are looked for once more.
func (s *Searcher) SearchTranscript(ctx context.Context, p TranscriptSearch) (TranscriptPage, error) {
	ctx = store.OneRequest(ctx)
	p.Query = s.profiles.SecretsOf("").Words(p.Query)
	sessions, err := s.sessionKeys(ctx, p.User, p.SessionIDs)
	if err != nil {
		return TranscriptPage{}, err
	}
	w := &walk{Searcher: s, TranscriptSearch: p, sessions: sessions, ask: countQuery(p), useView: s.transcript != nil}
	w.ask.Sessions = sessions
	if p.After != nil {
		w.at = *p.After
		w.begun = true
	}
	if err := w.run(ctx); err != nil {
		return TranscriptPage{}, err
	}
	CountDegraded(s.meter, w.page.Degraded)
	return w.page, nil
}

// countQuery is what is asked of an index: of each phrase the terms that every message has in which it stands.
func countQuery(p TranscriptSearch) rank.CountQuery {
	q := rank.CountQuery{
		Terms: viewTerms(text.Terms(p.Query)), Unmatched: len(p.Phrases) > 0, Roles: p.Roles, From: p.From, To: p.To, Limit: candidatesAtOnce,
	}
	for _, phrase := range p.Phrases {
		q.Required = append(q.Required, phrase.RequiredTerms()...)
	}
	return q
}

// walk looks at candidates in their order until a page is full.
type walk struct {
	*Searcher
	TranscriptSearch
	sessions map[memory.SessionKey]bool
	scope    memory.ScopeKey // of the user; "" until it is read
	ask      rank.CountQuery
	useView  bool
	degraded bool               // what the index lacks is said
	at       TranscriptPosition // of the last message that was looked at
	begun    bool               // at is set
	looked   int
	size     int
	page     TranscriptPage
}

// candidate is a message that an index or a view found.
type candidate struct {
	store.TextPosition
	retriever string // that found it
}

func (w *walk) run(ctx context.Context) error {
	if w.sessions != nil && len(w.sessions) == 0 || len(w.ask.Terms) == 0 && !w.ask.Unmatched {
		return nil
	}
	for {
		found, err := w.candidates(ctx)
		if err != nil {
			return err
		}
		for start := 0; start < len(found); start += readAtOnce {
			some := found[start:min(start+readAtOnce, len(found))]
			if err := w.look(ctx, some); err != nil {
				return err
			}
			if w.isFull() {
				w.page.Next = w.next(found)
				return nil
			}
		}
		if len(found) < candidatesAtOnce {
			return nil
		}
	}
}

// isFull reports whether the page ends here.
func (w *walk) isFull() bool {
	return len(w.page.Hits) >= w.Limit || w.size > w.MaxBytes || w.looked >= maxLooked
}

// next is where the next page begins, nil where the last candidate was looked at and no others can follow.
func (w *walk) next(found []candidate) *TranscriptPosition {
	if len(found) < candidatesAtOnce && found[len(found)-1].Place == w.at.Place {
		return nil
	}
	at := w.at
	return &at
}

// candidates are the next ones.
func (w *walk) candidates(ctx context.Context) ([]candidate, error) {
	if w.useView {
		found, late, err := w.fromView(ctx)
		if err != nil || late == nil {
			return found, err
		}
		w.useView = false // from here on the index does its part
		w.page.Degraded = append(w.page.Degraded, late...)
	}
	return w.fromIndex(ctx)
}

func (w *walk) fromView(ctx context.Context) ([]candidate, []memory.Degradation, error) {
	if w.scope == "" {
		user, err := w.store.User(ctx, w.User)
		if memory.IsGone(err) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read user: %w", err)
		}
		w.scope = user.Scope
	}
	q := store.TextSearch{
		Scope: w.scope, Terms: w.ask.Terms, Limit: w.ask.Limit, Sessions: slices.Sorted(maps.Keys(w.sessions)), From: w.From, To: w.To,
		Roles: w.Roles, Required: w.ask.Required, Order: store.TextOrderByCount, Unmatched: w.ask.Unmatched,
	}
	if w.begun {
		q.After = &w.at.TextPosition
	}
	hits, late := w.transcript.ownHits(ctx, q)
	out := make([]candidate, len(hits))
	for i, h := range hits {
		out[i] = candidate{h.Position(), rank.RetrieverElasticsearch}
	}
	return out, late, nil
}

func (w *walk) fromIndex(ctx context.Context) ([]candidate, error) {
	if w.begun {
		w.ask.After = &rank.CountHit{Place: w.at.Place, Count: w.at.Count, Time: w.at.Time}
	}
	hits, found, err := w.index.SearchCount(ctx, w.User, w.ask)
	if err != nil {
		return nil, err
	}
	if !w.degraded {
		lack := found.Degradations()
		w.degraded, w.page.Degraded = len(lack) > 0, append(w.page.Degraded, lack...)
	}
	out := make([]candidate, len(hits))
	for i, h := range hits {
		out[i] = candidate{store.TextPosition{Count: h.Count, Time: h.Time, Place: h.Place}, rank.RetrieverLexical}
	}
	return out, nil
}

// look reads candidates, keeps those that the primary store confirms, and stops where the page is full.
func (w *walk) look(ctx context.Context, some []candidate) error {
	places := make([]memory.Place, len(some))
	for i, c := range some {
		places[i] = c.Place
	}
	messages, err := w.messages.MessagesAt(ctx, store.PlacesQuery{User: w.User, Places: places})
	if err != nil {
		return fmt.Errorf("read messages that were found: %w", err)
	}
	placed := make(map[memory.Place]memory.PlacedMessage, len(messages))
	for _, m := range messages {
		placed[m.Place] = m
	}
	stale := 0
	for _, c := range some {
		if w.isFull() {
			break
		}
		w.looked++
		w.begun, w.at.TextPosition = true, c.TextPosition
		m, ok := placed[c.Place]
		if !ok || !w.admits(m.Message) {
			stale += w.ofView(c)
			continue
		}
		if hit, ok := w.hit(m, c); ok {
			w.size += m.Message.ContentBytes()
			w.at.Hits++
			hit.Rank = w.at.Hits
			w.page.Hits, w.page.Positions = append(w.page.Hits, hit), append(w.page.Positions, w.at)
		}
	}
	if w.transcript != nil {
		w.transcript.stale(stale)
	}
	return nil
}

func (w *walk) ofView(c candidate) int {
	if c.retriever == rank.RetrieverElasticsearch {
		return 1
	}
	return 0
}

// admits reports whether the message passes the filters: neither an index, which knows times by the millisecond, nor a view is believed.
func (w *walk) admits(m memory.Message) bool {
	said := m.SaidTime()
	return m.Recallable() && (w.From.IsZero() || !said.Before(w.From)) && (w.To.IsZero() || said.Before(w.To)) &&
		(w.Roles == nil || slices.Contains(w.Roles, m.Role))
}

// hit makes a hit of a message with every phrase, else it reports false. Its score is how many of the query's words it has.
func (w *walk) hit(m memory.PlacedMessage, c candidate) (MessageHit, bool) {
	said := m.Message.SaidText()
	found, ok := phrasesIn(said, w.Phrases)
	if !ok {
		return MessageHit{}, false
	}
	span, whole := rank.BestPassage(said, w.ask.Terms)
	if len(found) > 0 {
		span, whole = passageOf(said, found[0])
	}
	h := rank.Hit{
		Place: m.Place, Role: m.Message.Role, CreateTime: m.Message.SaidTime(), Passage: span, Whole: whole, Score: float64(c.Count),
		Retrievers: []rank.RetrieverScore{{Name: c.retriever, Rank: w.at.Hits + 1, Score: float64(c.Count)}},
	}
	if w.Explain {
		h.Why = &rank.Explanation{Terms: termsIn(said, w.ask.Terms)}
	}
	out := messageHit(m, h, 0, w.ask.Terms)
	if !w.ask.Unmatched && len(out.Highlights) == 0 {
		return MessageHit{}, false // a view has words of it that it does not say
	}
	out.Highlights = joined(out.Highlights, within(span, found))
	out.Message = Shown(m.Message, w.profiles.SecretsOf(""))
	return out, true
}

// termsIn are those of the terms that a message has, each of which counts 1.
func termsIn(said string, terms []string) (out []rank.TermScore) {
	has := map[string]bool{}
	for _, p := range text.Passages(said) {
		for _, t := range text.Terms(p.Of(said)) {
			has[t] = true
		}
	}
	for _, t := range terms {
		if has[t] {
			out = append(out, rank.TermScore{Term: t, WeightedTF: 1, IDF: 1, Score: 1})
		}
	}
	return out
}

// phrasesIn returns where the phrases stand in what is said, in order; false where one does not.
func phrasesIn(said string, phrases []text.Phrase) (all []text.Span, ok bool) {
	if len(phrases) == 0 {
		return nil, true
	}
	written := text.Write(said)
	for _, p := range phrases {
		found := written.Find(p)
		if len(found) == 0 {
			return nil, false
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, compareSpans)
	return all, true
}

func compareSpans(a, b text.Span) int {
	if a.Start != b.Start {
		return a.Start - b.Start
	}
	return a.End - b.End
}

// passageOf is the passage in which a phrase begins, and the one in which it ends, as one.
func passageOf(said string, phrase text.Span) (span text.Span, whole bool) {
	passages := text.Passages(said)
	first := max(0, slices.IndexFunc(passages, func(p text.Span) bool { return phrase.Start < p.End }))
	last := max(first, slices.IndexFunc(passages, func(p text.Span) bool { return phrase.End <= p.End }))
	return text.Span{Start: passages[first].Start, End: passages[last].End}, len(passages) == 1
}

// within are those of the spans that lie in a passage, as bytes of it.
func within(passage text.Span, all []text.Span) (out []text.Span) {
	for _, s := range all {
		if s.Start >= passage.Start && s.End <= passage.End {
			out = append(out, text.Span{Start: s.Start - passage.Start, End: s.End - passage.Start})
		}
	}
	return out
}

// joined are spans of both lists in order; those that touch become one.
func joined(a, b []text.Span) (out []text.Span) {
	all := slices.Concat(a, b)
	slices.SortFunc(all, compareSpans)
	for _, s := range all {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
