// Package jobs does the work that follows a reply. What there is to do is derived from what is stored, so no crash
// can lose it: a nudge only makes it soon, and a sweep finds what no nudge announced.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

// Indexer writes recorded messages into their users' lexical indexes and merges the segments.
type Indexer struct {
	store store.Lexicon
	delay time.Duration
	sweep time.Duration
	log   *slog.Logger

	mu     sync.Mutex
	queue  []memory.UserRef // in the order of their first nudge
	queued map[memory.UserRef]bool
	wake   chan struct{}
}

// IndexerOptions are what an Indexer needs.
type IndexerOptions struct {
	Store store.Lexicon
	// Delay is how long turns gather before they are indexed: a segment for each turn would double what Record
	// writes, and recall reads unindexed messages all the same. 1 s when 0.
	Delay time.Duration
	// Sweep is how often the store is asked for turns that no nudge announced. 30 s when 0.
	Sweep time.Duration
	Log   *slog.Logger
}

// NewIndexer makes an Indexer.
func NewIndexer(o IndexerOptions) *Indexer {
	if o.Delay == 0 {
		o.Delay = time.Second
	}
	if o.Sweep == 0 {
		o.Sweep = 30 * time.Second
	}
	return &Indexer{
		store: o.Store, delay: o.Delay, sweep: o.Sweep, log: o.Log,
		queued: map[memory.UserRef]bool{}, wake: make(chan struct{}, 1),
	}
}

// Nudge says that the user has new turns. It never blocks.
func (x *Indexer) Nudge(user memory.UserRef) {
	x.mu.Lock()
	if !x.queued[user] {
		x.queued[user] = true
		x.queue = append(x.queue, user)
	}
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default: // somebody woke it already
	}
}

// Run indexes until ctx ends, and returns nil then. What is left is found by the first sweep of the next run.
func (x *Indexer) Run(ctx context.Context) error {
	sweep := time.NewTicker(x.sweep)
	defer sweep.Stop()
	x.sweepStore(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			x.sweepStore(ctx)
		case <-x.wake:
			if !pause(ctx, x.delay) {
				return nil
			}
			for x.drain(ctx) {
			}
		}
	}
}

// pause waits and reports whether ctx still runs.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// maxSweep is how many users one sweep takes up.
const maxSweep = 10_000

func (x *Indexer) sweepStore(ctx context.Context) {
	users, err := x.store.PendingUsers(ctx, maxSweep)
	if err != nil {
		x.complain(ctx, "look for turns to index", err)
		return
	}
	for _, u := range users {
		x.Nudge(u)
	}
}

// drain serves the users who wait, in the order of their nudges, one batch each: a user with a long backlog goes to
// the end again, so that others do not starve. It reports whether such a backlog is left, which need not gather.
func (x *Indexer) drain(ctx context.Context) (backlog bool) {
	for _, user := range x.take() {
		if ctx.Err() != nil {
			return false
		}
		more, err := x.Index(ctx, user)
		if err != nil {
			x.complain(ctx, "index turns", err)
			continue // the next sweep finds them again
		}
		if more {
			backlog = true
			x.Nudge(user)
		}
	}
	return backlog
}

func (x *Indexer) take() []memory.UserRef {
	x.mu.Lock()
	defer x.mu.Unlock()
	users := x.queue
	x.queue, x.queued = nil, map[memory.UserRef]bool{}
	return users
}

func (x *Indexer) complain(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		x.log.ErrorContext(ctx, doing, "error", err)
	}
}

// maxBatch is how many messages one segment takes up.
const maxBatch = 2000

