package viewfeed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Target is a view as it is fed and verified: where its rows lie, and what of the primary store they say. VectorTarget, FactTarget,
// TranscriptTarget and MessageVectorTarget make one.
type Target struct {
	view   memory.View
	place  rowPlace
	source rowSource
}

// View returns which view it is.
func (t Target) View() memory.View { return t.view }

// VectorTarget is memory.ViewVectors: every fact that has a vector of the active embedding version, superseded ones too.
// Versions that are being made are not fed: when one becomes active, every feed waits, and its vectors are put into a space
// of their own.
func VectorTarget(v store.VectorView) Target {
	return Target{view: memory.ViewVectors, place: vectorPlace(v, memory.ViewVectors), source: factVectorSource{}}
}

// FactTarget is memory.ViewFacts: the words of every fact, superseded ones too.
func FactTarget(v store.TextView) Target {
	return Target{view: memory.ViewFacts, place: textPlace(v, memory.ViewFacts), source: factSource{}}
}

// TranscriptTarget is memory.ViewTranscript: the words of every message that may be recalled.
func TranscriptTarget(v store.TextView) Target {
	return Target{view: memory.ViewTranscript, place: textPlace(v, memory.ViewTranscript), source: transcriptSource{}}
}

// space is where the rows of a view lie: store.VectorSpace or store.TextSpace.
type space struct {
	build     int64
	version   int // of vectors; else 0
	dimension int // of vectors; else 0
}

// row is what a view holds of a fact or a message: one of vector and text.
type row struct {
	store.RowState
	vector store.VectorRow
	text   store.TextRow
}

// piece is what a view lacks of one feed, or the first part of it.
type piece struct {
	feed    store.Feed
	rows    []row
	removed []store.RowState
	fed     store.FeedPosition // once it is put
	more    bool               // the feed goes on
}

// rowPlace is the view's side of a Target.
type rowPlace interface {
	prepare(ctx context.Context, at space) error
	put(ctx context.Context, at space, rows []row) error
	remove(ctx context.Context, at space, scope memory.ScopeKey, rows []store.RowState) error
	rows(ctx context.Context, q store.RowQuery[space]) ([]store.RowState, error)
	eraseScope(ctx context.Context, scope memory.ScopeKey) error
	spaces(ctx context.Context) ([]space, error)
	drop(ctx context.Context, at space) error
	lag() time.Duration
}

// RowStore is the part of the primary store that rows are made of.
type RowStore interface {
	Embeddings(ctx context.Context) ([]memory.Embedding, error)
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
}

// rowSource is the primary store's side of a Target.
type rowSource interface {
	// space must return where rows of the build belong, and false while that is not known.
	space(ctx context.Context, s RowStore, build int64) (space, bool, error)
	// changes must return what the view lacks of the feed after feed.Checkpoint.
	changes(ctx context.Context, s RowStore, at space, feed store.Feed) (piece, error)
	// expected must return what the view must hold of the user. Its checkpoint must be read before what there is.
	expected(ctx context.Context, s VerifyStore, at space, user memory.User) (expectation, error)
	// load must return those of the user's rows that are asked for and exist, as of now.
	load(ctx context.Context, s VerifyStore, at space, user memory.User, keys []rowKey) ([]row, error)
}

// placeIn is one of the views in a store.View.
type placeIn[Space, Row, Search, Hit any] struct {
	view  store.View[Space, Row, Search, Hit]
	space func(at space) Space
	at    func(s Space) (at space, ok bool) // where a space lies; false for one of another view
	row   func(r row) Row
}

func vectorPlace(v store.VectorView, of memory.View) rowPlace {
	return placeIn[store.VectorSpace, store.VectorRow, store.VectorSearch, store.VectorHit]{
		view: v,
		space: func(at space) store.VectorSpace {
			return store.VectorSpace{View: of, Build: at.build, Version: at.version, Dimension: at.dimension}
		},
		at: func(s store.VectorSpace) (space, bool) {
			return space{build: s.Build, version: s.Version, dimension: s.Dimension}, s.View == of
		},
		row: func(r row) store.VectorRow { return r.vector },
	}
}

