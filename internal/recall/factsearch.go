package recall

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// FactSearch asks for a user's current facts.
type FactSearch struct {
	User       memory.UserRef
	Query      string
	Categories []memory.Category // nil for all
	MinScore   float64
	Limit      int
	AsOf       time.Time // zero for now
}

// FactsFound is what SearchFacts returns.
type FactsFound struct {
	Hits     []FactHit
	Degraded []memory.Degradation
	Embedder string // whose vectors ranked; "" when words alone did
}

// FactHit is a fact with what its score is made of.
type FactHit = factrank.Hit

// SearchFacts finds facts by the ranking of BuildContext with the default profile's formula.
func (s *Searcher) SearchFacts(ctx context.Context, p FactSearch) (FactsFound, error) {
	ctx = store.OneRequest(ctx)
	resolved, err := s.profiles.Resolve(contextprofile.Call{})
	if err != nil {
		return FactsFound{}, err
	}
	if p.AsOf.IsZero() {
		p.AsOf = s.now()
	}
	p.Query = resolved.MaskSecrets.Words(p.Query)
	in := s.NewLookups(ctx, p.User, func() (string, error) { return p.Query, nil })
	times, err := timesOf(when.Read(p.Query), in, p.AsOf)
	if err != nil {
		return FactsFound{}, err
	}
	found, err := s.FindFacts(ctx, in.Facts, FactQuestion{QueryVector: in.Vector, Query: factrank.Query{
		Terms: text.Terms(p.Query), Categories: p.Categories, MinScore: p.MinScore, Limit: p.Limit,
		AsOf: p.AsOf, Formula: FormulaOf(resolved.Facts), Times: times,
	}})
	CountDegraded(s.meter, found.Degraded)
	return FactsFound{Hits: found.Hits, Embedder: found.Embedder, Degraded: found.Degraded}, err
}

// FormulaOf is how a profile weighs facts.
func FormulaOf(f contextprofile.Facts) factrank.Formula {
	return factrank.Formula{Relevance: f.Relevance, Significance: f.Significance, Recency: f.Recency, HalfLife: f.HalfLife}
}

// FactQuestion asks which of a user's facts are about something.
type FactQuestion struct {
	factrank.Query
	QueryVector func() (QueryVector, []memory.Degradation) // nil to rank by words alone
	Related     bool                                       // whether facts without the query's words must be nearer to it than unrelated ones
	WithSources bool                                       // whether the messages from which the nearest facts were learnt are asked for too
	Session     memory.SessionKey                          // whose own facts are asked for too; "" for none
}

// RankedFacts are the facts that a question found, the best first.
type RankedFacts struct {
	Hits     []factrank.Hit
	Sources  []rank.Match  // the messages from which the nearest facts were learnt, where FactQuestion.WithSources is set
	Session  []memory.Fact // current facts first said in the session, the latest first
	Scored   int
	waiting  int    // current facts that have no vector yet, as far as that is known here
	Embedder string // whose vectors ranked; "" when words alone did
	Degraded []memory.Degradation
}

// FindFacts ranks the user's facts. What is not in memory is asked for at once: the query's vector and what is near it,
// and what the full-text view finds.
func (s *Searcher) FindFacts(ctx context.Context, read readFacts, q FactQuestion) (RankedFacts, error) {
	if s.factTexts == nil {
		near, err := s.near(ctx, read, q)
		if err != nil {
			return RankedFacts{}, err
		}
		return s.rankFacts(ctx, q, near, nil)
	}
	var near nearFacts
	var matches []factrank.Match
	var late []memory.Degradation
	both, part := safegroup.WithContext(ctx)
	both.Go(func() (err error) {
		matches, late, err = s.matchFacts(part, read, q.Query)
		return err
	})
	err := both.WaitWith(func() (err error) {
		near, err = s.near(part, read, q)
		return err
	})
	if err != nil {
		return RankedFacts{}, err
	}
	q.Matched = matches
	return s.rankFacts(ctx, q, near, late)
}

// rankFacts decides with what was found. When another call gave vectors back meanwhile that this one read, they are read
// again.
func (s *Searcher) rankFacts(ctx context.Context, q FactQuestion, near nearFacts, late []memory.Degradation) (RankedFacts, error) {
	for reads := 1; ; reads++ {
		if found, ok := near.search(q); ok {
			found.Degraded = slices.Concat(near.late, late, waitingVectors(memory.TierVectors, found.waiting, "facts"))
			return found, nil
		}
		if reads == maxReadFacts {
			near = near.byWords("the vectors changed while they were read")
			continue
		}
		if err := s.nearer(ctx, s.facts.once(ctx, near.at.user), q, &near, vectorsAhead{}); err != nil {
			return RankedFacts{}, err
		}
	}
}

// nearFacts are a user's facts with what is known of their vectors.
type nearFacts struct {
	at    factsAt
	query QueryVector // zero where words alone must do
	floor int64       // vectors up to this number are in the view
	similar
	complete bool // whether those above it were read
	late     []memory.Degradation
}

// near finds what is near the query. The facts and their vectors are read while the embedder works, by another goroutine: this one
// has the embedder asked first, which is what takes longest.
func (s *Searcher) near(ctx context.Context, read readFacts, q FactQuestion) (nearFacts, error) {
	if q.QueryVector == nil {
		at, err := read()
		return nearFacts{at: at}, err
	}
	var out nearFacts
	var ahead vectorsAhead
	beside, part := safegroup.WithContext(ctx)
	part, stop := context.WithCancel(part)
	defer stop()
	beside.Go(func() error {
		ahead = s.readAhead(part, read)
		return nil
	})
	out.query, out.late = q.QueryVector()
	if out.query.Version == 0 {
		stop()
	}
	if err := beside.Wait(); err != nil {
		return out, err
	}
	err := s.nearer(ctx, read, q, &out, ahead)
	return out, err
}

