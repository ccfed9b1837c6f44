package assembly

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/fence"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/tokens"
)

// assembler holds what one call works on.
type assembler struct {
	in Input
	*stream
	meter
	fences
	form     form
	state    string // the state as it stands in its fence; "" without one
	parts    fixedParts
	left     space  // what is left after what was taken
	from     int    // the units of the tail from here on are taken
	taken    []bool // by entry: which messages of the session are taken
	recalled []Recalled
	found    []candidate           // what may be recalled of each of them
	places   map[memory.Place]bool // of the recalled messages
	chosen   []int                 // the recalled messages that are taken, by rank
	repeated []int                 // those that are not, since what stands in the context says the same
	gists    []gist                // of the entries, as far as they were compared
	facts    factLists
	memories space // what the chosen memories take, until they are shelved
	shelves  [SectionPending]shelf
	unplaced int         // notes that had no room
	payer    SectionKind // the section that paid for the memories' fence; 0 while there is none
	opening  int64       // what Anthropic's opening notice would take
	stopped  OmitReason  // why the tail ends where it does
	ended    func() bool // whether nobody waits any more: from then on nothing fits
}

// space is room in a context, or what something takes of it.
type space struct {
	tokens int64 // in units of the counter
	bytes  int
}

func (s space) less(p space) space { return space{s.tokens - p.tokens, s.bytes - p.bytes} }

func (s space) plus(p space) space { return space{s.tokens + p.tokens, s.bytes + p.bytes} }

// fixedParts is what the parts take that a context cannot do without, in units of the counter.
type fixedParts struct {
	instructions, state, pending, overhead int64
}

func (f fixedParts) total() int64 { return f.instructions + f.state + f.pending + f.overhead }

// Assemble decides what stands in a context and renders it.
//
// Instructions, state, pending messages and the calls that these answer always stand in it; where they alone are more
// than Available, it is raised for them, and where they are more than Most too, the error is BUDGET_TOO_SMALL. Then come notes up to NotesShare of Available, the last RecentN messages, facts up to Facts.Share of
// Available, summaries up to Summaries.Share, recalled messages up to RecallShare, then more of the tail, and what one
// leaves the next takes. The tail is a suffix of the session, behind the running summary, in which each tool call stands
// with its results; what cannot be paired or rendered is left out and listed.
//
// No message, fact or part of either stands twice, and nothing is recalled that says the same as what the tail, a pending
// message or something recalled before it says. Where recall has more to say than a budget of 500 tokens or more holds,
// at least 95 % of it are taken, as long as the last messages leave room for a line in its fence.
//
// Assemble is pure where Input.Recall is: nothing else is read, and Recall is a parameter like the rest. Its error is
// returned wrapped.
//
// Result.Tokens never passes Available. It is a sum over pieces: exact where the counter is additive, and at most a
// few tokens above an exact count of the whole otherwise.
func Assemble(in Input) (Result, error) { return AssembleWithin(context.Background(), in) }

// AssembleWithin is Assemble for as long as somebody waits: once ctx has ended, its error is returned soon, and nothing
// else. To price and render megabytes takes seconds.
func AssembleWithin(ctx context.Context, in Input) (Result, error) {
	a := newAssembler(in, func() bool { return ctx.Err() != nil })
	var err error
	if !a.ended() {
		err = a.fix()
	}
	if err == nil && !a.ended() {
		err = a.fit()
	}
	if ended := ctx.Err(); ended != nil {
		return Result{}, fmt.Errorf("assemble a context: %w", ended)
	}
	if err != nil {
		return Result{}, err
	}
	return a.result(), nil
}

func newAssembler(in Input, ended func() bool) *assembler {
	if in.Policy.MemoryRole == "" {
		in.Policy.MemoryRole = policy.MemoryAsUser
	}
	if !in.Policy.Sections.Recent {
		in.Policy.RecentN = 0
	}
	in.Tail = behind(in.Running, in.Tail)
	if !in.Policy.Sections.Recent {
		in.Kept = nil
	}
	a := &assembler{in: in, ended: ended, stream: newStream(in, ended), form: formOf(in), fences: fencesOf(in.Fence)}
	a.meter = meter{counter: in.Counter, memo: make(map[string]int64, 64)}
	if in.Policy.Sections.State && len(in.State) > 0 {
		a.state = fence.DisarmJSON(string(in.State))
	}
	a.from = len(a.tail)
	a.taken = make([]bool, len(in.Kept)+len(in.Tail))
	return a
}

func formOf(in Input) form {
	switch in.Render {
	case RenderText:
		return textForm{}
	case RenderAnthropic:
		return anthropicForm{in.Documents}
	}
	return openaiForm{in.Documents}
}