func textPlace(v store.TextView, of memory.View) rowPlace {
	return placeIn[store.TextSpace, store.TextRow, store.TextSearch, store.TextHit]{
		view:  v,
		space: func(at space) store.TextSpace { return store.TextSpace{View: of, Build: at.build} },
		at:    func(s store.TextSpace) (space, bool) { return space{build: s.Build}, s.View == of },
		row:   func(r row) store.TextRow { return r.text },
	}
}

func (p placeIn[Space, Row, Search, Hit]) lag() time.Duration { return p.view.Lag() }

func (p placeIn[Space, Row, Search, Hit]) prepare(ctx context.Context, at space) error {
	return p.view.Prepare(ctx, p.space(at))
}

func (p placeIn[Space, Row, Search, Hit]) drop(ctx context.Context, at space) error {
	return p.view.Drop(ctx, p.space(at))
}

func (p placeIn[Space, Row, Search, Hit]) put(ctx context.Context, at space, rows []row) error {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = p.row(r)
	}
	return p.view.Put(ctx, p.space(at), out)
}

func (p placeIn[Space, Row, Search, Hit]) remove(ctx context.Context, at space, scope memory.ScopeKey, rows []store.RowState) error {
	return p.view.Remove(ctx, p.space(at), scope, rows)
}

func (p placeIn[Space, Row, Search, Hit]) rows(ctx context.Context, q store.RowQuery[space]) ([]store.RowState, error) {
	return p.view.Rows(ctx, store.RowQuery[Space]{Space: p.space(q.Space), Scope: q.Scope, After: q.After, Limit: q.Limit})
}

func (p placeIn[Space, Row, Search, Hit]) eraseScope(ctx context.Context, scope memory.ScopeKey) error {
	_, err := p.view.EraseScope(ctx, scope)
	return err
}

func (p placeIn[Space, Row, Search, Hit]) spaces(ctx context.Context) ([]space, error) {
	all, err := p.view.Spaces(ctx)
	var out []space
	for _, s := range all {
		if at, ok := p.at(s); ok {
			out = append(out, at)
		}
	}
	return out, err
}

// factVectorSource returns facts with their vectors.
type factVectorSource struct{}

func (factVectorSource) space(ctx context.Context, s RowStore, build int64) (space, bool, error) {
	versions, err := s.Embeddings(ctx)
	if err != nil {
		return space{}, false, fmt.Errorf("read embedding versions: %w", err)
	}
	i := slices.IndexFunc(versions, func(v memory.Embedding) bool { return v.Active })
	if i < 0 {
		return space{}, false, nil // the dimension of the embedding endpoint is not known yet
	}
	return space{build: build, version: versions[i].Version, dimension: versions[i].Dimension}, true, nil
}

// changes returns rows of facts whose vector or labels changed. One that has no vector, as after its text changed, loses its
// row: what the old text was near to says nothing of the new one.
func (v factVectorSource) changes(ctx context.Context, s RowStore, at space, feed store.Feed) (piece, error) {
	fed := fedIn(at, feed)
	facts, err := s.FactsSince(ctx, feed.User, fed.Revision)
	if err != nil {
		return piece{}, fmt.Errorf("read facts: %w", err)
	}
	vectors, err := s.FactVectors(ctx, store.FactVectorQuery{User: feed.User, Version: at.version, After: fed.No})
	if err != nil {
		return piece{}, fmt.Errorf("read fact vectors: %w", err)
	}
	p := piece{feed: feed, removed: forgotten(facts), fed: store.FeedPosition{
		Revision: facts.Revision, Version: at.version, No: max(feed.Head.No, lastNo(vectors)),
	}}
	changed := factsByID(facts.Facts)
	fresh := vectorsByID(vectors)
	// What is marked is believed to be in the view: of a fact that was stored between the two reads too.
	if !covers(changed, fresh) || !covers(fresh, changed) && fed != (store.FeedPosition{}) {
		if facts, vectors, err = v.all(ctx, s, at, feed.User); err != nil {
			return piece{}, err
		}
	}
	return v.fill(p, facts, vectors, func(id string) bool {
		_, a := changed[id]
		_, b := fresh[id]
		return a || b
	}), nil
}

