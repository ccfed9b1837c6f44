package rank

import "github.com/stratamem/strata/internal/recall/segment"

// passages hold one entry for each passage in every list of them.
type passages struct {
	message []int32
	span    []segment.Span32
	words   []int32   // own words
	length  []float64 // of the field
	kind    []kindNo

	single  bitset // the messages of exactly one passage
	several bitset // the messages of more than one
}

// growMessages makes room for the message of a number, the next one.
func (p *passages) growMessages(m int32) {
	if m%64 == 0 {
		p.single, p.several = append(p.single, 0), append(p.several, 0)
	}
}

// add adds a passage of the last message, without its words.
func (p *passages) add(no int32, m *message, span segment.Span32) int32 {
	pass := int32(len(p.message))
	p.message = append(p.message, no)
	p.span = append(p.span, span)
	p.words = append(p.words, 0)
	p.length = append(p.length, 0)
	p.kind = append(p.kind, kindAssistantChat)
	m.last = pass + 1
	several := m.first < pass
	p.single.set(no, !several)
	p.several.set(no, several)
	return pass
}