// json reports whether the context is a list of messages, which cost more than their words.
func (a *assembler) json() bool { return a.in.Render != RenderText }

// price of a message that the assembler itself writes.
func (a *assembler) ownMessage() int64 {
	if a.json() {
		return messageTokens * a.counter.Per()
	}
	return 0
}

// fix takes what a context cannot do without, and raises Available for it as far as it may.
func (a *assembler) fix() error {
	used := a.fixedSpace()
	if need := tokens.Tokens(a.counter, used.tokens); need > a.in.Available && need <= a.in.Most {
		a.in.Available = need
	}
	available := space{a.in.Available * a.counter.Per(), a.in.MaxBytes}
	if a.in.MaxBytes == 0 {
		available.bytes = maxInt
	}
	if used.tokens > available.tokens {
		return a.tooSmall()
	}
	if used.bytes > available.bytes {
		return memory.InvalidField("pending", "instructions, state and pending messages would make a reply of about %d bytes; the limit is %d: send less", used.bytes, available.bytes)
	}
	a.left = available.less(used)
	return nil
}

const maxInt = int(^uint(0) >> 1)

// fixedSpace is what the fixed parts take. Where their attachments would pass MaxBytes, they get placeholders.
func (a *assembler) fixedSpace() space {
	used := a.ownSpace()
	before := used
	for i := range a.bound {
		p := a.priceOf(&a.bound[i])
		used = used.plus(space{p.tokens, p.bytes})
	}
	if a.in.MaxBytes > 0 && used.bytes > a.in.MaxBytes {
		used = before
		for i := range a.bound {
			a.bound[i] = a.bound[i].withoutBlobs()
			p := a.priceOf(&a.bound[i])
			used = used.plus(space{p.tokens, p.bytes})
		}
	}
	a.parts.pending = used.tokens - before.tokens
	for i := range a.bound {
		a.mark(&a.bound[i])
	}
	return used
}

// ownSpace is what the instructions, the state and the form itself take.
func (a *assembler) ownSpace() space {
	var f fixedParts
	if a.in.Instructions != "" {
		f.instructions = a.counter.Cost(a.in.Instructions) + a.ownMessage()
		if !a.json() {
			f.instructions += a.fixedCost(tokens.Join)
		}
	}
	if a.state != "" {
		f.state = a.fixedCost(a.stateOpen) + a.counter.Cost(a.state) + a.fixedCost("\n"+a.stateClose+tokens.Join) + a.ownMessage()
	}
	if a.json() {
		f.overhead = replyTokens * a.counter.Per()
	}
	if a.in.Render == RenderText {
		f.overhead = a.contextCost()
	}
	if a.counter.Per() == 1 {
		f.overhead += seamTokens
	}
	if a.in.Render == RenderAnthropic && (!a.opensAsUser() || a.state == "") {
		a.opening = a.ownMessage() + a.fixedCost(openingNotice)
		f.overhead += a.opening
	}
	a.parts = f
	bytes := 2*itemBytes + escapedBytes(a.in.Instructions) + escapedBytes(a.state) + len(a.memoryOpen) + len(memoryNotice) + len(a.memoryClose) + 256
	return space{f.total(), bytes}
}

// contextCost is what a text's own fence takes.
func (a *assembler) contextCost() int64 {
	return a.fixedCost(a.contextOpen) + a.fixedCost(a.contextClose)
}

// tooSmall is the error of a budget that does not hold the fixed parts.
func (a *assembler) tooSmall() error {
	t := func(cost int64) int64 { return tokens.Tokens(a.counter, cost) }
	need, most := t(a.parts.total()), max(a.in.Available, a.in.Most)
	d := fmt.Sprintf("%d tokens are available%s, but the parts that cannot be left out need %d: instructions %d, state %d, pending messages with the calls they answer %d, the form itself %d; raise it by at least %d, reserve less, or shorten them",
		most, a.reserved(), need, t(a.parts.instructions), t(a.parts.state), t(a.parts.pending), t(a.parts.overhead), need-most)
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonBudgetTooSmall, Message: "overrides.budget_tokens: " + d,
		Fields: []memory.FieldError{{Field: "overrides.budget_tokens", Description: d}},
		Metadata: map[string]string{
			"available_tokens": fmt.Sprint(most), "needed_tokens": fmt.Sprint(need),
			"instructions_tokens": fmt.Sprint(t(a.parts.instructions)), "state_tokens": fmt.Sprint(t(a.parts.state)),
			"pending_tokens": fmt.Sprint(t(a.parts.pending)), "overhead_tokens": fmt.Sprint(t(a.parts.overhead)),
		},
	}
}

