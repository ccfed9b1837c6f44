package extract

import (
	"strings"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/memory"
)

// guard keeps what the service itself rendered into a prompt from being learnt as if somebody had said it: otherwise
// a recalled memory that an agent sends back would confirm itself for ever. Rendered blocks themselves are marked when a
// message is recorded and are not among its SaidText; the guard knows their lines where a model says them again.
type guard struct {
	rendered map[string]bool // squeezed lines of rendered blocks
}

// entryHead is what may stand before an entry's words in a block: a list mark, a day in brackets, a speaker.
var entryHead = regexp.MustCompile(`^[\s>|]*(?:[-*•]\s+)?(?:\[[^\]\n]{1,60}\]\s*)*(?:[^:\n]{1,60}:\s+)?`)

// guardSentence is a sentence with its end, or a line. Unlike text.Sentences it ends at every stop, whatever surrounds
// it: a piece of a block must be cut alike wherever it is repeated.
var guardSentence = regexp.MustCompile(`[^.!?。！？\n]*[.!?。！？]*\n?[ \t]*`)

// minRenderedLetters: shorter lines of a block, such as "yes", may well be said by somebody.
const minRenderedLetters = 8

// hear notes what memory wrote in the echoes of a message. Whoever says the same before did not repeat it.
func (g guard) hear(m memory.Message) {
	for _, p := range m.Parts {
		for _, echo := range p.Echoed() {
			for _, block := range prompttags.Remembered(echo) {
				g.note(block)
			}
		}
	}
}

// note keeps the lines of a block, with and without what stands before their words, whole and by sentence.
func (g guard) note(block string) {
	for line := range strings.Lines(strings.ReplaceAll(block, `\n`, "\n")) {
		g.noteOne(line)
		said := line[len(entryHead.FindString(line)):]
		g.noteOne(said)
		for _, s := range guardSentence.FindAllString(said, -1) {
			g.noteOne(s)
		}
	}
}

func (g guard) noteOne(s string) {
	if key := squeeze(s); utf8.RuneCountInString(key) >= minRenderedLetters {
		g.rendered[key] = true
	}
}

// clean is what is said without sentences that repeat a line of a rendered block word for word.
func (g guard) clean(s string) string {
	if len(g.rendered) == 0 {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !g.repeats(line) {
			b.WriteString(g.withoutRepeats(line))
		}
	}
	return strings.TrimSpace(b.String())
}

func (g guard) withoutRepeats(line string) string {
	var b strings.Builder
	for _, s := range guardSentence.FindAllString(line, -1) {
		if !g.repeats(s) {
			b.WriteString(s)
		}
	}
	return b.String()
}

func (g guard) repeats(s string) bool {
	return g.rendered[squeeze(s)] || g.rendered[squeeze(s[len(entryHead.FindString(s)):])]
}
