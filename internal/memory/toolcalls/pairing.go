package toolcalls

import (
	"cmp"
	"slices"
	"sort"

	"github.com/stratamem/strata/internal/memory"
)

// Ref names a part of a message, both by index.
type Ref struct{ Message, Part int }

// Call is a tool call with its result.
type Call struct {
	At       Ref
	Answered bool
	Result   Ref // where Answered
	id       string
	before   int // the open call of the same id before it, -1 without one
}

// Pairing finds the result of each call. Calls and results must be added in the order of the conversation, and Close called
// behind the last.
//
// A result belongs to an open call of its id: in the latest message that has one, and there to the first, so that calls
// without ids pair by order. A result without such a call before it belongs to the first open call of its id behind it,
// since clients record out of order.
type Pairing struct {
	Calls   []Call
	open    map[string]int // the latest open call of an id, -1 for none
	early   []result
	answers []answer       // by At
	known   map[string]int // how many calls have an id
}

type result struct {
	at Ref
	id string
}

type answer struct {
	at   Ref
	call int
}

// Pair pairs the calls and results of n messages. Only an assistant's calls count. Once ended reports that nobody waits any
// more, it stops soon, and what it returns means nothing; nil where somebody always waits.
func Pair(n int, message func(int) *memory.Message, ended func() bool) *Pairing {
	p := &Pairing{}
	for i := range n {
		if i%MessagesBetweenLooks == 0 && ended != nil && ended() {
			return p
		}
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

// MessagesBetweenLooks is how many messages are looked at until it is looked whether anybody still waits: a millisecond of
// work.
const MessagesBetweenLooks = 1024

// AddCall adds a call with its id, which may be empty.
func (p *Pairing) AddCall(at Ref, id string) {
	if p.open == nil {
		p.open, p.known = map[string]int{}, map[string]int{}
	}
	p.known[id]++
	before, ok := p.open[id]
	if !ok {
		before = -1
	}
	p.open[id] = len(p.Calls)
	p.Calls = append(p.Calls, Call{At: at, id: id, before: before})
}

// AddResult adds a result with the id of its call, which may be empty.
func (p *Pairing) AddResult(at Ref, id string) {
	latest, ok := p.open[id]
	if !ok || latest < 0 {
		p.early = append(p.early, result{at, id})
		return
	}
	call, behind := latest, -1
	for b := p.Calls[call].before; b >= 0 && p.Calls[b].At.Message == p.Calls[latest].At.Message; b = p.Calls[call].before {
		call, behind = b, call
	}
	if behind < 0 {
		p.open[id] = p.Calls[call].before
	} else {
		p.Calls[behind].before = p.Calls[call].before
	}
	p.answer(call, at)
}

func (p *Pairing) answer(call int, at Ref) {
	p.Calls[call].Answered, p.Calls[call].Result = true, at
	p.answers = append(p.answers, answer{at, call})
}

// Close pairs results that come before their calls.
func (p *Pairing) Close() {
	if len(p.early) > 0 {
		waiting := p.waiting()
		for _, r := range p.early {
			// A call that is not behind this result is behind none of the later ones.
			behind := waiting[r.id]
			for len(behind) > 0 && p.Calls[behind[0]].At.Message <= r.at.Message {
				behind = behind[1:]
			}
			if len(behind) > 0 {
				p.answer(behind[0], r.at)
				behind = behind[1:]
			}
			waiting[r.id] = behind
		}
		slices.SortFunc(p.answers, func(a, b answer) int { return compare(a.at, b.at) })
	}
	p.early, p.open = nil, nil
}

// waiting returns the calls of each id that have no result, in their order.
func (p *Pairing) waiting() map[string][]int {
	out := map[string][]int{}
	for i, c := range p.Calls {
		if !c.Answered {
			out[c.id] = append(out[c.id], i)
		}
	}
	return out
}

func compare(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Part, b.Part))
}

// CallsOf returns the calls of a message.
func (p *Pairing) CallsOf(message int) []Call {
	from := sort.Search(len(p.Calls), func(i int) bool { return p.Calls[i].At.Message >= message })
	to := from
	for to < len(p.Calls) && p.Calls[to].At.Message == message {
		to++
	}
	return p.Calls[from:to]
}

// HasCalls reports whether a message calls.
func (p *Pairing) HasCalls(message int) bool { return len(p.CallsOf(message)) > 0 }

// CallAt returns the call that a part is, false when it is none.
func (p *Pairing) CallAt(at Ref) (Call, bool) {
	i, ok := slices.BinarySearchFunc(p.Calls, at, func(c Call, at Ref) int { return compare(c.At, at) })
	if !ok {
		return Call{}, false
	}
	return p.Calls[i], true
}

// CallOf returns the call that a result belongs to, false when there is none.
func (p *Pairing) CallOf(result Ref) (Call, bool) {
	i, ok := slices.BinarySearchFunc(p.answers, result, func(a answer, at Ref) int { return compare(a.at, at) })
	if !ok {
		return Call{}, false
	}
	return p.Calls[p.answers[i].call], true
}

// ResultsOf returns the messages with results of a message's calls, in the order of the calls. They belong behind it, so
// neither the message itself nor any that calls too is among them.
func (p *Pairing) ResultsOf(message int) []int {
	var out []int
	for _, c := range p.CallsOf(message) {
		if r := c.Result.Message; c.Answered && r != message && !p.HasCalls(r) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Known returns how many calls have the id.
func (p *Pairing) Known(id string) int { return p.known[id] }

// Reach returns for each of n messages the last one that must not be cut off from it: a result of its calls, or a call
// whose result it has early.
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
