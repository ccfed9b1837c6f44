package assembly

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
	"github.com/stratamem/strata/internal/toolcalls"
)

// entry is one message of the stream: the tail, then what is pending.
type entry struct {
	msg     memory.Message
	seq     int64 // of a pending message, the seq it would get next
	pending bool
	hidden  bool // nothing of it stands in the context: msg lacks its parts
	altered bool // the kept parts are not all that was counted when the message was stored
}

// block is what stands together in a rendering: what a message says with its calls, or results of calls.
type block struct {
	entry int         // whose parts they are
	role  memory.Role // RoleTool only for results
	parts []memory.Part
	think bool // whether the provider may want the reasoning back
}

// unit is kept or dropped whole: a message, or messages tied by tool calls and their results.
type unit struct {
	entries []int // in the order of the rendering
	blocks  []block
	light   bool // attachments are placeholders
	price   price
}

// price is what a unit takes, once it is known.
type price struct {
	known  bool
	tokens int64 // in units of the counter
	bytes  int
	each   []int64 // the tokens of each entry
}

// stream is a conversation as atomic units.
type stream struct {
	entries []entry
	kept    []unit // of Input.Kept; those that do not fit are taken out
	tail    []unit // the others, by the place of their first message
	bound   []unit // those that a pending message belongs to, in the order of the pending messages
	omitted []Omission
}

// newStream pairs calls with results, drops what cannot be rendered, and ties the rest into units. Once ended reports that
// nobody waits any more, it stops soon, and what it returns means nothing.
func newStream(in Input, ended func() bool) *stream {
	s := &stream{entries: make([]entry, 0, len(in.Kept)+len(in.Tail)+len(in.Pending))}
	for _, part := range [][]memory.Message{in.Kept, in.Tail} {
		for _, m := range part {
			s.entries = append(s.entries, entry{msg: m, seq: m.Seq})
		}
	}
	for i, m := range in.Pending {
		m.Seq = 0
		s.entries = append(s.entries, entry{msg: m, seq: in.LastSeq + 1 + int64(i), pending: true})
	}
	unseen := s.hide()
	p := toolcalls.Pair(len(s.entries), func(i int) *memory.Message { return &s.entries[i].msg }, ended)
	if ended() {
		return s
	}
	t := tier{stream: s, Pairing: p, ended: ended, sessionID: in.SessionID, missing: missingCall(in), unseen: unseen, lastUser: lastUser(s.entries)}
	t.run()
	for len(s.tail) > 0 && s.tail[0].entries[0] < len(in.Kept) {
		s.kept, s.tail = append(s.kept, s.tail[0]), s.tail[1:]
	}
	return s
}

// hide takes what hidden messages say out of the stream, and answers the ids of their calls.
func (s *stream) hide() (unseen []string) {
	for i := range s.entries {
		e := &s.entries[i]
		if e.msg.Hidden {
			unseen = append(unseen, e.msg.ToolCalls()...)
			e.hidden, e.msg.Parts = true, nil
		}
	}
	return unseen
}

