package service

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
)

// MaxUnindexed is how many messages are analysed at read time because the indexer has not come to them. Beyond it a
// reply says that recall is degraded.
const MaxUnindexed = 2000

// Lexicon keeps the lexical indexes of the users that were asked about lately in memory. An index is only a copy of
// what the store holds: every search first brings it up to date.
type Lexicon struct {
	store   LexiconStore
	indexes *otter.Cache[memory.ScopeKey, *userIndex]
	log     *slog.Logger
}

// LexiconStore is the part of the store that a Lexicon reads.
type LexiconStore interface {
	Lexicon(ctx context.Context, user memory.UserRef, maxUnindexed int) (store.LexiconState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
}

// userIndex is one user's index. Searches share it, an update has it alone.
type userIndex struct {
	sync.RWMutex
	index    *rank.Index
	segments map[int64]bool // the segments whose messages the index has
}

// NewLexicon makes a Lexicon whose indexes take about maxBytes in memory.
func NewLexicon(s LexiconStore, maxBytes int64, log *slog.Logger) (*Lexicon, error) {
	indexes, err := otter.New(&otter.Options[memory.ScopeKey, *userIndex]{
		MaximumWeight: uint64(maxBytes),
		Weigher:       func(_ memory.ScopeKey, x *userIndex) uint32 { return weight(x.index.Bytes()) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the recall cache: %w", err)
	}
	return &Lexicon{store: s, indexes: indexes, log: log}, nil
}

func weight(bytes int64) uint32 { return uint32(min(max(bytes, 1<<10), 1<<32-1)) }

// Found is what a search of a user's lexicon answers.
type Found struct {
	rank.Result
	Terms     []string
	Passages  int
	Unindexed []memory.PlacedMessage // analysed at read time
	Degraded  string                 // why less was searched than there is; "" when all was
}

// Search searches what the user's messages say. A damaged segment degrades the answer; a store that cannot be
// reached fails it.
func (l *Lexicon) Search(ctx context.Context, user memory.UserRef, q rank.Query) (Found, error) {
	state, err := l.store.Lexicon(ctx, user, MaxUnindexed)
	if err != nil {
		return Found{}, fmt.Errorf("read lexicon: %w", err)
	}
	found := Found{Terms: q.Terms, Unindexed: state.Unindexed}
	if state.Scope == "" {
		return found, nil
	}
	if state.More > 0 {
		found.Degraded = fmt.Sprintf("%d recent messages are not indexed yet and were not searched", state.More)
	}
	if len(q.Terms) == 0 { // nothing to look for: spare the index
		return found, nil
	}
	x := l.index(state.Scope)
	if damaged, err := l.update(ctx, user, x, state); err != nil {
		return Found{}, err
	} else if damaged {
		found.Degraded = "a segment of the index is damaged and was not searched"
	}
	x.RLock()
	defer x.RUnlock()
	found.Result, found.Passages = x.index.Search(q), x.index.Passages()
	return found, nil
}

// index answers the user's index, an empty one if there is none in memory.
func (l *Lexicon) index(scope memory.ScopeKey) *userIndex {
	if x, ok := l.indexes.GetIfPresent(scope); ok {
		return x
	}
	x, _ := l.indexes.SetIfAbsent(scope, &userIndex{index: rank.NewIndex(), segments: map[int64]bool{}})
	return x
}

// update adds what the store has and the index has not. Messages are added once, whether a segment or the list of
// unindexed ones brings them first.
func (l *Lexicon) update(ctx context.Context, user memory.UserRef, x *userIndex, state store.LexiconState) (damaged bool, err error) {
	if x.isCurrent(state) {
		return false, nil
	}
	x.Lock()
	defer x.Unlock()
	segments, err := l.store.Segments(ctx, user, x.missing(state.Segments))
	if err != nil {
		return false, fmt.Errorf("read segments: %w", err)
	}
	for _, s := range segments {
		if err := x.index.AddSegment(s.Data); err != nil {
			l.log.ErrorContext(ctx, "segment of the lexical index cannot be read", "segment", s.No, "error", err)
			damaged = true
			continue
		}
		x.segments[s.No] = true
	}
	for _, m := range state.Unindexed {
		if !x.index.Has(m.Place) {
			x.index.Add(rank.Analyze(m))
		}
	}
	l.indexes.Set(state.Scope, x) // weigh it again
	return damaged, nil
}

func (x *userIndex) isCurrent(state store.LexiconState) bool {
	x.RLock()
	defer x.RUnlock()
	for _, s := range state.Segments {
		if !x.segments[s.No] {
			return false
		}
	}
	for _, m := range state.Unindexed {
		if !x.index.Has(m.Place) {
			return false
		}
	}
	return true
}

// missing answers the segments to read. One that was merged from segments the index has brings nothing new.
func (x *userIndex) missing(segments []store.SegmentInfo) []int64 {
	var nos []int64
	for _, s := range segments {
		if !x.segments[s.No] && x.hasAll(s.Replaces) {
			x.segments[s.No] = true
		}
		if !x.segments[s.No] {
			nos = append(nos, s.No)
		}
	}
	return nos
}

func (x *userIndex) hasAll(nos []int64) bool {
	for _, no := range nos {
		if !x.segments[no] {
			return false
		}
	}
	return len(nos) > 0
}
