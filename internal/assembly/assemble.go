package assembly

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/contextprofile"
)

// Assemble decides what is in a context and renders it.
//
// Instructions, state, pending messages and the calls that these answer are always in it; where they alone are more than
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
// Assemble is pure where Input.Recall and Input.Fill are: nothing else is read. Their errors are returned wrapped.
//
// Result.Tokens never passes Available. It is a sum over pieces: exact where the counter is additive, and at most a few tokens
// above an exact count of the whole otherwise.
//
// Once ctx has ended, its error is returned soon, and nothing else: to price and render megabytes takes seconds.
func Assemble(ctx context.Context, in Input) (Result, error) {
	out, err := build(withDefaults(in), func() bool { return ctx.Err() != nil })
	if ended := ctx.Err(); ended != nil {
		return Result{}, fmt.Errorf("assemble a context: %w", ended)
	}
	return out, err
}

// build takes what a context must have, chooses what else the room holds, and renders both. Once ended reports that nobody
// waits any more, it stops soon, and what it returns means nothing.
func build(in Input, ended func() bool) (Result, error) {
	p := newPricer(&in, ended)
	said := newConversation(&in, ended)
	if ended() {
		return Result{}, nil
	}
	must, left, err := require(p, said)
	if err != nil || ended() {
		return Result{}, err
	}
	chosen, err := choose(p, said, left)
	if err != nil || ended() {
		return Result{}, err
	}
	return result(p, must, chosen), nil
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

// choice is what was chosen for a context besides what it must have.
type choice struct {
	transcript *transcript
	memory     *memoryBlock
	recalled   *recollection
	notesLeft  int // how many notes had no room
	left       space
}

// choose fills the room that is left beside what a context must have: first what has a share of it, then the session's last
// messages and what is recalled, each up to what the other leaves, and then what has no share.
func choose(p *pricer, said *conversation, left space) (choice, error) {
	in := p.in
	t, memory, recalled := newTranscript(in, said), &memoryBlock{}, &recollection{}
	facts := factsToChoose(in)
	notesLeft := 0
	if share := in.Policy.NotesShare; share > 0 && in.Policy.Sections.Notes {
		left, notesLeft = chooseNotes(p, memory, left, portion(in, share, left))
	}

	left = t.chooseKept(p, left)
	left = t.chooseLast(p, in.Policy.RecentN, left)
	if share := in.Policy.Facts.Share; share > 0 {
		left = facts.choose(p, memory, left, portion(in, share, left))
	}
	if share := in.Policy.Summaries.Share; share > 0 {
		left = chooseSummaries(p, memory, left, portion(in, share, left))
	}

	left, err := chooseRecalled(p, t, memory, recalled, left)
	if err != nil {
		return choice{}, err
	}

	if in.Policy.NotesShare <= 0 && in.Policy.Sections.Notes {
		left, notesLeft = chooseNotes(p, memory, left, left)
	}
	if in.Policy.Facts.Share <= 0 {
		left = facts.choose(p, memory, left, left)
	}
	if in.Policy.Summaries.Share <= 0 {
		left = chooseSummaries(p, memory, left, left)
	}
	left = facts.chooseMore(p, memory, left)
	left, err = fill(p, t, memory, recalled, facts, left)
	memory.sort(recalled)
	return choice{t, memory, recalled, notesLeft, left}, err
}