// reserved says what is kept free beside what is available.
func (a *assembler) reserved() string {
	if a.in.Reserved == 0 {
		return ""
	}
	return fmt.Sprintf(" beside the %d that are reserved for the answer and the tools", a.in.Reserved)
}

// mark notes that a unit's messages are taken.
func (a *assembler) mark(u *unit) {
	for _, e := range u.entries {
		if e < len(a.taken) {
			a.taken[e] = true
		}
	}
}

// sections lists what stands in the context.
func (a *assembler) sections() []Section {
	var out []Section
	if a.in.Instructions != "" {
		out = append(out, a.ownSection(SectionInstructions, a.parts.instructions, a.in.Instructions))
	}
	if a.state != "" {
		out = append(out, a.ownSection(SectionState, a.parts.state, string(a.in.State)))
	}
	out = append(out, a.memorySections()...)
	recent, pending := Section{Kind: SectionRecent}, Section{Kind: SectionPending}
	var costs [2]int64
	for _, u := range a.units() {
		for i, e := range u.entries {
			to, cost := &recent, &costs[0]
			if a.entries[e].pending {
				to, cost = &pending, &costs[1]
			}
			*cost += u.price.each[i]
			to.Items = append(to.Items, a.item(u, e, u.price.each[i]))
		}
	}
	recent.Tokens, pending.Tokens = tokens.Tokens(a.counter, costs[0]), tokens.Tokens(a.counter, costs[1])
	for _, s := range []Section{recent, pending} {
		if len(s.Items) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (a *assembler) ownSection(kind SectionKind, cost int64, text string) Section {
	n := tokens.Tokens(a.counter, cost)
	item := Item{Tokens: n}
	if a.in.Render == RenderStructured {
		item.Text = text
	}
	return Section{Kind: kind, Items: []Item{item}, Tokens: n}
}

// units are the units that stand in the context, in its order.
func (a *assembler) units() []*unit {
	out := a.recorded()
	for i := range a.bound {
		out = append(out, &a.bound[i])
	}
	return out
}

// recorded are those of the units that pending messages are not bound to.
func (a *assembler) recorded() []*unit {
	out := make([]*unit, 0, len(a.kept)+len(a.tail)-a.from+len(a.bound))
	for i := range a.kept {
		out = append(out, &a.kept[i])
	}
	for i := a.from; i < len(a.tail); i++ {
		out = append(out, &a.tail[i])
	}
	return out
}

// item is a recent or pending message.
func (a *assembler) item(u *unit, e int, cost int64) Item {
	ent := &a.entries[e]
	m := &ent.msg
	it := Item{MessageID: m.ID, Seq: m.Seq, Role: m.Role, Name: m.Name, CreateTime: m.CreateTime, Tokens: tokens.Tokens(a.counter, cost)}
	if !ent.pending {
		it.SessionID = a.in.SessionID
	}
	if a.in.Render == RenderStructured {
		it.Message = a.shown(u, e)
	}
	return it
}

// whole reports whether a message of a unit goes out with all its parts, those that are never rendered too.
func (a *assembler) whole(u *unit, e int) bool { return !a.entries[e].altered && !u.light }

// shown is a message as it stands in a structured context: without what was dropped of it.
func (a *assembler) shown(u *unit, e int) *memory.Message {
	m := a.entries[e].msg
	m.Original = nil
	if a.whole(u, e) {
		return &m
	}
	m.Parts = nil
	for i := range u.blocks {
		if u.blocks[i].entry == e {
			m.Parts = append(m.Parts, u.blocks[i].parts...)
		}
	}
	return &m
}

func (a *assembler) result() Result {
	r := Result{Available: a.in.Available, NotesLeft: a.unplaced, Sections: a.sections(), Coverage: a.coverage(), Omitted: a.omissions()}
	used := a.parts.total()
	for i := range a.shelves {
		used += a.shelves[i].taken.tokens
	}
	for i := range a.kept {
		used += a.kept[i].price.tokens
	}
	for i := a.from; i < len(a.tail); i++ {
		used += a.tail[i].price.tokens
	}
	switch a.in.Render {
	case RenderText:
		r.Rendering, r.Stable = a.text()
		if !a.isFenced() {
			used -= a.contextCost()
		}
	case RenderOpenAI:
		r.Rendering, r.Stable = a.openai()
	case RenderAnthropic:
		var opened opening
		r.Rendering, r.Stable, opened = a.anthropic()
		if remembers := a.payer != 0 && a.opensAsUser(); opened == openedByItself && !remembers {
			used -= a.opening
		}
	}
	r.Tokens = tokens.Tokens(a.counter, used)
	return r
}
