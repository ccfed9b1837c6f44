package recall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/recall/rank"
)

// Reranker reads documents together with a query. Rerank must return one finite score for each document, in the order of
// the documents, the higher the better, or an error whose text holds nothing of either.
type Reranker interface {
	Rerank(ctx context.Context, query string, documents []string) ([]float64, error)
}

// A reranker that fails is left alone as a view is.
const (
	rerankDelay    = viewDelay
	rerankMaxDelay = viewMaxDelay
)

// Bounds of what a reranker is sent, in bytes: models read some 512 tokens of query and document together, and a passage
// of text.PassageTokens in a script of three bytes a character is shorter.
const (
	maxRerankQuery    = 2 << 10
	maxRerankDocument = 2 << 10
)

// reranking asks a reranker: within a deadline, and not at all while it fails. What goes wrong with it never fails a
// call, and leaves the order as it was.
type reranking struct {
	reranker   Reranker
	candidates int
	deadline   time.Duration
	circuit    *retry.Breaker
}

// newReranking is nil where no reranker is configured.
func newReranking(r Rerank, now func() time.Time) *reranking {
	if r.Reranker == nil {
		return nil
	}
	return &reranking{
		reranker: r.Reranker, candidates: r.Candidates, deadline: r.Deadline,
		circuit: retry.NewBreaker(retry.BreakerOptions{Delay: rerankDelay, MaxDelay: rerankMaxDelay, Now: now}),
	}
}

// FindMessages searches a user's messages, and has a reranker order the best of what was found where one is configured. As many are
// reranked whatever the limit is, so that pages follow each other.
func (s *Searcher) FindMessages(ctx context.Context, q MessageQuestion, scope memory.ScopeKey) (Found, []memory.Degradation, error) {
	if s.reranker == nil || q.Words == "" {
		return s.matchedMessages(ctx, q, scope)
	}
	limit := q.Limit
	q.Limit = max(limit, s.reranker.candidates)
	found, late, err := s.matchedMessages(ctx, q, scope)
	if err != nil {
		return Found{}, nil, err
	}
	hits, lack, err := s.rerank(ctx, q, found.Hits)
	if err != nil {
		return Found{}, nil, err
	}
	found.Hits = hits[:min(len(hits), limit)]
	return found, append(late, lack...), nil
}

// rerank has the first hits put in a reranker's order. They are read from the primary store before: nothing is sent out that is
// not the caller's, and a hit whose message is gone is dropped.
func (s *Searcher) rerank(ctx context.Context, q MessageQuestion, hits []rank.Hit) ([]rank.Hit, []memory.Degradation, error) {
	n := min(len(hits), s.reranker.candidates)
	if n < 2 {
		return hits, nil, nil
	}
	best, documents, err := s.documents(ctx, q, hits[:n])
	if err != nil || len(best) < 2 {
		return hits, nil, err
	}
	scores, late := s.reranker.ask(ctx, text.Clip(q.Words, maxRerankQuery), documents)
	if late != nil {
		return hits, late, nil
	}
	for i, score := range scores {
		best[i].Score = score
	}
	return rank.Rerank(hits, n, best), nil, nil
}

// documents reads what a reranker is to read of hits. Messages may be a mebibyte each, so that not all are held at once.
func (s *Searcher) documents(
	ctx context.Context,
	q MessageQuestion,
	hits []rank.Hit,
) (best []rank.Reranked, documents []string, err error) {
	in := time.UTC
	if q.User != nil {
		user, err := q.User()
		if err != nil {
			return nil, nil, err
		}
		in = user.Location()
	}
	for start := 0; start < len(hits); start += readAtOnce {
		part := hits[start:min(start+readAtOnce, len(hits))]
		found, err := s.Confirm(ctx, Candidates{User: q.Ref.UserRef, Hits: part, Query: q.Query})
		if err != nil {
			return nil, nil, err
		}
		for _, v := range found {
			best = append(best, rank.Reranked{Hit: *v.Hit, At: start + v.At})
			documents = append(documents, document(v, in))
		}
	}
	return best, documents, nil
}

// document is a hit's best passage with who said it and on which day of a timezone.
func document(v Confirmed, in *time.Location) string {
	m := v.Message.Message
	speaker := m.Name
	if speaker == "" {
		speaker = m.Role.String()
	}
	words := passage(m.SaidText(), v.Hit.Passage)
	return text.Clip(fmt.Sprintf("%s, %s: %s", speaker, m.SaidTime().In(in).Format(time.DateOnly), words), maxRerankDocument)
}

// ask returns the documents' scores, or why there are none.
func (a *reranking) ask(ctx context.Context, query string, documents []string) (scores []float64, late []memory.Degradation) {
	err := a.circuit.Do(ctx, func() (err error) {
		inner, cancel := context.WithTimeout(ctx, a.deadline)
		defer cancel()
		scores, err = a.reranker.Rerank(inner, query, documents)
		return err
	})
	if err == nil {
		return scores, nil
	}
	reason := err.Error()
	if open, ok := errors.AsType[*retry.OpenError](err); ok {
		reason = fmt.Sprintf("the reranker failed %d times in a row and is not asked", open.Failures)
	}
	return nil, []memory.Degradation{{Tier: memory.TierRerank, Reason: reason}}
}