// Index writes one segment of the user's pending turns and merges when segments have become many. It reports whether
// turns are left.
func (x *Indexer) Index(ctx context.Context, user memory.UserRef) (more bool, err error) {
	turns, err := x.store.PendingTurns(ctx, user, maxBatch)
	if err != nil {
		return false, fmt.Errorf("read pending turns: %w", err)
	}
	if len(turns) == 0 {
		return false, nil
	}
	if _, err := x.store.PutSegment(ctx, segment(user, turns)); err != nil {
		return false, fmt.Errorf("put segment: %w", err)
	}
	return countMessages(turns) >= maxBatch, x.merge(ctx, user, turns[0].Scope)
}

func countMessages(turns []store.Turn) int {
	n := 0
	for _, t := range turns {
		n += len(t.Messages)
	}
	return n
}

// segment analyses turns of one user. Turns without recallable messages only have their marks cleared.
func segment(user memory.UserRef, turns []store.Turn) store.SegmentWrite {
	w := store.SegmentWrite{User: user, Scope: turns[0].Scope, Analyzer: text.AnalyzerID}
	var docs []rank.Doc
	for _, t := range turns {
		w.Turns = append(w.Turns, t.TurnRef)
		for _, m := range t.Messages {
			if m.Recallable() {
				docs = append(docs, rank.Analyze(memory.PlacedMessage{Place: memory.Place{Session: t.Session, Seq: m.Seq}, Message: m}))
			}
		}
	}
	w.Messages = len(docs)
	if len(docs) > 0 {
		w.Data = rank.EncodeSegment(docs)
	}
	return w
}

// merge merges segments of like size until no size has many.
func (x *Indexer) merge(ctx context.Context, user memory.UserRef, scope memory.ScopeKey) error {
	for {
		state, err := x.store.Lexicon(ctx, user, 0)
		if err != nil {
			return fmt.Errorf("read lexicon: %w", err)
		}
		plan := PlanMerge(state.Segments)
		if len(plan) == 0 || state.Scope != scope {
			return nil
		}
		if err := x.mergeSegments(ctx, user, scope, plan); err != nil {
			return err
		}
	}
}

func (x *Indexer) mergeSegments(ctx context.Context, user memory.UserRef, scope memory.ScopeKey, plan []store.SegmentInfo) error {
	w := store.SegmentWrite{User: user, Scope: scope, Analyzer: text.AnalyzerID}
	for _, s := range plan {
		w.Replaces = append(w.Replaces, s.No)
		w.Messages += s.Messages
	}
	segments, err := x.store.Segments(ctx, user, w.Replaces)
	if err != nil {
		return fmt.Errorf("read segments to merge: %w", err)
	}
	data := make([][]byte, len(segments))
	for i, s := range segments {
		data[i] = s.Data
	}
	if w.Data, err = rank.MergeSegments(data...); err != nil {
		return fmt.Errorf("merge segments: %w", err)
	}
	if _, err = x.store.PutSegment(ctx, w); err != nil {
		return fmt.Errorf("put merged segment: %w", err)
	}
	return nil
}

// Segments of a tier hold up to mergeWidth times as many messages as those of the tier below. A full tier is merged,
// so a user with n messages has at most (mergeWidth - 1) × log(n) segments and each message is rewritten log(n) times.
const (
	mergeWidth    = 8
	maxMergeBytes = 4 << 20 // larger segments stay: a document of MongoDB ends at 16 MiB
)

// PlanMerge answers the segments to merge into one: those of the smallest tier that is full, none when no tier is.
func PlanMerge(segments []store.SegmentInfo) []store.SegmentInfo {
	tiers := map[int][]store.SegmentInfo{}
	highest := 0
	for _, s := range segments {
		if s.Bytes > maxMergeBytes {
			continue
		}
		t := tier(s.Messages)
		tiers[t] = append(tiers[t], s)
		highest = max(highest, t)
	}
	for t := range highest + 1 {
		if len(tiers[t]) >= mergeWidth {
			return tiers[t]
		}
	}
	return nil
}

func tier(messages int) int {
	t := 0
	for ; messages >= mergeWidth; messages /= mergeWidth {
		t++
	}
	return t
}
