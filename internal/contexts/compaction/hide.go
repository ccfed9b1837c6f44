package compaction

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// hide leaves out what the policy hides. It returns which messages of the history were tied to those by tool calls.
func (r *run) hide(e *Effect) (tied map[int]bool) {
	hidden := r.policy.Hide.hidden(r.items, r.ended)
	e.Triggered = slices.Contains(hidden, true)
	if !e.Triggered {
		return nil
	}
	tied = map[int]bool{}
	for _, c := range r.items.pair(r.ended).Calls {
		if c.Answered && hidden[c.At.Message] != hidden[c.Result.Message] {
			tied[c.At.Message], tied[c.Result.Message] = true, true
		}
	}
	r.keep(StageHide, func(int) Reason { return ReasonHidden }, func(i int) bool { return !hidden[i] })
	return tied
}

// hidden reports for each item whether it is hidden.
func (h Hide) hidden(items list, ended func() bool) []bool {
	hidden := make([]bool, len(items))
	before := h.beforeStart(items, ended)
	system := true
	for i := range items {
		it := items[i]
		system = system && (it.msg.Role == memory.RoleSystem || it.msg.Role == memory.RoleDeveloper) && !it.summary
		hidden[i] = before[i] && !system && !it.pinned || h.excludes(items[i])
	}
	return hidden
}

func (h Hide) excludes(it *item) bool { return slices.Contains(h.Exclude, it.msg.ID) }

// beforeStart reports for each item whether it is before the context's start, and with it everything that it is tied to.
func (h Hide) beforeStart(items list, ended func() bool) []bool {
	before := make([]bool, len(items))
	start := slices.IndexFunc(items, func(it *item) bool { return h.StartID != "" && it.msg.ID == h.StartID })
	for i := range items {
		seq := items[i].msg.Seq
		before[i] = i < start || seq > 0 && seq < h.StartSeq
	}
	tied := make([][]int, len(items)) // to which others each is
	for _, c := range items.pair(ended).Calls {
		if c.Answered && !h.excludes(items[c.At.Message]) && !h.excludes(items[c.Result.Message]) {
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
