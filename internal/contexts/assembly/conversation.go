package assembly

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// entry is one message of the conversation.
type entry struct {
	msg     memory.Message
	seq     int64 // of a pending message, the seq it would get next
	pending bool
	hidden  bool // nothing of it is in the context: msg lacks its parts
	altered bool // the kept parts are not all that was counted when the message was stored
}

// group is kept or dropped whole: a message, or messages that tool calls and their results tie to each other.
type group struct {
	entries []int // in the order of the rendering
	blocks  []render.Block
	light   bool // attachments are replaced by placeholders
	price   price
}

// price is what a group takes, once it is known.
type price struct {
	known bool
	space
	each []int64 // the tokens of each entry, in units of the counter
}

// conversation is the session's messages that were read and the pending ones, as groups.
type conversation struct {
	entries []entry    // Input.Kept, then Input.Tail, then Input.Pending
	kept    []group    // those that begin in Input.Kept
	tail    []group    // the others without pending messages, by the place of their first message
	pending []group    // those with pending messages, in the order of these
	dropped []Omission // what cannot be rendered
}

// newConversation pairs calls with results, drops what cannot be rendered, and groups the rest. Once ended reports that
// nobody waits any more, it stops soon, and what it returns means nothing.
func newConversation(in *Input, ended func() bool) *conversation {
	c := &conversation{entries: make([]entry, 0, len(in.Kept)+len(in.Tail)+len(in.Pending))}
	for _, part := range [][]memory.Message{in.Kept, in.Tail} {
		for _, m := range part {
			c.entries = append(c.entries, entry{msg: m, seq: m.Seq})
		}
	}
	for i, m := range in.Pending {
		m.Seq = 0
		c.entries = append(c.entries, entry{msg: m, seq: in.LastSeq + 1 + int64(i), pending: true})
	}
	unseen := c.hide()
	p := toolcalls.Pair(len(c.entries), func(i int) *memory.Message { return &c.entries[i].msg }, ended)
	if ended() {
		return c
	}
	g := grouper{
		conversation: c, pairs: p, ended: ended, missing: missingCall(in), unseen: unseen, lastUser: lastUser(c.entries),
		placed: make([]bool, len(c.entries)),
	}
	if in.Render == RenderResponses {
		g.pairItems()
	}
	g.group(in.SessionID)
	for len(c.tail) > 0 && c.tail[0].entries[0] < len(in.Kept) {
		c.kept, c.tail = append(c.kept, c.tail[0]), c.tail[1:]
	}
	return c
}

// hide removes what hidden messages say from the conversation, and returns the ids of their calls.
func (c *conversation) hide() (calls []string) {
	for i := range c.entries {
		e := &c.entries[i]
		if e.msg.Hidden {
			calls = append(calls, e.msg.ToolCalls()...)
			e.hidden, e.msg.Parts = true, nil
		}
	}
	return calls
}

// missingCall is why a result is dropped whose call is not in the conversation: it may be before what was read.
func missingCall(in *Input) OmitReason {
	before := memory.SeqRange{From: 1, To: in.LastSeq}
	if len(in.Tail) > 0 {
		before.To = in.Tail[0].Seq - 1
	}
	switch {
	case before.To < 1:
		return OmitOrphanResult
	case len(before.Without(in.Hidden)) == 0:
		return OmitHidden
	}
	return OmitBudget
}

// lastUser is the index of the last entry with words of a user, -1 without one. Providers want reasoning back only
// from the steps after it.
func lastUser(entries []entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if toolcalls.SpeaksForUser(&entries[i].msg) {
			return i
		}
	}
	return -1
}

// grouper groups the entries of a conversation.
type grouper struct {
	conversation *conversation
	pairs        *toolcalls.Pairing
	missing      OmitReason // why a result without its call is dropped
	unseen       []string   // ids of calls in hidden messages
	lastUser     int
	parents      []int  // of entries, a forest with a tree for each group (union-find); nil while nothing is tied
	placed       []bool // by entry: it is in a group already
	ended        func() bool
	items        []*providerItem    // by entry, what is passed on verbatim; nil but for RenderResponses
	unpaired     map[int]OmitReason // why such an item is dropped
}