// fill adds the rows of those facts that are asked for.
func (factVectorSource) fill(p piece, facts store.FactState, vectors []store.FactVector, asked func(id string) bool) piece {
	byID := vectorsByID(vectors)
	for _, f := range facts.Facts {
		if !asked(f.ID) {
			continue
		}
		vector, ok := byID[f.ID]
		switch {
		case ok:
			p.rows = append(p.rows, vectorRow(facts.Scope, f, vector))
		case f.Revision > 1: // a new fact has no row yet
			p.removed = append(p.removed, store.RowState{Scope: facts.Scope, FactID: f.ID})
		}
	}
	return p
}

// all reads the user's facts and vectors from the first on.
func (factVectorSource) all(ctx context.Context, s RowStore, at space, user memory.UserRef) (store.FactState, []store.FactVector, error) {
	facts, err := s.FactsSince(ctx, user, 0)
	if err != nil {
		return store.FactState{}, nil, fmt.Errorf("read all facts: %w", err)
	}
	vectors, err := s.FactVectors(ctx, store.FactVectorQuery{User: user, Version: at.version})
	if err != nil {
		return store.FactState{}, nil, fmt.Errorf("read all fact vectors: %w", err)
	}
	return facts, vectors, nil
}

func lastNo(vectors []store.FactVector) int64 {
	if len(vectors) == 0 {
		return 0
	}
	return vectors[len(vectors)-1].No
}

func factsByID(facts []memory.Fact) map[string]memory.Fact {
	out := make(map[string]memory.Fact, len(facts))
	for _, f := range facts {
		out[f.ID] = f
	}
	return out
}

func vectorsByID(vectors []store.FactVector) map[string]store.FactVector {
	out := make(map[string]store.FactVector, len(vectors))
	for _, v := range vectors {
		out[v.FactID] = v
	}
	return out
}

// covers reports whether a has all keys of b.
func covers[A, B any](a map[string]A, b map[string]B) bool {
	for k := range b {
		if _, ok := a[k]; !ok {
			return false
		}
	}
	return true
}

// forgotten returns the rows that forgotten facts had, each once: a fact is forgotten under each of its keys.
func forgotten(s store.FactState) []store.RowState {
	var out []store.RowState
	for _, f := range s.Forgotten {
		out = append(out, store.RowState{Scope: s.Scope, FactID: f.FactID})
	}
	slices.SortFunc(out, func(a, b store.RowState) int { return cmp.Compare(a.FactID, b.FactID) })
	return slices.CompactFunc(out, func(a, b store.RowState) bool { return a.FactID == b.FactID })
}

func vectorRow(scope memory.ScopeKey, f memory.Fact, v store.FactVector) row {
	r := row{RowState: store.RowState{Scope: scope, FactID: f.ID, Revision: f.Revision}}
	r.vector = store.VectorRow{
		Scope: scope, FactID: f.ID, Revision: f.Revision, Vector: v.Vector, Significance: f.Significance, Category: f.Category,
		ValidFrom: f.ValidFrom, ValidTo: f.ValidTo,
	}
	if f.Pinned {
		r.vector.Significance = memory.MaxSignificance // above every least one: see factrank.Query
	}
	if len(f.Evidence) > 0 {
		r.vector.Session = f.Evidence[0].Session
	}
	return r
}
