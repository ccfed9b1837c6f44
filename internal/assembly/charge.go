package assembly

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// What a provider adds to the words, in tokens.
const (
	messageTokens = tokens.MessageOverhead
	nameTokens    = tokens.NameOverhead
	callTokens    = tokens.CallOverhead
	// replyTokens begins the model's answer, by the OpenAI cookbook's "How to count tokens with tiktoken".
	replyTokens = 3
	// seamTokens is kept free where a vocabulary counts: pieces of a text are counted one by one, and joining them
	// may make a token more at a seam, while the blanks and line ends counted on their own nearly always make it
	// fewer.
	seamTokens = 2
)

// sink takes what a block says in a form, piece by piece: to price it, or to write it.
type sink interface {
	content(s string) // words that the stored counts hold
	altered(s string) // words that are no longer as they were when they were counted
	// framed takes words that the stored counts hold, with what the form adds directly around them and what inner does to
	// them: see meter.frameCost.
	framed(before, s, after string, inner func(string) string)
	fixed(s string)       // words that the form adds
	image(p *memory.Part) // an image that stands as one
	// imageText takes an image's placeholder, s, in its place.
	imageText(p *memory.Part, s string)
	// document takes a document of so many pages that stands as one.
	document(p *memory.Part, pages int)
	overhead(n int64) // tokens that no words show
}

// meter prices what it is given.
type meter struct {
	counter tokens.Counter
	memo    map[string]int64 // of fixed words: labels and dates come again and again
	stored  bool             // whether content was counted when its message was stored
	stale   bool             // whether anything is not as it was then
	cost    int64
}

func (m *meter) content(s string) {
	if !m.stored {
		m.cost += m.counter.Cost(s)
	}
}

func (m *meter) altered(s string) {
	m.stale = true
	m.content(s)
}

func (m *meter) framed(before, s, after string, inner func(string) string) {
	if m.stored {
		m.cost += m.frameCost(before, s, after, inner)
		return
	}
	m.cost += m.counter.Cost(before + inner(s) + after)
}

func verbatim(s string) string { return s }