// group makes the groups of the conversation, and notes what is dropped.
func (g *grouper) group(sessionID string) {
	c := g.conversation
	members := g.members()
	firstPending := map[int]int{} // of a group, by its first entry
	for i := range c.entries {
		if i%toolcalls.MessagesBetweenLooks == 0 && g.ended() {
			return
		}
		if g.parents != nil && g.root(i) != i {
			continue
		}
		made := g.groupOf(i, members[i])
		if len(made.blocks) == 0 {
			continue
		}
		if first, ok := c.firstPending(made.entries); ok {
			firstPending[made.entries[0]] = first
			c.pending = append(c.pending, made)
			continue
		}
		c.tail = append(c.tail, made)
	}
	g.noteDropped(sessionID)
	slices.SortFunc(c.pending, func(a, b group) int { return cmp.Compare(firstPending[a.entries[0]], firstPending[b.entries[0]]) })
}

// firstPending is the first pending one of entries, if there is one.
func (c *conversation) firstPending(entries []int) (first int, ok bool) {
	for _, e := range entries {
		if c.entries[e].pending && (!ok || e < first) {
			first, ok = e, true
		}
	}
	return first, ok
}

// tie puts two entries into one group.
func (g *grouper) tie(one, other int) {
	if one == other {
		return
	}
	if g.parents == nil {
		g.parents = make([]int, len(g.conversation.entries))
		for i := range g.parents {
			g.parents[i] = i
		}
	}
	a, b := g.root(one), g.root(other)
	g.parents[max(a, b)] = min(a, b)
}

// members ties the entries of each answered call, and returns those of each group of more than one by its first entry.
func (g *grouper) members() map[int][]int {
	for _, c := range g.pairs.Calls {
		if c.Answered {
			g.tie(c.At.Message, c.Result.Message)
		}
	}
	members := map[int][]int{}
	for i := range g.parents {
		if root := g.root(i); root != i || len(members[root]) > 0 {
			if len(members[root]) == 0 {
				members[root] = append(members[root], root)
			}
			members[root] = append(members[root], i)
		}
	}
	return members
}

func (g *grouper) root(i int) int {
	for g.parents[i] != i {
		g.parents[i] = g.parents[g.parents[i]]
		i = g.parents[i]
	}
	return i
}

// groupOf makes the group of an entry and those tied to it: each calling message, the results of its calls in the order
// of the calls, and what else the messages with the results say. Where items are passed on, what the model said stays in its
// order: each stands before what it led to.
func (g *grouper) groupOf(root int, tied []int) group {
	var made group
	if len(tied) == 0 {
		tied = []int{root}
	}
	for _, e := range tied {
		switch {
		case g.pairs.HasCalls(e):
			g.addCalls(&made, e)
		case g.items != nil && (g.items[e] != nil || g.isOfModel(e)):
			g.addRest(&made, e)
		}
	}
	for _, e := range tied {
		g.addRest(&made, e)
	}
	return made
}

// addCalls adds a calling message with its results.
func (g *grouper) addCalls(to *group, e int) {
	g.addSaid(to, e)
	for _, c := range g.pairs.CallsOf(e) {
		if c.Answered {
			g.addResult(to, c.Result)
		}
	}
	for _, r := range g.pairs.ResultsOf(e) {
		if g.message(r).Role != memory.RoleTool {
			g.addRest(to, r)
		}
	}
}

func (g *grouper) message(e int) *memory.Message { return &g.conversation.entries[e].msg }

// addResult adds one result, to the block before where that holds results of the same entry.
func (g *grouper) addResult(to *group, at toolcalls.Ref) {
	e, m := at.Message, g.message(at.Message)
	p := m.Parts[at.Part]
	if m.Role == memory.RoleTool && !g.placed[e] {
		p.Parts = slices.Concat(p.Parts, besideResults(m))
	}
	g.place(to, e)
	if n := len(to.blocks); n > 0 && to.blocks[n-1].Role == memory.RoleTool && to.blocks[n-1].Message == m {
		to.blocks[n-1].Parts = append(to.blocks[n-1].Parts, p)
		return
	}
	to.blocks = append(to.blocks, render.Block{Message: m, Role: memory.RoleTool, Parts: []memory.Part{p}})
}

