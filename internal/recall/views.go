package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// VectorView is the part of a store.VectorView that requests ask.
type VectorView interface {
	Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error)
}

// TextView is the part of a store.TextView that requests ask.
type TextView interface {
	Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error)
}

// ViewBuilds is the part of the primary store that knows which build of a view to ask.
type ViewBuilds interface {
	ViewBuild(ctx context.Context, view memory.View) (int64, error)
}

// A view that fails is left alone for a second at first and for five at most, so that it is asked again soon after it
// recovered.
const (
	viewDelay    = time.Second
	viewMaxDelay = 5 * time.Second
)

// retriever is a view as requests ask it: within a deadline, and not at all while it fails. What goes wrong with it never
// fails a call. What it returns are candidates: its own scope is all that is believed of a hit, and only to drop it.
type retriever struct {
	view     memory.View
	deadline time.Duration
	circuit  *retry.Breaker
	meter    Meter
}

func newRetriever(view memory.View, o Options) retriever {
	return retriever{
		view: view, deadline: o.Views.Deadline, meter: o.Meter,
		circuit: retry.NewBreaker(retry.BreakerOptions{Delay: viewDelay, MaxDelay: viewMaxDelay, Now: o.Now}),
	}
}

// ask runs a search and returns why there is nothing of it. Errors of views may quote what was asked: none gets out.
func (a *retriever) ask(ctx context.Context, search func(context.Context) error) []memory.Degradation {
	late := false
	err := a.circuit.Do(ctx, func() error {
		inner, cancel := context.WithTimeout(ctx, a.deadline)
		defer cancel()
		err := search(inner)
		late = inner.Err() != nil
		return err
	})
	if err == nil {
		return nil
	}
	reason := "the view failed"
	if open, ok := errors.AsType[*retry.OpenError](err); ok {
		reason = fmt.Sprintf("the view failed %d times in a row and is not asked", open.Failures)
	} else if late {
		reason = "the view did not answer in time"
	}
	return []memory.Degradation{{Tier: a.view.String(), Reason: reason}}
}

// foreign counts hits of other scopes than the asked one.
func (a *retriever) foreign(n int) {
	if n > 0 {
		a.meter.ForeignHits(a.view.String(), n)
	}
}

// stale counts hits that the primary store does not have.
func (a *retriever) stale(n int) {
	if n > 0 {
		a.meter.StaleHits(a.view.String(), n)
	}
}

// viewHits is how many hits a view is asked for: as many as the other retrievers hand to the score.
const viewHits = rank.FuseDepth

// turnHits is how many messages the view is asked for: as many again as are fused may stand in the context already.
const turnHits = 2 * rank.FuseDepth

// vectorRetriever asks a view of vectors, of facts or of messages; nil where every vector is compared here.
type vectorRetriever struct {
	retriever
	vectors VectorView
}

func newVectorRetriever(view memory.View, o Options) *vectorRetriever {
	if o.Views.Vectors == nil {
		return nil
	}
	return &vectorRetriever{retriever: newRetriever(view, o), vectors: o.Views.Vectors}
}

// nearest are the hits of a search.
type nearest struct {
	own   []store.VectorHit // of the scope, the nearest first
	whole bool              // there are as many as were asked for, and nobody else's among them
}

// search returns the scope's own hits, and counts the others.
func (a *vectorRetriever) search(ctx context.Context, q store.VectorSearch) (nearest, []memory.Degradation) {
	var hits []store.VectorHit
	late := a.ask(ctx, func(ctx context.Context) (err error) {
		hits, err = a.vectors.Search(ctx, q)
		return err
	})
	if late != nil {
		return nearest{}, late
	}
	own, foreign := ownHits(q.Scope, hits)
	a.foreign(foreign)
	return nearest{own, len(hits) >= q.Limit && foreign == 0}, nil
}

// ownHits keeps a scope's hits, with cosines that can be.
func ownHits(scope memory.ScopeKey, hits []store.VectorHit) (own []store.VectorHit, foreign int) {
	own = make([]store.VectorHit, 0, len(hits))
	for _, h := range hits {
		switch {
		case h.Scope != scope:
			foreign++
		case !math.IsNaN(h.Score):
			h.Score = min(max(h.Score, -1), 1)
			own = append(own, h)
		}
	}
	return own, foreign
}