// missingCall is why a result is dropped whose call is not in the stream: it may stand before what was read.
func missingCall(in Input) OmitReason {
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

// says reports whether a part can stand in a message beside calls and results.
func says(p memory.Part) bool { return toolcalls.Says(p) }

// tier ties entries into units.
type tier struct {
	*stream
	*toolcalls.Pairing
	sessionID string
	missing   OmitReason // of a result without its call
	unseen    []string   // ids of calls in hidden messages
	lastUser  int
	group     []int  // union-find over entries; nil while nothing is tied
	emitted   []bool // which entries stand in a unit already
	ended     func() bool
}

func (t *tier) run() {
	t.emitted = make([]bool, len(t.entries))
	members := t.members()
	firstPending := map[int]int{}
	for i := range t.entries {
		if i%toolcalls.MessagesBetweenLooks == 0 && t.ended() {
			return
		}
		if t.group != nil && t.find(i) != i {
			continue
		}
		u := t.unit(i, members[i])
		if len(u.blocks) == 0 {
			continue
		}
		at := slices.IndexFunc(u.entries, func(e int) bool { return t.entries[e].pending })
		if at < 0 {
			t.tail = append(t.tail, u)
			continue
		}
		first := u.entries[at]
		for _, e := range u.entries {
			if t.entries[e].pending {
				first = min(first, e)
			}
		}
		firstPending[u.entries[0]] = first
		t.bound = append(t.bound, u)
	}
	t.noteDrops()
	slices.SortFunc(t.bound, func(a, b unit) int { return cmp.Compare(firstPending[a.entries[0]], firstPending[b.entries[0]]) })
}

// members ties the entries of each answered call, and lists those of each group of more than one.
func (t *tier) members() map[int][]int {
	for _, c := range t.Calls {
		if !c.Answered || c.Result.Message == c.At.Message {
			continue
		}
		if t.group == nil {
			t.group = make([]int, len(t.entries))
			for i := range t.group {
				t.group[i] = i
			}
		}
		a, b := t.find(c.At.Message), t.find(c.Result.Message)
		t.group[max(a, b)] = min(a, b)
	}
	members := map[int][]int{}
	for i := range t.group {
		if root := t.find(i); root != i || len(members[root]) > 0 {
			if len(members[root]) == 0 {
				members[root] = append(members[root], root)
			}
			members[root] = append(members[root], i)
		}
	}
	return members
}

func (t *tier) find(i int) int {
	for t.group[i] != i {
		t.group[i] = t.group[t.group[i]]
		i = t.group[i]
	}
	return i
}

// unit makes the unit of an entry and those tied to it: each calling message, the results of its calls in the order
// of the calls, and what else the answering messages say.
func (t *tier) unit(root int, tied []int) unit {
	var u unit
	if len(tied) == 0 {
		tied = []int{root}
	}
	for _, e := range tied {
		if t.HasCalls(e) {
			t.step(&u, e)
		}
	}
	for _, e := range tied {
		t.leftover(&u, e)
	}
	return u
}

// step adds a calling message with its results.
func (t *tier) step(u *unit, e int) {
	t.say(u, e)
	var answering []int
	from, to := t.CallsOf(e)
	for _, c := range t.Calls[from:to] {
		if !c.Answered {
			continue
		}
		r := c.Result.Message
		t.result(u, r, c.Result.Part)
		if r != e && !t.HasCalls(r) && !slices.Contains(answering, r) {
			answering = append(answering, r)
		}
	}
	for _, r := range answering {
		if t.entries[r].msg.Role != memory.RoleTool {
			t.leftover(u, r)
		}
	}
}

// result adds one result, to the block before where that holds results of the same entry.
func (t *tier) result(u *unit, e, part int) {
	p := t.entries[e].msg.Parts[part]
	if t.entries[e].msg.Role == memory.RoleTool && !t.emitted[e] {
		p.Parts = slices.Concat(p.Parts, t.beside(e))
	}
	t.use(u, e)
	if n := len(u.blocks); n > 0 && u.blocks[n-1].role == memory.RoleTool && u.blocks[n-1].entry == e {
		u.blocks[n-1].parts = append(u.blocks[n-1].parts, p)
		return
	}
	u.blocks = append(u.blocks, block{entry: e, role: memory.RoleTool, parts: []memory.Part{p}})
}

// beside is what a tool's message says outside its results. It has no other place than in one of them.
func (t *tier) beside(e int) []memory.Part {
	var parts []memory.Part
	for _, p := range t.entries[e].msg.Parts {
		if says(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// leftover adds what an entry says, unless that stands in the unit already.
func (t *tier) leftover(u *unit, e int) {
	if t.emitted[e] && !t.mayStillSpeak(u, e) {
		return
	}
	t.say(u, e)
}

// mayStillSpeak reports whether an entry has only its results in the unit so far.
func (t *tier) mayStillSpeak(u *unit, e int) bool {
	return t.entries[e].msg.Role != memory.RoleTool && !t.HasCalls(e) &&
		!slices.ContainsFunc(u.blocks, func(b block) bool { return b.entry == e && b.role != memory.RoleTool })
}

// say adds what a message says and its answered calls.
func (t *tier) say(u *unit, e int) {
	m := &t.entries[e].msg
	if plain(m) {
		t.use(u, e)
		u.blocks = append(u.blocks, block{entry: e, role: m.Role, parts: m.Parts})
		return
	}
	kept, _ := t.keep(e)
	spoken := m.Role != memory.RoleTool && slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind != memory.PartReasoning })
	if !spoken {
		return
	}
	calls := slices.ContainsFunc(kept, func(p memory.Part) bool { return p.Kind == memory.PartToolCall })
	t.use(u, e)
	u.blocks = append(u.blocks, block{entry: e, role: m.Role, parts: kept, think: calls && e > t.lastUser})
}

// plain reports whether a message is one text with words in it: most are.
func plain(m *memory.Message) bool {
	return len(m.Parts) == 1 && m.Role != memory.RoleTool && m.Parts[0].Kind == memory.PartText && says(m.Parts[0])
}

// noteDrops notes what of each message is dropped, and why.
func (t *tier) noteDrops() {
	for e := range t.entries {
		if e%toolcalls.MessagesBetweenLooks == 0 && t.ended() {
			return
		}
		if plain(&t.entries[e].msg) {
			continue
		}
		_, dropped := t.keep(e)
		if !t.emitted[e] && dropped == 0 {
			dropped = OmitNotRenderable
		}
		if t.entries[e].hidden {
			dropped = OmitHidden
		}
		if dropped != 0 {
			t.entries[e].altered = true
			t.omit(e, dropped)
		}
	}
}

// keep answers the parts of a message that stand beside results, and why something of it is dropped, 0 when nothing is.
func (t *tier) keep(e int) (kept []memory.Part, dropped OmitReason) {
	m := &t.entries[e].msg
	for j, p := range m.Parts {
		switch {
		case says(p), p.Kind == memory.PartReasoning:
			kept = append(kept, p)
		case p.Kind == memory.PartToolCall:
			if t.answered(e, j) {
				kept = append(kept, p)
				continue
			}
			dropped = worst(dropped, OmitUnansweredCall)
		case p.Kind == memory.PartToolResult:
			if _, ok := t.AnsweredBy(toolcalls.Ref{Message: e, Part: j}); !ok {
				dropped = worst(dropped, t.reason(p.CallID))
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

// reason is why a result that answers nothing is dropped.
func (t *tier) reason(id string) OmitReason {
	if t.Known(id) > 0 {
		return OmitNotRenderable // another result answered first
	}
	if slices.Contains(t.unseen, id) {
		return OmitHidden
	}
	return t.missing
}

func (t *tier) answered(e, part int) bool {
	from, to := t.CallsOf(e)
	for _, c := range t.Calls[from:to] {
		if c.At.Part == part {
			return c.Answered
		}
	}
	return false
}

func (t *tier) use(u *unit, e int) {
	if !t.emitted[e] {
		t.emitted[e] = true
		u.entries = append(u.entries, e)
	}
}

func (t *tier) omit(e int, why OmitReason) {
	seq := t.entries[e].seq
	t.omitted = append(t.omitted, Omission{SessionID: t.sessionID, From: seq, To: seq, Reason: why})
}

// withoutBlobs is the unit with placeholders for attachments that are carried inline.
func (u unit) withoutBlobs() unit {
	light := unit{entries: u.entries, light: true}
	for _, b := range u.blocks {
		b.parts = replaceBlobs(b.parts)
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