// vectorsAhead says that vectors of the version were read before the query's vector was there; zero where none were.
type vectorsAhead struct {
	version  int
	complete bool // whether the index has all above the floor
}

// readAhead reads the facts, and the vectors of the version that the query's is likely to have. An error is left to who needs them, and
// reads again.
func (s *Searcher) readAhead(ctx context.Context, read readFacts) vectorsAhead {
	at, err := read()
	version := s.queries.expected()
	if err != nil || version == 0 {
		return vectorsAhead{}
	}
	complete, err := s.facts.addVectors(ctx, at, version, s.viewed(at, version))
	if err != nil {
		return vectorsAhead{}
	}
	return vectorsAhead{version, complete}
}

// nearer reads the facts, and with a query's vector those vectors that the index lacks, where they were not read ahead, beside asking
// the view for the others. A view that does not answer leaves the words.
func (s *Searcher) nearer(ctx context.Context, read readFacts, q FactQuestion, near *nearFacts, ahead vectorsAhead) (err error) {
	if near.at, err = read(); err != nil || near.query.Version == 0 {
		return err
	}
	near.floor = s.viewed(near.at, near.query.Version)
	asked := *near
	var found similar
	var late []memory.Degradation
	both, part := safegroup.WithContext(ctx)
	if near.complete = ahead.complete; ahead.version != asked.query.Version {
		both.Go(func() (err error) {
			near.complete, err = s.facts.addVectors(part, asked.at, asked.query.Version, asked.floor)
			return err
		})
	}
	if asked.floor > 0 {
		both.Go(func() error {
			found, late = s.askVectors(part, asked, q.Query)
			return nil
		})
	}
	err = both.Wait()
	near.similar = found
	if err != nil || late == nil {
		return err
	}
	near.query, near.late = QueryVector{}, append(near.late, late...)
	return nil
}

// viewed is the number up to which vectors of the version are left to the view: as far as it has them. 0 without
// a view, and while it is built anew or for another version.
func (s *Searcher) viewed(at factsAt, version int) int64 {
	if s.factVectors == nil || at.fed.Build == 0 || at.fed.Version != version {
		return 0
	}
	return at.fed.No
}

// askVectors asks the view for the facts nearest to the query. Every filter goes with it, so that it holds before the
// nearest are chosen.
func (s *Searcher) askVectors(ctx context.Context, near nearFacts, q factrank.Query) (similar, []memory.Degradation) {
	found, late := s.factVectors.similarFacts(ctx, store.VectorSearch{
		Space: store.VectorSpace{
			View:      memory.ViewVectors,
			Build:     near.at.fed.Build,
			Version:   near.query.Version,
			Dimension: len(near.query.Values),
		},
		Scope:           near.at.scope,
		Vector:          near.query.Values,
		MinSignificance: q.MinSignificance,
		Categories:      q.Categories,
		Exclude:         q.Exclude,
		CurrentOnly:     true,
	})
	s.factVectors.stale(near.at.unknown(maps.Keys(found.cosines)))
	return found, late
}

// search ranks the facts; false when the index does not have the vectors any more that were read.
func (n nearFacts) search(q FactQuestion) (RankedFacts, bool) {
	x := n.at.facts
	x.RLock()
	defer x.RUnlock()
	if n.query.Version != 0 {
		if !n.complete || !x.holds(n.at.scope, n.query.Version, n.floor) {
			return RankedFacts{}, false
		}
		q.Vector, q.Similar, q.Farther, q.WithWords = n.query.Values, n.cosines, n.farther, n.query.Selective
		if q.Related {
			q.Unrelated = n.query.Unrelated
		}
	}
	found := RankedFacts{Scored: x.index.Len(), Embedder: n.query.Model}
	// A view has all vectors up to the floor, and those of a model that is part of the program are made at once.
	if n.query.Version != 0 && n.floor == 0 && !n.query.Selective {
		found.waiting = x.index.WithoutVector()
	}
	if q.WithSources {
		found.Hits, found.Sources = x.index.SearchWithSources(q.Query)
	} else {
		found.Hits = x.index.Search(q.Query)
	}
	if q.Session != "" {
		found.Session = x.index.LearntIn(q.Session)
	}
	return found, true
}

// byWords leaves vectors out.
func (n nearFacts) byWords(reason string) nearFacts {
	n.query, n.late = QueryVector{}, append(n.late, memory.Degradation{Tier: memory.TierVectors, Reason: reason})
	return n
}

// matchFacts asks the full-text view for facts with the query's words.
func (s *Searcher) matchFacts(ctx context.Context, read readFacts, q factrank.Query) ([]factrank.Match, []memory.Degradation, error) {
	at, err := read()
	if err != nil || len(q.Terms) == 0 {
		return nil, nil, err
	}
	hits, late := s.factTexts.search(ctx, store.TextSearch{
		Scope: at.scope, Terms: q.Terms, MinSignificance: q.MinSignificance, Categories: q.Categories, CurrentOnly: true,
	})
	var matches []factrank.Match
	seen := map[string]bool{}
	for _, h := range hits {
		if !seen[h.FactID] {
			seen[h.FactID] = true
			matches = append(matches, factrank.Match{ID: h.FactID, Score: h.Score})
		}
	}
	s.factTexts.stale(at.unknown(maps.Keys(seen)))
	return slices.Clip(matches), late, nil
}
