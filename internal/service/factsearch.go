package service

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/text"
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

// FactsFound is what SearchFacts answers.
type FactsFound struct {
	Hits     []FactHit
	Degraded []Degradation
	Embedder string // whose vectors ranked; "" when words alone did
	Scored   int    // the facts the user has, superseded ones included
}

// FactHit is a fact with what its score is made of.
type FactHit = rank.FactHit

// SearchFacts finds facts by the ranking of BuildContext with the default profile's formula.
func (s *Service) SearchFacts(ctx context.Context, p FactSearch) (FactsFound, error) {
	resolved, err := s.policies.Resolve(policy.Call{})
	if err != nil {
		return FactsFound{}, err
	}
	if p.AsOf.IsZero() {
		p.AsOf = s.now()
	}
	v, degraded := s.queries.Embed(ctx, p.Query)
	found, err := s.facts.search(ctx, p.User, factAsk{version: v.Version, FactQuery: rank.FactQuery{
		Terms: text.Terms(p.Query), Vector: v.Values, Categories: p.Categories, MinScore: p.MinScore, Limit: p.Limit,
		AsOf: p.AsOf, Formula: formulaOf(resolved.Facts),
	}})
	return FactsFound{Hits: found.hits, Scored: found.scored, Embedder: v.Model, Degraded: degraded}, err
}

func formulaOf(f policy.Facts) rank.FactFormula {
	return rank.FactFormula{Relevance: f.Relevance, Significance: f.Significance, Recency: f.Recency, HalfLife: f.HalfLife}
}