// frameCost is how much more before+inner(text)+after takes than text alone. It is exact for texts of one part: no match
// of a vocabulary's splitting expression reaches over a blank between two visible characters, so that only the pieces
// between such blanks are counted that inner or the ends change. Inner must do to such pieces what it does to the whole.
func (m *meter) frameCost(before, text, after string, inner func(string) string) int64 {
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
func (m *meter) change(piece, written string) int64 {
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

func (m *meter) fixed(s string) { m.cost += m.fixedCost(s) }

func (m *meter) fixedCost(s string) int64 {
	cost, ok := m.memo[s]
	if !ok {
		cost = m.counter.Cost(s)
		m.memo[s] = cost
	}
	return cost
}

func (m *meter) image(p *memory.Part) {
	if !m.stored {
		m.overhead(tokens.Image(*p, m.counter))
	}
}

func (m *meter) imageText(p *memory.Part, s string) {
	if m.stored {
		m.overhead(-tokens.Image(*p, m.counter))
	}
	m.cost += m.counter.Cost(s)
}

// document has the message counted anew: the stored counts hold the document's placeholder.
func (m *meter) document(_ *memory.Part, pages int) {
	m.stale = true
	m.overhead(int64(pages) * tokens.PageTokens)
}

func (m *meter) overhead(n int64) { m.cost += n * m.counter.Per() }

// writer writes what it is given as one text.
type writer struct{ strings.Builder }

func (w *writer) content(s string) { w.WriteString(s) }
func (w *writer) framed(before, s, after string, inner func(string) string) {
	w.WriteString(before + inner(s) + after)
}
func (w *writer) altered(s string)                   { w.WriteString(s) }
func (w *writer) fixed(s string)                     { w.WriteString(s) }
func (w *writer) image(p *memory.Part)               { w.WriteString(tokens.Placeholder(*p)) }
func (w *writer) imageText(_ *memory.Part, s string) { w.WriteString(s) }
func (w *writer) document(p *memory.Part, _ int)     { w.WriteString(tokens.Placeholder(*p)) }
func (w *writer) overhead(int64)                     {}

// form says what a block is in a rendering.
type form interface {
	// block gives what a block of a message says to the sink, in order.
	block(m *memory.Message, b *block, s sink)
}

// priceEntry is what an entry's blocks cost.
func (a *assembler) priceEntry(u *unit, e int) int64 {
	ent := &a.entries[e]
	m := &a.meter
	m.cost, m.stale, m.stored = 0, false, false
	var stored int64
	if !ent.altered && !u.light {
		stored, m.stored = tokens.FromStored(ent.msg.Tokens, m.counter)
	}
	a.meterBlocks(u, e)
	if m.stored && m.stale {
		m.cost, m.stored = 0, false
		a.meterBlocks(u, e)
	}
	if m.stored {
		m.cost += stored
	}
	return max(m.cost, 0)
}

func (a *assembler) meterBlocks(u *unit, e int) {
	for i := range u.blocks {
		if u.blocks[i].entry == e {
			a.form.block(&a.entries[e].msg, &u.blocks[i], &a.meter)
		}
	}
}

// priceOf prices a unit once.
func (a *assembler) priceOf(u *unit) *price {
	p := &u.price
	if p.known {
		return p
	}
	if a.ended() {
		return &price{tokens: beyondBudgets}
	}
	p.known = true
	p.each = make([]int64, len(u.entries))
	for i, e := range u.entries {
		p.each[i] = a.priceEntry(u, e)
		p.tokens += p.each[i]
	}
	if a.in.MaxBytes > 0 {
		p.bytes = a.unitBytes(u)
	}
	return p
}

// beyondBudgets is a price that no budget holds, and that adds up without overflow.
const beyondBudgets = 1 << 40

// itemBytes is an upper estimate of what an item takes in the reply beside its words and ids.
const itemBytes = 256

// messageBytes is an upper estimate of what a message takes in a structured reply beside its parts, ids and labels.
const messageBytes = 512

// partBytes is an upper estimate of what a part takes beside its contents.
const partBytes = 96

// imageBytes is an upper estimate of what an image's size and detail take.
const imageBytes = 24

// unitBytes is an upper estimate of what a unit takes in the reply.
func (a *assembler) unitBytes(u *unit) int {
	var n int
	structured := a.in.Render == RenderStructured
	for _, e := range u.entries {
		m := &a.entries[e].msg
		n += itemBytes + len(m.ID) + 3*len(m.Name) + len(a.in.SessionID)
		if structured {
			n += a.carriedBytes(u, e)
		}
	}
	for i := range u.blocks {
		if !structured || !a.whole(u, u.blocks[i].entry) {
			n += partsBytes(u.blocks[i].parts)
		}
	}
	return n
}

// carriedBytes is what the item of a structured reply carries with its message: all of it, rendered or not, but for
// the parts that are shown by blocks.
func (a *assembler) carriedBytes(u *unit, e int) int {
	m := &a.entries[e].msg
	n := messageBytes + escapedBytes(m.ID) + escapedBytes(m.Name) + objectBytes(m.Metadata)
	for _, t := range m.Tags {
		n += escapedBytes(t) + 8
	}
	if a.whole(u, e) {
		n += partsBytes(m.Parts)
	}
	return n
}

func partsBytes(parts []memory.Part) int {
	var n int
	for i := range parts {
		p := &parts[i]
		n += partBytes + escapedBytes(p.Text) + escapedBytes(p.Name) + 2*escapedBytes(p.Arguments) + escapedBytes(p.CallID) +
			escapedBytes(p.URI) + 2*len(p.MIMEType) + escapedBytes(p.Signature) + len(p.Data)/3*4 + 4 + escapedBytes(p.Type) +
			escapedBytes(p.JSON) + partsBytes(p.Parts)
		if p.Image != nil {
			n += imageBytes
		}
	}
	return n
}

// What a JSON value takes at most as a protobuf Value beside its words: tags of a byte, lengths of at most four.
const (
	containerBytes = 10 // the value's tag and length, and those of its object or list
	wordsBytes     = 10 // the same of a string, or of a member and its name
	scalarBytes    = 11 // a value's tag and length with a number of nine bytes, the largest of the others
	exponentBytes  = 26 // a number that is written with an exponent may come back as all its digits
)

// objectBytes is the most that a JSON object takes as a protobuf Struct, which is up to some six times its JSON: the
// two bytes of "1," make eleven.
func objectBytes(raw []byte) int {
	n := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '{' || c == '[':
			n += containerBytes
			i++
		case c == '"':
			end := stringEnd(raw, i+1)
			n += wordsBytes + end - i
			i = end
		case strings.IndexByte("]}:, \t\r\n", c) >= 0:
			n++
			i++
		default:
			end := i
			for end < len(raw) && strings.IndexByte("]},: \t\r\n", raw[end]) < 0 {
				end++
			}
			n += max(scalarBytes, end-i)
			if bytes.ContainsAny(raw[i:end], "eE") && c != 't' && c != 'f' {
				n += exponentBytes - scalarBytes
			}
			i = end
		}
	}
	return n
}

// stringEnd is where the string ends whose opening quote is before from.
func stringEnd(raw []byte, from int) int {
	for i := from; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// escapedBytes is what s takes within a JSON string. Disarming a fence adds less than the slack of itemBytes, or is
// counted here: a hyphen counts twice.
func escapedBytes(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '-' || c == '\n':
			n++
		case c < ' ':
			n += 5
		case c >= 0x80 && c < 0xC0:
			n++
		}
	}
	return n
}
