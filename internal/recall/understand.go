package recall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
)

// Lookups are what the searches of one call share: each part is read once, for whoever asks first.
type Lookups struct {
	Query  func() (string, error)
	User   func() (memory.User, error) // without State; the zero one where nothing is known of the user
	Facts  readFacts
	Vector func() (QueryVector, []memory.Degradation) // of the query; the zero one where words alone must do
	Found  func() (RankedFacts, error)                // the facts that the query finds
	Hidden func() (memory.Hidden, error)              // the messages that stand in no context
	Marks  func() (summary.Marks, error)              // with it
}

// NewLookups returns what a call about a user may read. It leaves Found, Hidden and Marks to the caller.
func (s *Searcher) NewLookups(ctx context.Context, ref memory.UserRef, query func() (string, error)) Lookups {
	user := sync.OnceValues(func() (memory.User, error) {
		user, err := s.store.User(ctx, ref)
		if err != nil && !memory.IsGone(err) {
			return memory.User{}, fmt.Errorf("read the user's timezone: %w", err)
		}
		return user, nil
	})
	vector := sync.OnceValues(func() (QueryVector, []memory.Degradation) {
		words, err := query()
		if err != nil {
			return QueryVector{}, nil
		}
		return s.queries.Embed(ctx, words)
	})
	return Lookups{Query: query, User: user, Facts: s.facts.once(ctx, ref), Vector: vector}
}

// Understand notes what the ranking takes from the words of a search: their terms, the words near to these, what is near
// to them in meaning, whether when is asked, and the times that are named, in the user's timezone.
func (s *Searcher) Understand(q *MessageQuestion, in Lookups, now time.Time) (err error) {
	if q.Words, err = in.Query(); err != nil || q.Words == "" {
		return err
	}
	q.Near, q.AsksWhen = s.related, when.Asks(q.Words)
	alone := !s.queries.mayEmbed(q.Words)
	q.User, q.WordsAlone = in.User, alone
	q.Vector = func() rank.QueryVector {
		if alone {
			return rank.QueryVector{}
		}
		v, _ := in.Vector()
		return rank.QueryVector{Version: v.Version, Values: v.Values, Unrelated: v.Unrelated}
	}
	q.Attach = func() (map[string][]memory.Place, error) {
		at, err := in.Facts()
		if err != nil {
			return nil, err
		}
		return at.sources(q.AttachedTerms()), nil
	}
	if s.turnVectors != nil {
		q.Nearest = s.turnVectors.nearTurns
	}
	q.Sources = func() ([]rank.Match, error) {
		f, err := in.Found()
		return f.Sources, err
	}
	return nameTimes(q, in, now)
}

// nameTimes reads the times that the words of a search name, whose own words count little then: "last week" finds what was
// said then, not who says "last" and "week".
func nameTimes(q *MessageQuestion, in Lookups, now time.Time) error {
	ordered := when.OrderIn(q.Words)
	q.Order = ordered.Order
	named := when.Read(q.Words)
	if named.None() && q.Order == when.AnyOrder { // as for most words: spare the read
		q.Terms = text.Terms(q.Words)
		return nil
	}
	var err error
	if q.Times, err = timesOf(named, in, now); err != nil {
		return err
	}
	q.Terms, q.Faint = text.Terms(q.Words), faintTerms(q.Words, q.Times, ordered)
	return nil
}

// timesOf are the times that expressions mean, in the user's timezone.
func timesOf(named when.Expressions, in Lookups, now time.Time) ([]when.Mention, error) {
	if named.None() {
		return nil, nil
	}
	user, err := in.User()
	if err != nil {
		return nil, err
	}
	return named.At(now.In(user.Location())), nil
}

// faintTerms are the terms that stand nowhere but in the words that name a time or an order.
func faintTerms(words string, times []when.Mention, ordered when.Ordered) map[string]bool {
	faint, other := map[string]bool{}, map[string]bool{}
	for _, t := range text.Tokens(words) {
		of := func(m when.Mention) bool { return t.Start < m.End && m.Start < t.End }
		if slices.ContainsFunc(times, of) || t.Start < ordered.End && ordered.Start < t.End {
			faint[t.Term] = true
		} else {
			other[t.Term] = true
		}
	}
	maps.DeleteFunc(faint, func(term string, _ bool) bool { return other[term] })
	return faint
}
