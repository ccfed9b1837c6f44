package assembly

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// result renders what a context must have and what was chosen for it, and says what both are.
func result(p *pricer, must required, c choice) Result {
	in, t, groups := p.in, c.transcript, c.transcript.groups()
	out := Result{
		Sections: sections(p, must, c.memory, t, groups), Coverage: coverageOf(t, c.memory),
		Omitted: omissions(t, c.memory, c.recalled), Available: in.Available, NotesLeft: c.notesLeft,
	}
	used := must.total()
	for i := range c.memory.sections {
		used += c.memory.sections[i].taken.tokens
	}
	for _, g := range groups[:len(groups)-len(t.all.pending)] {
		used += g.price.tokens
	}
	if in.Render != RenderStructured {
		at := memoryAt(p, t, groups)
		r := p.format.Render(content(p, c, groups, at))
		out.Rendering, out.Stable = r.Text, stablePrefix(in, must, r, groups[:at])
		used -= unused(p, c.memory, r)
	}
	out.Tokens = tokens.Tokens(in.Counter, used)
	return out
}

// unused is what was kept free for parts of the format that a rendering turned out not to need.
func unused(p *pricer, b *memoryBlock, r render.Rendering) int64 {
	switch p.in.Render {
	case RenderText:
		if !r.Tagged {
			return p.contextTagsCost()
		}
	case RenderAnthropic:
		if memoryOpens := b.payer != 0 && p.opensAsUser(); !r.Noticed && !memoryOpens {
			return p.noticeCost()
		}
	}
	return 0
}

// content is what a context says, with state and memory before one of its groups.
func content(p *pricer, c choice, groups []*group, memoryAt int) *render.Content {
	in, pending := p.in, len(groups)-len(c.transcript.all.pending)
	return &render.Content{
		Tags: p.tags, Instructions: in.Instructions, State: p.state, Memory: c.memory.written(in),
		Blocks: blocks(groups), MemoryAt: countBlocks(groups[:memoryAt]), Pending: countBlocks(groups[:pending]),
		MemoryRole: in.Policy.MemoryRole, MemoryLast: p.isAfter(), CacheMark: in.Policy.CacheMark,
		Bytes: 4 * int(in.Available-c.left.tokens/in.Counter.Per()),
	}
}

// memoryAt is before which of the groups state and memory come: the first, or the last in which the user speaks. Without one
// nothing may come between a model's calls and what follows, so that it is the first too. In a text pending messages come
// behind all else.
func memoryAt(p *pricer, t *transcript, groups []*group) int {
	if !p.isAfter() {
		return 0
	}
	at := lastOfUser(t.all, groups)
	if p.in.Render == RenderText {
		return min(at, len(groups)-len(t.all.pending))
	}
	return at
}

// lastOfUser is the last of the groups in which the user speaks, 0 without one.
func lastOfUser(c *conversation, groups []*group) int {
	for i := len(groups) - 1; i > 0; i-- {
		for _, e := range groups[i].entries {
			if c.entries[e].msg.Role == memory.RoleUser {
				return i
			}
		}
	}
	return 0
}

// stablePrefix is the stable part of a rendering, made of the instructions and the groups before memory.
func stablePrefix(in *Input, must required, r render.Rendering, before []*group) Prefix {
	cost := must.instructions
	for _, g := range before {
		cost += g.price.tokens
	}
	out := Prefix{Messages: r.StableMessages, Bytes: r.StableBytes, Tokens: tokens.Tokens(in.Counter, cost)}
	if out.Bytes == 0 || out.Tokens == 0 {
		return Prefix{}
	}
	if in.Render == RenderText {
		out.Messages = countEntries(before)
	}
	sum := sha256.Sum256([]byte(r.Text[:out.Bytes]))
	out.Hash = hex.EncodeToString(sum[:len(sum)/2])
	return out
}

// sections lists what is in the context.
func sections(p *pricer, must required, b *memoryBlock, t *transcript, groups []*group) []Section {
	in := p.in
	var out []Section
	if in.Instructions != "" {
		out = append(out, ownSection(in, SectionInstructions, must.instructions, in.Instructions))
	}
	if p.state != "" {
		out = append(out, ownSection(in, SectionState, must.state, string(in.State)))
	}
	out = append(out, memorySections(in, b)...)
	recent, pending := Section{Kind: SectionRecent}, Section{Kind: SectionPending}
	var recentCost, pendingCost int64
	for _, g := range groups {
		for i, e := range g.entries {
			to, cost := &recent, &recentCost
			if t.all.entries[e].pending {
				to, cost = &pending, &pendingCost
			}
			*cost += g.price.each[i]
			to.Items = append(to.Items, messageItem(in, &t.all.entries[e], g, g.price.each[i]))
		}
	}
	recent.Tokens, pending.Tokens = tokens.Tokens(in.Counter, recentCost), tokens.Tokens(in.Counter, pendingCost)
	for _, s := range []Section{recent, pending} {
		if len(s.Items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// ownSection is the section of instructions or of state.
func ownSection(in *Input, kind SectionKind, cost int64, text string) Section {
	n := tokens.Tokens(in.Counter, cost)
	item := Item{Tokens: n}
	if in.Render == RenderStructured {
		item.Text = text
	}
	return Section{Kind: kind, Items: []Item{item}, Tokens: n}
}

// memorySections lists what is in memory.
func memorySections(in *Input, b *memoryBlock) []Section {
	var out []Section
	for k := range b.sections {
		lines := b.sections[k].lines
		if len(lines) == 0 {
			continue
		}
		s := Section{
			Kind: SectionKind(k), Items: make([]Item, len(lines)),
			Tokens: tokens.Tokens(in.Counter, b.sections[k].taken.tokens),
		}
		for i := range lines {
			s.Items[i] = lines[i].item
			s.Items[i].Tokens = tokens.Tokens(in.Counter, lines[i].price.tokens)
			if in.Render != RenderStructured {
				s.Items[i].Text = ""
			}
		}
		out = append(out, s)
	}
	return out
}

// messageItem is a recent or pending message.
func messageItem(in *Input, ent *entry, g *group, cost int64) Item {
	m := &ent.msg
	it := Item{
		MessageID: m.ID, Seq: m.Seq, Role: m.Role, Name: m.Name, CreateTime: m.CreateTime, Tokens: tokens.Tokens(in.Counter, cost),
	}
	if !ent.pending {
		it.SessionID = in.SessionID
	}
	if in.Render == RenderStructured {
		it.Message = shownMessage(ent, g)
	}
	return it
}

// shownMessage is a message as it is in a structured context: without what was dropped of it.
func shownMessage(ent *entry, g *group) *memory.Message {
	m := ent.msg
	m.Original = nil
	if g.isWhole(ent) {
		return &m
	}
	m.Parts = nil
	for i := range g.blocks {
		if g.blocks[i].Message == &ent.msg {
			m.Parts = append(m.Parts, g.blocks[i].Parts...)
		}
	}
	return &m
}