// nearTurns returns messages; false when the view does not answer.
func (a *vectorRetriever) nearTurns(ctx context.Context, q store.VectorSearch) ([]rank.Match, bool) {
	q.Limit = turnHits
	found, late := a.search(ctx, q)
	if late != nil {
		return nil, false
	}
	matches := make([]rank.Match, len(found.own))
	for i, h := range found.own {
		matches[i] = rank.Match{Place: h.Place, Score: h.Score}
	}
	return matches, true
}

// similar are the facts of a scope that a view found nearest.
type similar struct {
	cosines map[string]float64 // by fact id; nil when the view did not answer
	farther float64            // the most that another fact's cosine can be
}

// similarFacts returns facts. A list that is not whole may lack own ones that are nearer than its last hit.
func (a *vectorRetriever) similarFacts(ctx context.Context, q store.VectorSearch) (similar, []memory.Degradation) {
	q.Limit = viewHits
	found, late := a.search(ctx, q)
	if late != nil {
		return similar{}, late
	}
	out := similar{cosines: make(map[string]float64, len(found.own)), farther: 1}
	for _, h := range found.own {
		out.cosines[h.FactID] = h.Score
		if found.whole {
			out.farther = min(out.farther, h.Score)
		}
	}
	return out, nil
}

// textRetriever asks the full-text view of messages or facts; nil without one.
type textRetriever struct {
	retriever
	texts  TextView
	builds *builds
}

func newTextRetriever(view memory.View, o Options) *textRetriever {
	if o.Views.Texts == nil {
		return nil
	}
	return &textRetriever{retriever: newRetriever(view, o), texts: o.Views.Texts, builds: newBuilds(o.Store, o.Now)}
}

// search returns the scope's own hits. Terms that a view cannot be asked for are left out.
func (a *textRetriever) search(ctx context.Context, q store.TextSearch) ([]store.TextHit, []memory.Degradation) {
	q.Terms, q.Limit = viewTerms(q.Terms), viewHits
	if len(q.Terms) == 0 || q.Scope == "" {
		return nil, nil
	}
	return a.ownHits(ctx, q)
}

// ownHits asks the view's build, and counts the hits of other scopes.
func (a *textRetriever) ownHits(ctx context.Context, q store.TextSearch) ([]store.TextHit, []memory.Degradation) {
	var hits []store.TextHit
	late := a.ask(ctx, func(ctx context.Context) error {
		build, err := a.builds.of(ctx, a.view)
		if err != nil {
			return err
		}
		q.Space = store.TextSpace{View: a.view, Build: build}
		if hits, err = a.texts.Search(ctx, q); err != nil {
			a.builds.forget(a.view)
		}
		return err
	})
	own := make([]store.TextHit, 0, len(hits))
	for _, h := range hits {
		if h.Scope == q.Scope {
			own = append(own, h)
		}
	}
	a.foreign(len(hits) - len(own))
	return own, late
}

// viewTerms are the distinct terms of a query, as many as the own index looks for, that a view can be asked for.
func viewTerms(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	var out []string
	for _, t := range terms {
		if !seen[t] && len(out) < rank.MaxQueryTerms && store.CheckTerms([]string{t}) == nil {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// buildFor is how long a view's build is believed. A space outlives its build by more: it is dropped when the next one
// has been filled.
const buildFor = time.Second

// builds remembers which build of a view to ask, so that a call need not read it.
type builds struct {
	store ViewBuilds
	now   func() time.Time
	mu    sync.Mutex
	known map[memory.View]knownBuild
}

type knownBuild struct {
	no    int64
	until time.Time
}

func newBuilds(s ViewBuilds, now func() time.Time) *builds {
	return &builds{store: s, now: now, known: map[memory.View]knownBuild{}}
}

func (b *builds) of(ctx context.Context, view memory.View) (int64, error) {
	b.mu.Lock()
	known := b.known[view]
	b.mu.Unlock()
	if b.now().Before(known.until) {
		return known.no, nil
	}
	no, err := b.store.ViewBuild(ctx, view)
	if err != nil {
		return 0, fmt.Errorf("read the view's build: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[view] = knownBuild{no, b.now().Add(buildFor)}
	return no, nil
}

// forget has the build read again: what it named did not answer.
func (b *builds) forget(view memory.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, view)
}
