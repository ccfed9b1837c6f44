package assembly

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
)

// Draft is a context while its contents are chosen. Its caller reads the messages that it asks for, in this order:
//
//	draft, err := assembly.Begin(ctx, in)
//	for room := draft.RecallRoom(); room > 0; room = draft.RecallRoom() {
//		draft.Recall(recalled messages of about so many tokens)
//	}
//	for room := draft.FillRoom(); room > 0; room = draft.FillRoom() {
//		draft.Fill(messages that may fill, of about so many tokens)
//	}
//	result, err := draft.Finish(ctx)
//
// A loop may be left early, or left out where there is nothing to recall or to fill with.
//
// Instructions, state, pending messages and the calls that these answer are always in a context; where they alone are more than
// Available, it is raised for them, and where they are more than Most too, the error is BUDGET_TOO_SMALL. Then come notes up
// to NotesShare of Available, the last RecentN messages, facts up to Facts.Share of Available, summaries up to Summaries.Share,
// recalled messages up to RecallShare, then more of the tail, and what one leaves the next takes. The tail is a suffix of the
// session, behind the running summary, in which each tool call is followed by its results; what cannot be paired or rendered
// is left out and listed.
//
// No message, fact or part of either is in it twice, and nothing is recalled that says the same as what the tail, a pending
// message or something recalled before it says. Where recall has more to say than a budget of 500 tokens or more holds, at
// least 95 % of it are taken, as long as the last messages leave room for a line of memory with its tags.
//
// Result.Tokens never passes Available. It is a sum over pieces: exact where the counter is additive, and at most a few tokens
// above an exact count of the whole otherwise.
//
// Once the context of Begin has ended, the methods return soon, and what they return means nothing: to price and render
// megabytes takes seconds.
type Draft struct {
	p       *pricer
	must    required
	facts   *factLists
	opening space // what the tags of recalled messages take, until one is added
	said    fingerprints
	step    step
	choice
}

// choice is what was chosen for a context besides what it must have.
type choice struct {
	transcript *transcript
	memory     *memoryBlock
	recalled   *recollection
	notesLeft  int // how many notes had no room
	left       space
}

// step says what a draft asks for.
type step int

// The steps, in their order.
const (
	askFirst step = iota // the first recalled messages: the tail grows when they are known
	askMore              // more of them
	askFill              // messages that may fill: what was recalled stands in memory
	askNone
)

// Begin takes what a context must have, and chooses what comes before recalled messages. Once ctx has ended, it returns the
// error of ctx.
func Begin(ctx context.Context, in Input) (*Draft, error) {
	d, err := begin(withDefaults(in), func() bool { return ctx.Err() != nil })
	if ended := endedBy(ctx); ended != nil {
		return nil, ended
	}
	return d, err
}

// begin is Begin. Once ended reports that nobody waits any more, it stops soon, and what it returns means nothing.
func begin(in Input, ended func() bool) (*Draft, error) {
	p := newPricer(&in, ended)
	said := newConversation(&in, ended)
	if ended() {
		return nil, nil
	}
	must, left, err := require(p, said)
	if err != nil || ended() {
		return nil, err
	}
	d := &Draft{p: p, must: must, facts: factsToChoose(&in), choice: choice{
		transcript: newTranscript(&in, said), memory: &memoryBlock{}, recalled: &recollection{}, left: left,
	}}
	d.chooseFirst()
	return d, nil
}

// endedBy returns the error of a context that has ended, nil before.
func endedBy(ctx context.Context) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("assemble a context: %w", ended)
	}
	return nil
}

// withDefaults is an input without what its policy leaves out and what its running summary covers.
func withDefaults(in Input) Input {
	if in.Policy.MemoryRole == "" {
		in.Policy.MemoryRole = contextprofile.MemoryAsUser
	}
	in.Tail = behind(in.Running, in.Tail)
	if !in.Policy.Sections.Recent {
		in.Policy.RecentN = 0
		in.Kept = nil
	}
	return in
}

