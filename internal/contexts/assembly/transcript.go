package assembly

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/memory"
)

// transcript is which of the session's messages are in the context verbatim: those that a context policy keeps, a suffix of
// the tail, and those that pending messages belong to.
type transcript struct {
	in      *Input
	all     *conversation
	kept    []group       // those of the conversation's that are taken
	from    int           // the groups of the tail from here on are taken
	grows   bool          // more of the tail may be taken
	taken   []bool        // by entry but for pending ones: it is taken
	stopped OmitReason    // why the tail begins where it does
	prints  []fingerprint // of the entries, as far as they were compared
}

func newTranscript(in *Input, c *conversation) *transcript {
	t := &transcript{all: c, in: in, from: len(c.tail), taken: make([]bool, len(in.Kept)+len(in.Tail))}
	for i := range c.pending {
		t.mark(&c.pending[i])
	}
	return t
}

// mark notes that the messages of a group are taken.
func (t *transcript) mark(g *group) {
	for _, e := range g.entries {
		if e < len(t.taken) {
			t.taken[e] = true
		}
	}
}

// chooseKept takes what a context policy keeps, the newest first, as far as it fits, and returns the room left.
func (t *transcript) chooseKept(p *pricer, left space) space {
	for i := range slices.Backward(t.all.kept) {
		g := &t.all.kept[i]
		price := p.priceOf(t.all, g)
		if lacking(left, price.space) != 0 {
			continue
		}
		left = left.less(price.space)
		t.mark(g)
		t.kept = append(t.kept, *g)
	}
	slices.Reverse(t.kept)
	return left
}

// chooseLast takes the last n messages, widened to whole groups, and returns the room left. The tail may grow further unless
// one of them does not fit.
func (t *transcript) chooseLast(p *pricer, n int, left space) space {
	for chosen := 0; chosen < n && t.from > 0; {
		g := &t.all.tail[t.from-1]
		taken, ok := t.extendBy(p, g, left)
		if !ok {
			return left
		}
		left = left.less(taken)
		chosen += len(g.entries)
	}
	t.grows = t.in.Policy.Sections.Recent
	return left
}

// extendBy takes the group before the tail's beginning when there is room. Where only its attachments pass the bytes, it is
// taken with placeholders for them.
func (t *transcript) extendBy(p *pricer, g *group, room space) (taken space, ok bool) {
	price := p.priceOf(t.all, g)
	if price.bytes > room.bytes {
		light := g.withoutBlobs()
		if price = p.priceOf(t.all, &light); price.bytes <= room.bytes && price.tokens <= room.tokens {
			*g = light
		}
	}
	if t.stopped = lacking(room, price.space); t.stopped != 0 {
		return space{}, false
	}
	t.from--
	t.mark(g)
	return g.price.space, true
}

// extend takes more of the tail, as long as it fits into the room, and returns what it took.
func (t *transcript) extend(p *pricer, room space) (taken space) {
	for t.from > 0 {
		more, ok := t.extendBy(p, &t.all.tail[t.from-1], room.less(taken))
		if !ok {
			break
		}
		taken = taken.plus(more)
	}
	return taken
}

// extendUnchanged is extend for as long as groups fit as they are, with their attachments.
func (t *transcript) extendUnchanged(p *pricer, room space) (taken space) {
	for t.from > 0 {
		g := &t.all.tail[t.from-1]
		price := p.priceOf(t.all, g)
		if lacking(room.less(taken), price.space) != 0 {
			break
		}
		more, _ := t.extendBy(p, g, room.less(taken))
		taken = taken.plus(more)
	}
	return taken
}

// groups are the groups that are in the context, in its order.
func (t *transcript) groups() []*group {
	out := make([]*group, 0, len(t.kept)+len(t.all.tail)-t.from+len(t.all.pending))
	for i := range t.kept {
		out = append(out, &t.kept[i])
	}
	for i := t.from; i < len(t.all.tail); i++ {
		out = append(out, &t.all.tail[i])
	}
	for i := range t.all.pending {
		out = append(out, &t.all.pending[i])
	}
	return out
}

// first is the seq of the tail's first message; LastSeq + 1 without one.
func (t *transcript) first() int64 {
	if len(t.in.Tail) > 0 {
		return t.in.Tail[0].Seq
	}
	return t.in.LastSeq + 1
}

// has reports whether a message of the session is in the context verbatim.
func (t *transcript) has(seq int64) bool {
	if at := seq - t.first(); at >= 0 {
		at += int64(len(t.in.Kept))
		return at < int64(len(t.taken)) && t.taken[at]
	}
	i, found := slices.BinarySearchFunc(t.in.Kept, seq, func(m memory.Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
	return found && t.taken[i]
}

// hasRecalled reports whether a recalled message is in the context verbatim.
func (t *transcript) hasRecalled(r *Recalled) bool { return r.Session == t.in.Session && t.has(r.Seq) }

// keptSpans are the messages of Input.Kept that are in the context.
func (t *transcript) keptSpans() []memory.SeqRange {
	var out []memory.SeqRange
	for i := range t.in.Kept {
		if t.taken[i] {
			out = append(out, memory.SeqRange{From: t.all.entries[i].seq, To: t.all.entries[i].seq})
		}
	}
	return out
}

// said is what the messages in the context say.
func (t *transcript) said() fingerprints {
	if t.prints == nil {
		t.prints = make([]fingerprint, len(t.all.entries))
	}
	var out fingerprints
	for _, g := range t.groups() {
		for _, e := range g.entries {
			f, m := &t.prints[e], &t.all.entries[e].msg
			if f.of == nil {
				*f = fingerprintOf(m, m.SaidText())
			}
			if f.count > 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

// blocks are the blocks of groups, in their order.
func blocks(groups []*group) []*render.Block {
	out := make([]*render.Block, 0, countBlocks(groups))
	for _, g := range groups {
		for i := range g.blocks {
			out = append(out, &g.blocks[i])
		}
	}
	return out
}

func countBlocks(groups []*group) (n int) {
	for _, g := range groups {
		n += len(g.blocks)
	}
	return n
}

func countEntries(groups []*group) (n int) {
	for _, g := range groups {
		n += len(g.entries)
	}
	return n
}
