package render

import (
	"strings"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Sink takes what a block says in a format, piece by piece: a Meter prices it, a writer writes it.
//
// A message was counted when it was stored, so the methods distinguish what that count holds from what the format adds.
type Sink interface {
	// Words takes words that the stored count holds.
	Words(s string)
	// Changed takes words that are not as they were when they were counted.
	Changed(s string)
	// Framed takes words that the stored count holds, with what the format adds directly around them and what inner does to
	// them: see Meter.frameCost.
	Framed(before, s, after string, inner func(string) string)
	// Added takes words that the format adds.
	Added(s string)
	// Image takes an image that is passed on as one.
	Image(p *memory.Part)
	// ImageText takes an image and the placeholder that is written for it.
	ImageText(p *memory.Part, placeholder string)
	// Document takes a document of so many pages that is passed on as one.
	Document(p *memory.Part, pages int)
	// Overhead takes tokens that no words show.
	Overhead(tokens int64)
}

// writer writes what it is given as one text.
type writer struct{ strings.Builder }

func (w *writer) Words(s string)   { w.WriteString(s) }
func (w *writer) Changed(s string) { w.WriteString(s) }
func (w *writer) Framed(before, s, after string, inner func(string) string) {
	w.WriteString(before + inner(s) + after)
}
func (w *writer) Added(s string)                     { w.WriteString(s) }
func (w *writer) Image(p *memory.Part)               { w.WriteString(tokens.Placeholder(*p)) }
func (w *writer) ImageText(_ *memory.Part, s string) { w.WriteString(s) }
func (w *writer) Document(p *memory.Part, _ int)     { w.WriteString(tokens.Placeholder(*p)) }
func (w *writer) Overhead(int64)                     {}

// unchanged is the inner of a frame that leaves the words as they are.
func unchanged(s string) string { return s }
