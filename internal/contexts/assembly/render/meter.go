package render

import (
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Meter is the Sink that prices what it is given, in units of its counter.
type Meter struct {
	counter tokens.Counter
	added   map[string]int64 // what words of the format cost: labels and dates are the same again and again
	stored  bool             // whether the words were counted when their message was stored
	stale   bool             // whether anything of it is not as it was then
	cost    int64
}

// NewMeter returns a meter that counts by a counter.
func NewMeter(counter tokens.Counter) *Meter {
	return &Meter{counter: counter, added: make(map[string]int64, 64)}
}

// Price returns what those of some blocks that are of a message cost in a format. counted is what was counted of the message
// when it was stored, zero where that does not hold for these blocks.
func (m *Meter) Price(f Format, of *memory.Message, blocks []Block, counted memory.TokenCounts) int64 {
	m.cost, m.stale = 0, false
	var stored int64
	stored, m.stored = tokens.FromStored(counted, m.counter)
	m.takeBlocks(f, of, blocks)
	if m.stored && m.stale {
		m.cost, m.stored = 0, false
		m.takeBlocks(f, of, blocks)
	}
	if m.stored {
		m.cost += stored
	}
	return max(m.cost, 0)
}

func (m *Meter) takeBlocks(f Format, of *memory.Message, blocks []Block) {
	for i := range blocks {
		if blocks[i].Message == of {
			f.Block(&blocks[i], m)
		}
	}
}

// Cost returns what words cost that are the same in many contexts or lines. It counts them once.
func (m *Meter) Cost(s string) int64 {
	cost, ok := m.added[s]
	if !ok {
		cost = m.counter.Cost(s)
		m.added[s] = cost
	}
	return cost
}

// Line returns what a line of memory costs: its head, which ends in a blank, and a text as it is written behind that. counted
// is what was counted of the text when it was stored, zero for nothing. A head is counted once: it ends before its blank,
// which is counted with the word behind it.
func (m *Meter) Line(head, text, written string, counted memory.TokenCounts) int64 {
	if text == "" || !visibleStart(text) {
		return m.counter.Cost(head + written + "\n")
	}
	before := m.Cost(head[:len(head)-1])
	cost, ok := tokens.FromStored(counted, m.counter)
	if !ok {
		return before + m.counter.Cost(" "+written+"\n")
	}
	inner := prompttags.Indent
	if len(written) == len(text) {
		inner = unchanged
	}
	return before + cost + m.frameCost(" ", text, "\n", inner)
}

// CountedLine is Line of a text whose cost is known, as it is written.
func (m *Meter) CountedLine(head, written string, cost int64) int64 {
	if !visibleStart(written) {
		return m.counter.Cost(head + written + "\n")
	}
	return m.Cost(head[:len(head)-1]) + cost + m.frameCost(" ", written, "\n", unchanged)
}

// Words implements Sink, and so do the methods that follow.
func (m *Meter) Words(s string) {
	if !m.stored {
		m.cost += m.counter.Cost(s)
	}
}

// Changed has the message counted anew.
func (m *Meter) Changed(s string) {
	m.stale = true
	m.Words(s)
}

// Framed adds what the frame costs where the words are counted already.
func (m *Meter) Framed(before, s, after string, inner func(string) string) {
	if m.stored {
		m.cost += m.frameCost(before, s, after, inner)
		return
	}
	m.cost += m.counter.Cost(before + inner(s) + after)
}

// Added adds what the words cost.
func (m *Meter) Added(s string) { m.cost += m.Cost(s) }

// Image adds what the image costs, unless it is counted already.
func (m *Meter) Image(p *memory.Part) {
	if !m.stored {
		m.Overhead(tokens.Image(*p, m.counter))
	}
}

// ImageText counts the placeholder instead of the image.
func (m *Meter) ImageText(p *memory.Part, placeholder string) {
	if m.stored {
		m.Overhead(-tokens.Image(*p, m.counter))
	}
	m.cost += m.counter.Cost(placeholder)
}

// Document has the message counted anew: the stored count holds the document's placeholder.
func (m *Meter) Document(_ *memory.Part, pages int) {
	m.stale = true
	m.Overhead(int64(pages) * tokens.PageTokens)
}

// Overhead adds tokens.
func (m *Meter) Overhead(n int64) { m.cost += n * m.counter.Per() }

// frameCost is how much more before+inner(text)+after takes than text alone. It is exact for texts of one part: no match
// of a vocabulary's splitting expression reaches over a blank between two visible characters, so that only the pieces
// between such blanks are counted that inner or the ends change. Inner must do to such pieces what it does to the whole.
func (m *Meter) frameCost(before, text, after string, inner func(string) string) int64 {
	first, last := pieceEnd(text, 0), lastPiece(text)
	if first == len(text) {
		return m.change(text, before+inner(text)+after)
	}
	more := m.change(text[:first], before+inner(text[:first])) + m.change(text[last:], inner(text[last:])+after)
	middle := text[first:last]
	if inner(middle) == middle {
		return more
	}
	for start := 0; start < len(middle); {
		end := pieceEnd(middle, start)
		more += m.change(middle[start:end], inner(middle[start:end]))
		start = end
	}
	return more
}

// change is how much more a piece takes as it is written.
func (m *Meter) change(piece, written string) int64 {
	if piece == written {
		return 0
	}
	return m.counter.Cost(written) - m.counter.Cost(piece)
}

// pieceEnd is where the piece ends that starts there: before the next blank between two visible characters.
func pieceEnd(s string, start int) int {
	for i := start + 1; i < len(s)-1; i++ {
		if s[i] == ' ' && visibleEnd(s[:i]) && visibleStart(s[i+1:]) {
			return i
		}
	}
	return len(s)
}

// lastPiece is where the last piece starts.
func lastPiece(s string) int {
	for i := len(s) - 2; i > 0; i-- {
		if s[i] == ' ' && visibleEnd(s[:i]) && visibleStart(s[i+1:]) {
			return i
		}
	}
	return 0
}

func visibleEnd(s string) bool {
	if c := s[len(s)-1]; c < utf8.RuneSelf {
		return c > ' '
	}
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}

func visibleStart(s string) bool {
	if s[0] < utf8.RuneSelf {
		return s[0] > ' '
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsGraphic(r) && !unicode.IsSpace(r)
}
