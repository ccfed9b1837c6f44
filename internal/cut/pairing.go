package cut

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Ref names a part of a message, both by index.
type Ref struct{ Message, Part int }

// Call is a tool call and the result that answers it.
type Call struct {
	At       Ref
	Answered bool
	Result   Ref // where Answered
	id       string
}

// Pairing says which result answers which call. Calls and results must be added in the order of the conversation, and
// Close called behind the last.
//
// A result answers an open call of its id: in the latest message that has one, and there the first, so that calls
// without ids pair by order. One without such a call before it answers the first open call of its id behind it, since
// clients record out of order.
type Pairing struct {
	Calls   []Call
	open    map[string][]int // open calls of an id
	early   []result
	known   map[string]int
	byCall  map[int][]int // calls of a message
	answers map[Ref]int   // calls by their result
}

type result struct {
	at Ref
	id string
}

// Pair pairs the calls and results of n messages. Only an assistant's calls count.
func Pair(n int, message func(int) *memory.Message) *Pairing {
	p := &Pairing{}
	for i := range n {
		m := message(i)
		for j := range m.Parts {
			switch part := &m.Parts[j]; {
			case part.Kind == memory.PartToolCall && m.Role == memory.RoleAssistant:
				p.AddCall(Ref{i, j}, part.CallID)
			case part.Kind == memory.PartToolResult:
				p.AddResult(Ref{i, j}, part.CallID)
			}
		}
	}
	p.Close()
	return p
}

// AddCall adds a call with its id, which may be empty.
func (p *Pairing) AddCall(at Ref, id string) {
	if p.open == nil {
		p.open, p.known, p.byCall, p.answers = map[string][]int{}, map[string]int{}, map[int][]int{}, map[Ref]int{}
	}
	p.open[id] = append(p.open[id], len(p.Calls))
	p.known[id]++
	p.byCall[at.Message] = append(p.byCall[at.Message], len(p.Calls))
	p.Calls = append(p.Calls, Call{At: at, id: id})
}

// AddResult adds a result with the id of the call that it answers, which may be empty.
func (p *Pairing) AddResult(at Ref, id string) {
	open := p.open[id]
	if len(open) == 0 {
		p.early = append(p.early, result{at, id})
		return
	}
	latest := p.Calls[open[len(open)-1]].At.Message
	i := slices.IndexFunc(open, func(c int) bool { return p.Calls[c].At.Message == latest })
	p.answer(open[i], at)
	p.open[id] = slices.Delete(open, i, i+1)
}

func (p *Pairing) answer(call int, at Ref) {
	p.Calls[call].Answered, p.Calls[call].Result = true, at
	p.answers[at] = call
}

// Close pairs results that stand before their calls.
func (p *Pairing) Close() {
	for _, r := range p.early {
		if p.known[r.id] == 0 {
			continue
		}
		for i, c := range p.Calls {
			if !c.Answered && c.At.Message > r.at.Message && c.id == r.id {
				p.answer(i, r.at)
				break
			}
		}
	}
	p.early, p.open = nil, nil
}

// CallsOf answers the calls of a message, as indices of Calls, by part.
func (p *Pairing) CallsOf(message int) []int { return p.byCall[message] }

// Known answers how many calls have the id.
func (p *Pairing) Known(id string) int { return p.known[id] }

// AnsweredBy answers the call that a result answers, as an index of Calls, false when it answers none.
func (p *Pairing) AnsweredBy(at Ref) (call int, ok bool) {
	call, ok = p.answers[at]
	return call, ok
}

// Reach answers for each of n messages the last one that must not be cut off from it: a result of its calls, or a call
// that it answers early.
func (p *Pairing) Reach(n int) []int {
	reach := make([]int, n)
	for i := range reach {
		reach[i] = i
	}
	for _, c := range p.Calls {
		if c.Answered {
			first, last := min(c.At.Message, c.Result.Message), max(c.At.Message, c.Result.Message)
			reach[first] = max(reach[first], last)
		}
	}
	return reach
}

// Ends reports for each message whether a cut may follow it: none before it reaches beyond it.
func Ends(reach []int) []bool {
	ends := make([]bool, len(reach))
	furthest := 0
	for i, r := range reach {
		furthest = max(furthest, r)
		ends[i] = furthest <= i
	}
	return ends
}

// Back is the largest index, at most n, before which a cut is allowed.
func Back(ends []bool, n int) int {
	for n > 0 && !ends[n-1] {
		n--
	}
	return n
}

// Forward is the smallest index, at least n, before which a cut is allowed.
func Forward(ends []bool, n int) int {
	for n > 0 && n < len(ends) && !ends[n-1] {
		n++
	}
	return n
}