// chooseFirst chooses what has a share of the room and the session's last messages, and what of the tail takes nothing from
// the share of recalled messages.
func (d *Draft) chooseFirst() {
	p, in, t := d.p, d.p.in, d.transcript
	if share := in.Policy.NotesShare; share > 0 && in.Policy.Sections.Notes {
		d.left, d.notesLeft = chooseNotes(p, d.memory, d.left, portion(in, share, d.left))
	}
	d.left = t.chooseKept(p, d.left)
	d.left = t.chooseLast(p, in.Policy.RecentN, d.left)
	if share := in.Policy.Facts.Share; share > 0 {
		d.left = d.facts.choose(p, d.memory, d.left, portion(in, share, d.left))
	}
	if share := in.Policy.Summaries.Share; share > 0 {
		d.left = chooseSummaries(p, d.memory, d.left, portion(in, share, d.left))
	}
	if t.grows {
		d.left = d.left.less(t.extendUnchanged(p, d.left.less(portion(in, in.Policy.RecallShare, d.left))))
	}
	d.opening = d.memory.opening(p, SectionRecalled) // no recalled message is added to memory until all are chosen
}

// RecallRoom returns the most tokens of Counter that the lines of all recalled messages that are read next can take together,
// and 0 when no more are to be read. What is read beyond them cannot find room, and a message of fewer tokens may. After the
// first messages, more are asked for while more than a twenty-fifth of Available is left.
func (d *Draft) RecallRoom() int64 {
	in, room := d.p.in, d.recalled.room(d.left, d.opening)
	switch {
	case !in.Policy.Sections.Recalled, d.step > askMore:
		return 0
	case d.step == askMore && (d.recalled.isFull(d.p) || !isRoomy(in, room)):
		return 0
	}
	return max((d.left.less(d.recalled.taken).tokens-d.opening.tokens)/in.Counter.Per(), 0)
}

// Recall chooses from the recalled messages that were read, the best first, and those before them. When none is new, no more
// are asked for.
func (d *Draft) Recall(found []Recalled) {
	news := d.recalled.addCandidates(found)
	switch {
	case d.step == askFirst:
		d.growTail()
		d.step = askMore
	case news:
		d.recalled.choose(d.p, d.transcript, d.left, d.opening)
	}
	if !news {
		d.chooseRest()
	}
}

// chooseRest adds what was recalled to memory, once, and chooses what has no share of the room.
func (d *Draft) chooseRest() {
	if d.step > askMore {
		return
	}
	if d.step == askFirst { // nothing was recalled
		d.growTail()
	}
	d.step = askFill
	d.addRecalled()
	p, in := d.p, d.p.in
	if in.Policy.NotesShare <= 0 && in.Policy.Sections.Notes {
		d.left, d.notesLeft = chooseNotes(p, d.memory, d.left, d.left)
	}
	if in.Policy.Facts.Share <= 0 {
		d.left = d.facts.choose(p, d.memory, d.left, d.left)
	}
	if in.Policy.Summaries.Share <= 0 {
		d.left = chooseSummaries(p, d.memory, d.left, d.left)
	}
	d.left = d.facts.chooseMore(p, d.memory, d.left)
}

// FillRoom ends what is recalled. It returns how many tokens of Counter the messages that fill up to Policy.RecallFloor may
// take at most, and 0 when no more are to be read.
func (d *Draft) FillRoom() int64 {
	d.chooseRest()
	in := d.p.in
	if d.step > askFill || in.Policy.RecallFloor <= 0 || !in.Policy.Sections.Recalled || d.recalled.isFull(d.p) {
		return 0
	}
	room := floorRoom(in, d.memory, d.left, in.Policy.RecallFloor).tokens
	if room < leastLine*in.Counter.Per() {
		return 0
	}
	return room / in.Counter.Per()
}

// Fill adds messages that were read to fill, each with its Step, in the order in which they are to be chosen. When none is new,
// no more are asked for.
func (d *Draft) Fill(found []Recalled) {
	d.chooseRest()
	first := len(d.recalled.candidates)
	if !d.recalled.addCandidates(found) {
		d.step = askNone
		return
	}
	d.fillUp(first)
}

// Finish fills facts up to the floor and renders the context. Once ctx, the context of Begin, has ended, it returns the error
// of ctx and nothing else.
func (d *Draft) Finish(ctx context.Context) (Result, error) {
	d.chooseRest()
	d.step = askNone
	if d.p.in.Policy.RecallFloor > 0 {
		d.left = d.facts.fillUp(d.p, d.memory, d.left)
	}
	d.memory.sort(d.recalled)
	if err := endedBy(ctx); err != nil {
		return Result{}, err
	}
	out := result(d.p, d.must, d.choice)
	if err := endedBy(ctx); err != nil {
		return Result{}, err
	}
	return out, nil
}
