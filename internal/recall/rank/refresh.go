package rank

import "github.com/stratamem/strata/internal/memory"

// refresh works out again what depends on neighbours, for the messages whose neighbourhood changed.
func (x *Index) refresh(touched map[*session]struct{}) {
	for s := range touched {
		if !s.dirty {
			continue
		}
		for at := s.from; at < s.to; at++ {
			x.setKind(s.messages[at])
		}
		for at := s.from; at < s.to; at++ {
			x.setNeighbours(s, at)
			x.setLengths(s, at)
		}
		x.vectors.setKeys(s, x.messages)
		s.dirty = false
	}
}

// setKind decides by which weights a message is ranked, and takes its passages out of the sums.
func (x *Index) setKind(no int32) {
	m := &x.messages[no]
	if m.counted {
		for p := m.first; p < m.last; p++ {
			x.stats.remove(m.kind, x.passages.length[p])
		}
		m.counted = false
	}
	kind := kindAssistantChat
	if memory.Role(m.role) == memory.RoleUser && m.name >= 0 && !x.bySession[m.session].replies {
		kind = kindPerson
	}
	if m.kind != kind {
		if kind == kindPerson {
			x.speakers.all[m.name].persons++
		} else {
			x.speakers.all[m.name].persons--
		}
	}
	m.kind = kind
	x.classes[no] = m.class()
}

// setNeighbours notes in whose fields the message's words count.
func (x *Index) setNeighbours(s *session, at int) {
	no := s.messages[at]
	from := &x.messages[no]
	x.neighbours.clear(no)
	n := 0
	add := func(at int, weight float64) {
		to := &x.messages[s.messages[at]]
		if weight == 0 {
			return
		}
		x.neighbours.edges[no][n] = edge{to.first, to.last, float32(weight)}
		n++
		if to.first < to.last {
			x.neighbours.mark(no, s.messages[at])
		}
	}
	for _, step := range windowSteps {
		if to := at + step; to >= 0 && to < len(s.messages) {
			m := &x.messages[s.messages[to]]
			add(to, windowWeight(&x.weights[m.kind], m, from, step))
		}
	}
	if to := x.repliedTo(s, at); to >= 0 {
		w := &x.weights[x.messages[s.messages[to]].kind]
		add(to, w.scaled(w.Reply, from.words))
	}
}

// setLengths sums up the fields of the message's passages, and puts them into the sums.
func (x *Index) setLengths(s *session, at int) {
	m := &x.messages[s.messages[at]]
	w := &x.weights[m.kind]
	around := w.Date * float64(x.days.all[m.day].words)
	if m.name >= 0 {
		around += w.Name * float64(x.speakers.all[m.name].words)
	}
	for _, step := range windowSteps {
		if from := at + step; from >= 0 && from < len(s.messages) {
			f := &x.messages[s.messages[from]]
			around += windowWeight(w, m, f, -step) * float64(f.words)
		}
	}
	if from := x.reply(s, at); from >= 0 {
		words := x.messages[s.messages[from]].words
		around += w.scaled(w.Reply, words) * float64(words)
	}
	for p := m.first; p < m.last; p++ {
		x.passages.kind[p] = m.kind
		x.passages.length[p] = around + float64(x.passages.words[p])
		x.stats.add(m.kind, x.passages.length[p])
	}
	m.counted = true
}
