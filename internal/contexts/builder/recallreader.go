package builder

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// readAhead are the first of the hits that were found, which are read before assembly asks for them.
type readAhead struct {
	hits []rank.Hit
	read func() ([]recall.Confirmed, error)
	stop context.CancelFunc
}

// readAhead begins to read as many hits as will be asked for by what is known, where the tail may stand in the context: beside what is
// decided without them, which takes as long. The caller must call end.
func (s *ContextBuilder) readAhead(
	ctx context.Context, user memory.UserRef, found recall.Found, tail []memory.Message, r contextprofile.Resolved,
) *readAhead {
	ctx, stop := context.WithCancel(ctx)
	a := &readAhead{stop: stop}
	if r.Sections.Recalled {
		a.hits = worthReading(found.Hits, likelyRoom(r, tail), r.Counter)
	}
	a.read = sync.OnceValues(func() ([]recall.Confirmed, error) { return s.confirm(ctx, user, a.hits, found.Terms) })
	if len(a.hits) > 0 {
		safegroup.Go(a.begin, func(error) {}) // an error or a panic is left to whoever asks
	}
	return a
}

func (a *readAhead) begin() error {
	_, err := a.read()
	return err
}

// end ends what is read and not needed any more. Of nil it does nothing.
func (a *readAhead) end() {
	if a != nil {
		a.stop()
		_, _ = a.read()
	}
}

// recallReader reads hits from the primary store for a context, as far as they could find room.
type recallReader struct {
	b       *ContextBuilder
	user    memory.UserRef
	found   recall.Found
	counter string // by which the context is counted
	ahead   *readAhead
	done    int // of found.Hits

	filling []rank.Hit // what may fill and was not read yet
	filled  int64      // bytes of what was read of it

	recalled []*rank.Hit // which hits were read, for explain
	ranks    []int       // of each of them, from 1; 0 of what fills
}

// newRecallReader returns a reader of what was found. Where nothing is read ahead yet, that begins now, and the caller must end it.
func (s *ContextBuilder) newRecallReader(
	ctx context.Context, user memory.UserRef, hits recalledHits, tail []memory.Message, r contextprofile.Resolved,
) *recallReader {
	ahead := hits.ahead
	if ahead == nil {
		ahead = s.readAhead(ctx, user, hits.found, tail, r)
	}
	return &recallReader{b: s, user: user, found: hits.found, counter: r.Counter, ahead: ahead, filling: hits.fill}
}

// likelyRoom is about the room for recalled messages when they are asked for: what comes before them has its shares, and
// the tail takes what it needs but for theirs. Mostly there is somewhat more, since those take less than they may: some messages
// are read in vain rather than a few of them by a second read, which assembly would wait for.
func likelyRoom(p contextprofile.Resolved, tail []memory.Message) int64 {
	left := float64(p.Available) * (1 - p.Facts.Share - p.Summaries.Share)
	for i := range tail {
		left -= float64(tail[i].Tokens.O200K)
	}
	return int64(spareRoom * max(left, p.RecallShare*float64(p.Available)))
}

// spareRoom is how many times the likely room is read ahead. Of the calls of strata-bench context, 99 in 100 asked for no more than
// 1.12 times as many messages as have the likely room.
const spareRoom = 1.125

// read reads the next hits; none is left when it returns none.
func (r *recallReader) read(ctx context.Context, room int64) (recalled []assembly.Recalled, err error) {
	hits := r.found.Hits
	for room > 0 && len(recalled) == 0 && r.done < len(hits) && err == nil {
		next := worthReading(hits[r.done:], room, r.counter)
		recalled, err = r.readHits(ctx, next)
		r.done += len(next)
	}
	return recalled, err
}

// readHits reads the hits that come next.
func (r *recallReader) readHits(ctx context.Context, hits []rank.Hit) ([]assembly.Recalled, error) {
	found, err := r.confirmed(ctx, hits)
	if err != nil {
		return nil, err
	}
	return r.take(found, func(c *recall.Confirmed) int { return c.At + 1 }), nil
}

// take returns what assembly is given of hits that were read, and notes their ranks.
func (r *recallReader) take(found []recall.Confirmed, rankOf func(*recall.Confirmed) int) []assembly.Recalled {
	recalled := make([]assembly.Recalled, 0, len(found))
	r.recalled, r.ranks = slices.Grow(r.recalled, len(found)), slices.Grow(r.ranks, len(found))
	for i := range found {
		v := &found[i]
		if v.Message.IsHidden() {
			continue
		}
		recalled = append(recalled, assembly.Recalled{PlacedMessage: v.Message, Span: cut(v.Hit), Step: selections[v.Hit.Fill]})
		r.recalled, r.ranks = append(r.recalled, v.Hit), append(r.ranks, rankOf(v))
	}
	return recalled
}

// fill reads the next messages that may fill; none is left when it returns none. They have no rank. No more is read for all
// of them than a light call may read: a small context must not become a heavy call for what nobody asked for.
func (r *recallReader) fill(ctx context.Context, room int64) (recalled []assembly.Recalled, err error) {
	for room > 0 && len(recalled) == 0 && len(r.filling) > 0 && r.filled < messagereader.LightBytes {
		next := recall.Candidates{User: r.user, Hits: worthReading(r.filling, room, r.counter)}
		r.filling = r.filling[len(next.Hits):]
		messages, err := r.b.store.MessagesAt(ctx, store.PlacesQuery{
			User: r.user, Places: next.Places(), MaxBytes: messagereader.LightBytes - r.filled,
		})
		if err != nil {
			return nil, fmt.Errorf("read messages that may fill: %w", err)
		}
		for i := range messages {
			r.filled += int64(messages[i].Message.ContentBytes())
		}
		found, _ := next.Match(messages)
		recalled = r.take(found, func(*recall.Confirmed) int { return 0 })
	}
	return recalled, nil
}

