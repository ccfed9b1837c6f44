package history

import (
	"iter"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/toolcalls"
)

// hide leaves out what the policy hides. It answers which messages of the history were tied to those by tool calls.
func (r *run) hide(e *Effect) (tied map[int]bool) {
	hidden := r.hidden()
	e.Triggered = slices.Contains(hidden, true)
	if !e.Triggered {
		return nil
	}
	tied = map[int]bool{}
	for _, c := range toolcalls.Pair(len(r.items), r.message, r.ended).Calls {
		if c.Answered && hidden[c.At.Message] != hidden[c.Result.Message] {
			tied[c.At.Message], tied[c.Result.Message] = true, true
		}
	}
	r.keep(StageHide, func(int) Reason { return ReasonHidden }, func(i int) bool { return !hidden[i] })
	return tied
}

// messages are those of all items.
func (r *run) messages() iter.Seq[memory.Message] {
	return func(yield func(memory.Message) bool) {
		for _, it := range r.items {
			if !yield(it.msg) {
				return
			}
		}
	}
}

// message answers an item's message.
func (r *run) message(i int) *memory.Message { return &r.items[i].msg }

// hidden reports for each item whether it is hidden.
func (r *run) hidden() []bool {
	hidden := make([]bool, len(r.items))
	before := r.beforeStart()
	system := true
	for i := range r.items {
		it := r.items[i]
		system = system && (it.msg.Role == memory.RoleSystem || it.msg.Role == memory.RoleDeveloper) && !it.summary
		hidden[i] = before[i] && !system && !it.pinned || r.excluded(i)
	}
	return hidden
}

func (r *run) excluded(i int) bool { return slices.Contains(r.policy.Hide.Exclude, r.items[i].msg.ID) }

// beforeStart reports for each item whether it stands before the context's start, and so does all that it is tied to.
func (r *run) beforeStart() []bool {
	h := r.policy.Hide
	before := make([]bool, len(r.items))
	start := slices.IndexFunc(r.items, func(it *item) bool { return h.StartID != "" && it.msg.ID == h.StartID })
	for i := range r.items {
		seq := r.items[i].msg.Seq
		before[i] = i < start || seq > 0 && seq < h.StartSeq
	}
	tied := make([][]int, len(r.items)) // to which others each is
	for _, c := range toolcalls.Pair(len(r.items), r.message, r.ended).Calls {
		if c.Answered && !r.excluded(c.At.Message) && !r.excluded(c.Result.Message) {
			tied[c.At.Message] = append(tied[c.At.Message], c.Result.Message)
			tied[c.Result.Message] = append(tied[c.Result.Message], c.At.Message)
		}
	}
	var behind []int
	for i := range before {
		if !before[i] {
			behind = append(behind, i)
		}
	}
	for len(behind) > 0 {
		last := len(behind) - 1
		i := behind[last]
		behind = behind[:last]
		for _, other := range tied[i] {
			if before[other] {
				before[other] = false
				behind = append(behind, other)
			}
		}
	}
	return before
}
