package service

import (
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
	"github.com/stratamem/strata/internal/tokens"
)

// recallReader reads hits from the primary store for a context, as far as they could find room. It begins with as many as will
// be asked for by what is known before, beside what is decided without them, which takes as long.
type recallReader struct {
	ctx   context.Context
	b     *ContextBuilder
	user  memory.UserRef
	out   *ContextResult // keeps which hits were read, for explain
	done  int            // of out.Found.Hits
	ahead []rank.Hit     // the first of them, which are read before they are asked for
	early func() ([]recall.Confirmed, error)
	stop  context.CancelFunc // of reading ahead

	filling []rank.Hit // what may fill and was not read yet
	filled  int64      // bytes of what was read of it
}

// newRecallReader reads for a result whose policy and hits are known, where the tail may stand in the context. The caller
// must wait in the end.
func newRecallReader(ctx context.Context, b *ContextBuilder, user memory.UserRef, tail []memory.Message, out *ContextResult) *recallReader {
	r := &recallReader{ctx: ctx, b: b, user: user, out: out}
	if out.Policy.Sections.Recalled {
		r.ahead = worthReading(out.Found.Hits, likelyRoom(out.Policy, tail), out.Policy.Counter)
	}
	early, stop := context.WithCancel(ctx)
	r.stop = stop
	r.early = sync.OnceValues(func() ([]recall.Confirmed, error) { return r.confirm(early, r.ahead) })
	if len(r.ahead) > 0 {
		safegroup.Go(r.begin, func(error) {}) // an error or a panic is left to whoever asks
	}
	return r
}

func (r *recallReader) begin() error {
	_, err := r.early()
	return err
}

// likelyRoom is about the room for recalled messages when they are asked for: what comes before them has its shares, and
// the tail takes what it needs but for theirs.
func likelyRoom(p contextprofile.Resolved, tail []memory.Message) int64 {
	left := float64(p.Available) * (1 - p.Facts.Share - p.Summaries.Share)
	for i := range tail {
		left -= float64(tail[i].Tokens.O200K)
	}
	return int64(max(left, p.RecallShare*float64(p.Available)))
}

// wait ends what is read and not needed any more.
func (r *recallReader) wait() {
	r.stop()
	_, _ = r.early()
}

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
	return r.recalled(found, func(c recall.Confirmed) int { return r.done + c.At + 1 }), nil
}

// recalled is what assembly is given of hits that were read, with their ranks.
func (r *recallReader) recalled(found []recall.Confirmed, rankOf func(recall.Confirmed) int) []assembly.Recalled {
	found = slices.DeleteFunc(found, func(v recall.Confirmed) bool { return v.Message.IsHidden() })
	recalled := make([]assembly.Recalled, len(found))
	for i, v := range found {
		recalled[i] = assembly.Recalled{PlacedMessage: v.Message, Span: cut(v.Hit), Step: selections[v.Hit.Fill]}
		r.out.Recalled, r.out.Ranks = append(r.out.Recalled, v.Hit), append(r.out.Ranks, rankOf(v))
	}
	return recalled
}

// fill reads the next messages that may fill; none is left when it returns none. They have no rank. No more is read for all
// of them than a light call may read: a small context must not become a heavy call for what nobody asked for.
func (r *recallReader) fill(room int64) (recalled []assembly.Recalled, err error) {
	for room > 0 && len(recalled) == 0 && len(r.filling) > 0 && r.filled < lightBytes {
		next := recall.Candidates{User: r.user, Hits: worthReading(r.filling, room, r.out.Policy.Counter)}
		r.filling = r.filling[len(next.Hits):]
		messages, err := r.b.store.MessagesAt(r.ctx, store.PlacesQuery{User: r.user, Places: next.Places(), MaxBytes: lightBytes - r.filled})
		if err != nil {
			return nil, fmt.Errorf("read messages that may fill: %w", err)
		}
		for i := range messages {
			r.filled += int64(messages[i].Message.ContentBytes())
		}
		found, _ := next.Match(messages)
		recalled = r.recalled(found, func(recall.Confirmed) int { return 0 })
	}
	return recalled, nil
}

// found takes the first hits from those that were read ahead.
func (r *recallReader) found(hits []rank.Hit) ([]recall.Confirmed, error) {
	read := min(max(len(r.ahead)-r.done, 0), len(hits))
	var out []recall.Confirmed
	if read > 0 {
		early, err := r.early()
		if err != nil {
			return nil, err
		}
		for _, c := range early {
			if c.At -= r.done; c.At >= 0 && c.At < read {
				out = append(out, c)
			}
		}
	}
	rest, err := r.confirm(r.ctx, hits[read:])
	for i := range rest {
		rest[i].At += read
	}
	return append(out, rest...), err
}

func (r *recallReader) confirm(ctx context.Context, hits []rank.Hit) ([]recall.Confirmed, error) {
	return r.b.search.Confirm(ctx, recall.Candidates{
		User: r.user, Hits: hits, Query: rank.Query{Terms: r.out.Found.Terms}, MaxBytes: maxRecallBytes,
	})
}

// cut is the passage of a long message to show; the zero Span shows all of it.
func cut(h rank.Hit) assembly.Span {
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