// confirmed reads the hits that come next, the first from those that were read ahead. Their At counts in all hits that were found.
func (r *recallReader) confirmed(ctx context.Context, hits []rank.Hit) ([]recall.Confirmed, error) {
	read := min(max(len(r.ahead.hits)-r.done, 0), len(hits))
	var out []recall.Confirmed
	if read > 0 {
		early, err := r.ahead.read()
		if err != nil {
			return nil, err
		}
		out = hitsBetween(early, r.done, r.done+read)
	}
	rest, err := r.b.confirm(ctx, r.user, hits[read:], r.found.Terms)
	for i := range rest {
		rest[i].At += r.done + read
	}
	if len(out) == 0 {
		return rest, err
	}
	return append(out, rest...), err
}

// hitsBetween returns the hits with first ≤ At < end. hits is sorted by At; the result shares its memory but appending to it copies.
func hitsBetween(hits []recall.Confirmed, first, end int) []recall.Confirmed {
	index := func(at int) int {
		i, _ := slices.BinarySearchFunc(hits, at, func(c recall.Confirmed, at int) int { return cmp.Compare(c.At, at) })
		return i
	}
	from, to := index(first), index(end)
	return hits[from:to:to]
}

func (s *ContextBuilder) confirm(ctx context.Context, user memory.UserRef, hits []rank.Hit, terms []string) ([]recall.Confirmed, error) {
	return s.search.Confirm(ctx, recall.Candidates{
		User: user, Hits: hits, Query: rank.Query{Terms: terms}, MaxBytes: messagereader.MaxRecallBytes,
	})
}

// cut is the passage of a long message to show; the zero Span shows all of it.
func cut(h *rank.Hit) assembly.Span {
	if h.Whole {
		return assembly.Span{}
	}
	return assembly.Span(h.Passage)
}

// Least tokens that a recalled line takes beside its words, and most bytes of words in a token: with them worthReading
// reads some hits too many rather than one too few. Four characters of three bytes are one token of chars_4.
const (
	leastLineTokens = 6
	mostTokenBytes  = 8
	mostChars4Bytes = 12
)

// worthReading returns the hits that could find room, were each as short as it can be.
func worthReading(hits []rank.Hit, room int64, counter string) []rank.Hit {
	for i := range hits {
		if room <= 0 {
			return hits[:i]
		}
		room -= leastTokens(&hits[i], counter)
	}
	return hits
}

// leastTokens is less than the line of a hit takes by a counter.
func leastTokens(h *rank.Hit, counter string) int64 {
	perToken := mostTokenBytes
	if counter == tokens.Chars4 {
		perToken = mostChars4Bytes
	}
	return int64(leastLineTokens + (h.Passage.End-h.Passage.Start)/perToken)
}

// fillFrom is how many times the floor hits must take for nothing to be looked for beside them: of those that say the same
// only one stands in a context.
const fillFrom = 2

// gatherFill looks for messages to fill the context with, where what was found cannot take so many tokens as the policy's
// floor. None is of the session's tail, and none is hidden.
func (s *ContextBuilder) gatherFill(
	r contextprofile.Resolved, hidden func() (memory.Hidden, error), found recall.Found, tail memory.Place,
) ([]rank.Hit, error) {
	inTail := func(p memory.Place) bool { return p.Session == tail.Session && p.Seq >= tail.Seq }
	if reaches(found.Hits, fillFrom*min(r.RecallFloor, r.Available), r.Counter, inTail) {
		return nil, nil
	}
	unseen, err := hidden()
	if err != nil {
		return nil, err
	}
	return s.search.Fill(found.Scope, rank.FillQuery{
		Found: found.Hits, Limit: contextprofile.MaxTopK,
		Exclude: func(p memory.Place) bool { return inTail(p) || unseen.Has(p) },
	}), nil
}

// fills reports whether messages may stand in a context that were not found. A profile that asks for a least relevance wants
// none.
func fills(r contextprofile.Resolved) bool {
	return r.RecallFloor > 0 && r.Sections.Recalled && r.TopK > 0 && r.MinScore == 0
}

// reaches reports whether the hits take so many tokens at least by a counter, beside those that stand in the context anyway.
func reaches(hits []rank.Hit, floor int64, counter string, inTail func(memory.Place) bool) bool {
	for i := range hits {
		if floor <= 0 {
			break
		}
		if !inTail(hits[i].Place) {
			floor -= leastTokens(&hits[i], counter)
		}
	}
	return floor <= 0
}

// selections are why rank.Index.Fill returns a message, as a context says it.
var selections = map[rank.FillStep]assembly.Selection{
	rank.FillNeighbour: assembly.SelectedNeighbour, rank.FillStated: assembly.SelectedStated,
	rank.FillSession: assembly.SelectedSession, rank.FillNewest: assembly.SelectedNewest,
}