// besideResults is what a tool's message says outside its results. It has no other place than in one of them.
func besideResults(m *memory.Message) []memory.Part {
	var parts []memory.Part
	for _, p := range m.Parts {
		if toolcalls.Says(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// addRest adds what an entry says, unless that is in the group already.
func (g *grouper) addRest(to *group, e int) {
	if g.placed[e] && !g.hasOnlyResults(to, e) {
		return
	}
	g.addSaid(to, e)
}

// hasOnlyResults reports whether a group has only the results of an entry, which may say more.
func (g *grouper) hasOnlyResults(of *group, e int) bool {
	m := g.message(e)
	return m.Role != memory.RoleTool && !g.pairs.HasCalls(e) &&
		!slices.ContainsFunc(of.blocks, func(b render.Block) bool { return b.Message == m && b.Role != memory.RoleTool })
}

// addSaid adds what a message says and its answered calls.
func (g *grouper) addSaid(to *group, e int) {
	m := g.message(e)
	if g.items != nil && g.items[e] != nil {
		g.place(to, e)
		to.blocks = append(to.blocks, render.Block{Message: m, Role: m.Role, Verbatim: &g.items[e].Verbatim})
		return
	}
	if isOneText(m) {
		g.place(to, e)
		to.blocks = append(to.blocks, render.Block{Message: m, Role: m.Role, Parts: m.Parts})
		return
	}
	kept, _ := g.keptParts(e)
	speaks := m.Role != memory.RoleTool && slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind != memory.PartReasoning })
	if !speaks {
		return
	}
	calls := slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind == memory.PartToolCall })
	g.place(to, e)
	to.blocks = append(to.blocks, render.Block{Message: m, Role: m.Role, Parts: kept, Reasoning: calls && e > g.lastUser})
}

// isOneText reports whether a message is one text with words in it: most are.
func isOneText(m *memory.Message) bool {
	return len(m.Parts) == 1 && m.Role != memory.RoleTool && m.Parts[0].Kind == memory.PartText && toolcalls.Says(m.Parts[0])
}

// noteDropped notes what of each message is dropped, and why.
func (g *grouper) noteDropped(sessionID string) {
	c := g.conversation
	for e := range c.entries {
		if e%toolcalls.MessagesBetweenLooks == 0 && g.ended() {
			return
		}
		if isOneText(g.message(e)) {
			continue
		}
		_, why := g.keptParts(e)
		if unpaired := g.unpaired[e]; unpaired != 0 {
			why = unpaired
		}
		if !g.placed[e] && why == 0 {
			why = OmitNotRenderable
		}
		if c.entries[e].hidden {
			why = OmitHidden
		}
		if why != 0 {
			c.entries[e].altered = true
			c.dropped = append(c.dropped, Omission{SessionID: sessionID, From: c.entries[e].seq, To: c.entries[e].seq, Reason: why})
		}
	}
}

// keptParts returns the parts of a message that are kept beside results, and why something of it is dropped, 0 when nothing
// is.
func (g *grouper) keptParts(e int) (kept []memory.Part, dropped OmitReason) {
	for j, p := range g.message(e).Parts {
		switch {
		case toolcalls.Says(p), p.Kind == memory.PartReasoning:
			kept = append(kept, p)
		case p.Kind == memory.PartToolCall:
			if c, _ := g.pairs.CallAt(toolcalls.Ref{Message: e, Part: j}); c.Answered {
				kept = append(kept, p)
				continue
			}
			dropped = worst(dropped, OmitUnansweredCall)
		case p.Kind == memory.PartToolResult:
			if _, ok := g.pairs.CallOf(toolcalls.Ref{Message: e, Part: j}); !ok {
				dropped = worst(dropped, g.orphanReason(p.CallID))
			}
		}
	}
	return kept, dropped
}

// worst is the first of two reasons that says most about a message.
func worst(a, b OmitReason) OmitReason {
	if a == 0 || a == OmitNotRenderable {
		return b
	}
	return a
}

// orphanReason is why a result of no call is dropped.
func (g *grouper) orphanReason(id string) OmitReason {
	if g.pairs.Known(id) > 0 {
		return OmitNotRenderable // another result answered first
	}
	if slices.Contains(g.unseen, id) {
		return OmitHidden
	}
	return g.missing
}

// place notes that an entry is in a group.
func (g *grouper) place(in *group, e int) {
	if !g.placed[e] {
		g.placed[e] = true
		in.entries = append(in.entries, e)
	}
}

// withoutBlobs is the group with placeholders for attachments that are carried inline.
func (g group) withoutBlobs() group {
	light := group{entries: g.entries, light: true}
	for _, b := range g.blocks {
		b.Parts = replaceBlobs(b.Parts)
		light.blocks = append(light.blocks, b)
	}
	return light
}

func replaceBlobs(parts []memory.Part) []memory.Part {
	out := make([]memory.Part, len(parts))
	for i, p := range parts {
		switch p.Kind {
		case memory.PartBlob:
			p = memory.TextPart(tokens.Placeholder(p))
		case memory.PartToolResult:
			p.Parts = replaceBlobs(p.Parts)
		}
		out[i] = p
	}
	return out
}
