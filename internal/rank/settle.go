package rank

import "github.com/stratamem/strata/internal/memory"

// settle works out again what depends on neighbours, for the messages whose neighbourhood changed.
func (x *Index) settle(touched map[*session]struct{}) {
	for s := range touched {
		if !s.dirty {
			continue
		}
		for at := s.from; at < s.to; at++ {
			x.settleKind(s.messages[at])
		}
		for at := s.from; at < s.to; at++ {
			x.settleSpread(s, at)
			x.settleLengths(s, at)
		}
		x.settleKeys(s)
		s.dirty = false
	}
}

// settleKind decides by which weights a message is ranked, and takes its passages out of the sums.
func (x *Index) settleKind(no int32) {
	m := &x.messages[no]
	if m.settled {
		for p := m.first; p < m.last; p++ {
			x.lengths[m.kind] -= x.passLength[p]
			x.counts[m.kind]--
		}
		m.settled = false
	}
	kind := kindAssistantChat
	if memory.Role(m.role) == memory.RoleUser && m.name >= 0 && !x.bySession[m.session].replies {
		kind = kindPerson
	}
	if m.kind != kind {
		if kind == kindPerson {
			x.names.all[m.name].persons++
		} else {
			x.names.all[m.name].persons--
		}
	}
	m.kind = kind
	x.classes[no] = m.class()
}

// settleSpread notes in whose fields the message's words count.
func (x *Index) settleSpread(s *session, at int) {
	no := s.messages[at]
	x.spread[no] = [maxEdges]edge{}
	for i := range x.reaches {
		x.reaches[i].set(no, false)
	}
	n := 0
	add := func(to int, weight float64) {
		if to < 0 || to >= len(s.messages) || weight == 0 {
			return
		}
		t := x.messages[s.messages[to]]
		x.spread[no][n] = edge{t.first, t.last, float32(weight)}
		n++
		if t.first < t.last {
			x.settleReach(no, s.messages[to])
		}
	}
	for _, step := range [...]int{-2, -1, 1, 2} {
		add(at+step, x.windowWeight(s, at+step, at))
	}
	if to := x.answers(s, at); to >= 0 {
		add(to, x.replyWeight(s, to, at))
	}
}

// The sets of messages whose words count in the fields of messages beside them, by how many numbers.
const (
	oneAfter = iota
	twoAfter
	oneBefore
	twoBefore
	elsewhere // see Index.spread
	reachSets
)

// settleReach notes in which message one's words count. Mostly those of a session stand in a row.
func (x *Index) settleReach(no, to int32) {
	set := elsewhere
	switch to - no {
	case 1:
		set = oneAfter
	case 2:
		set = twoAfter
	case -1:
		set = oneBefore
	case -2:
		set = twoBefore
	}
	x.reaches[set].add(no)
}

// settleLengths sums up the fields of the message's passages, and puts them into the sums.
func (x *Index) settleLengths(s *session, at int) {
	m := &x.messages[s.messages[at]]
	w := &x.weights[m.kind]
	around := w.Date * float64(x.days.all[m.day].words)
	if m.name >= 0 {
		around += w.Name * float64(x.names.all[m.name].words)
	}
	for _, step := range [...]int{-2, -1, 1, 2} {
		if from := at + step; from >= 0 && from < len(s.messages) {
			around += x.windowWeight(s, at, from) * float64(x.messages[s.messages[from]].words)
		}
	}
	if from := x.reply(s, at); from >= 0 {
		around += x.replyWeight(s, at, from) * float64(x.messages[s.messages[from]].words)
	}
	for p := m.first; p < m.last; p++ {
		x.passKind[p] = m.kind
		x.passLength[p] = around + float64(x.passWords[p])
		x.lengths[m.kind] += x.passLength[p]
		x.counts[m.kind]++
	}
	m.settled = true
}

// windowWeight is how much the words of the message at from count for the one at to, at most two positions away.
func (x *Index) windowWeight(s *session, to, from int) float64 {
	if to < 0 || to >= len(s.messages) {
		return 0
	}
	t, f := &x.messages[s.messages[to]], &x.messages[s.messages[from]]
	w := &x.weights[t.kind]
	switch from - to {
	case -1:
		if f.question && f.name != t.name {
			return w.scaled(w.BeforeQuestion, f.words)
		}
		return w.scaled(w.Before, f.words)
	case 1:
		return w.scaled(w.After, f.words)
	case -2:
		return w.scaled(w.TwoBefore, f.words)
	}
	return w.scaled(w.TwoAfter, f.words)
}

func (x *Index) replyWeight(s *session, to, from int) float64 {
	w := &x.weights[x.messages[s.messages[to]].kind]
	return w.scaled(w.Reply, x.messages[s.messages[from]].words)
}

// scaled is the weight of a neighbour with so many words.
func (w *KindWeights) scaled(weight float64, words int32) float64 {
	if int(words) > w.NeighbourWords {
		weight *= float64(w.NeighbourWords) / float64(words)
	}
	return quantum(weight)
}

// reply is the position of the assistant's answer to the user's message at a position: the next message, or the first
// with words where tool calls come before it. -1 for none.
func (x *Index) reply(s *session, at int) int {
	if memory.Role(x.messages[s.messages[at]].role) != memory.RoleUser {
		return -1
	}
	for i := at + 1; i < len(s.messages) && i <= at+reach; i++ {
		m := &x.messages[s.messages[i]]
		if memory.Role(m.role) != memory.RoleAssistant {
			return -1
		}
		if m.words > 0 {
			return i
		}
	}
	return -1
}

// answers is the position of the user's message whose reply is at a position, -1 for none.
func (x *Index) answers(s *session, at int) int {
	for i := at - 1; i >= 0 && i >= at-reach; i-- {
		if memory.Role(x.messages[s.messages[i]].role) == memory.RoleUser {
			if x.reply(s, i) == at {
				return i
			}
			return -1
		}
	}
	return -1
}
