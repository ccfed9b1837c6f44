package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
	"github.com/stratamem/strata/internal/tokens"
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
	ctx   context.Context
	b     *ContextBuilder
	user  memory.UserRef
	out   *ContextResult // keeps which hits were read, for explain
	ahead *readAhead
	done  int // of out.Found.Hits

	filling []rank.Hit // what may fill and was not read yet
	filled  int64      // bytes of what was read of it
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
func (r *recallReader) read(room int64) (recalled []assembly.Recalled, err error) {
	hits := r.out.Found.Hits
	for room > 0 && len(recalled) == 0 && r.done < len(hits) && err == nil {
		next := worthReading(hits[r.done:], room, r.out.Policy.Counter)
		recalled, err = r.readHits(next)
		r.done += len(next)
	}
	return recalled, err
}

// readHits reads the hits that come next.
func (r *recallReader) readHits(hits []rank.Hit) ([]assembly.Recalled, error) {
	found, err := r.found(hits)
	if err != nil {
		return nil, err
	}
	return r.recalled(found, func(c *recall.Confirmed) int { return c.At + 1 }), nil
}

// recalled is what assembly is given of hits that were read, with their ranks.
func (r *recallReader) recalled(found []recall.Confirmed, rankOf func(*recall.Confirmed) int) []assembly.Recalled {
	recalled := make([]assembly.Recalled, 0, len(found))
	r.out.Recalled, r.out.Ranks = slices.Grow(r.out.Recalled, len(found)), slices.Grow(r.out.Ranks, len(found))
	for i := range found {
		v := &found[i]
		if v.Message.IsHidden() {
			continue
		}
		recalled = append(recalled, assembly.Recalled{PlacedMessage: v.Message, Span: cut(v.Hit), Step: selections[v.Hit.Fill]})
		r.out.Recalled, r.out.Ranks = append(r.out.Recalled, v.Hit), append(r.out.Ranks, rankOf(v))
	}
	return recalled
}

// fill reads the next messages that may fill; none is left when it returns none. They have no rank. No more is read for all
// of them than a light call may read: a small context must not become a heavy call for what nobody asked for.
func (r *recallReader) fill(room int64) (recalled []assembly.Recalled, err error) {
	for room > 0 && len(recalled) == 0 && len(r.filling) > 0 && r.filled < messagereader.LightBytes {
		next := recall.Candidates{User: r.user, Hits: worthReading(r.filling, room, r.out.Policy.Counter)}
		r.filling = r.filling[len(next.Hits):]
		messages, err := r.b.store.MessagesAt(r.ctx, store.PlacesQuery{
			User: r.user, Places: next.Places(), MaxBytes: messagereader.LightBytes - r.filled,
		})
		if err != nil {
			return nil, fmt.Errorf("read messages that may fill: %w", err)
		}
		for i := range messages {
			r.filled += int64(messages[i].Message.ContentBytes())
		}
		found, _ := next.Match(messages)
		recalled = r.recalled(found, func(*recall.Confirmed) int { return 0 })
	}
	return recalled, nil
}

// found reads the hits that come next, the first from those that were read ahead. Their At counts in all hits that were found.
func (r *recallReader) found(hits []rank.Hit) ([]recall.Confirmed, error) {
	read := min(max(len(r.ahead.hits)-r.done, 0), len(hits))
	var out []recall.Confirmed
	if read > 0 {
		early, err := r.ahead.read()
		if err != nil {
			return nil, err
		}
		out = within(early, r.done, r.done+read)
	}
	rest, err := r.b.confirm(r.ctx, r.user, hits[read:], r.out.Found.Terms)
	for i := range rest {
		rest[i].At += r.done + read
	}
	if len(out) == 0 {
		return rest, err
	}
	return append(out, rest...), err
}

// within are those of the hits, which are in the order of At, whose At is from first on and before end. Nothing is copied, and what
// is appended to them leaves the others alone.
func within(hits []recall.Confirmed, first, end int) []recall.Confirmed {
	index := func(at int) int {
		i, _ := slices.BinarySearchFunc(hits, at, func(c recall.Confirmed, at int) int { return cmp.Compare(c.At, at) })
		return i
	}
	from, to := index(first), index(end)
	return hits[from:to:to]
}

func (s *ContextBuilder) confirm(ctx context.Context, user memory.UserRef, hits []rank.Hit, terms []string) ([]recall.Confirmed, error) {
	return s.search.Confirm(ctx, recall.Candidates{User: user, Hits: hits, Query: rank.Query{Terms: terms}, MaxBytes: maxRecallBytes})
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
