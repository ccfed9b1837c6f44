package extract

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// guard keeps what the service itself rendered into a prompt from being learnt as if somebody had said it: otherwise
// a recalled memory that an agent sends back would confirm itself for ever.
type guard struct {
	rendered map[string]bool // squeezed lines of rendered blocks
}

// fence matches the beginning or end of a block that package assembly renders, also with its brackets escaped for HTML
// or JSON, its hyphen disarmed by backslashes or replaced by a dash, and white space or a slash within.
var fence = regexp.MustCompile(`(?i)(?:<|＜|\[|&(?:amp;)*lt;|&#60;|&#x3c;|\\+u003c|%3c)\s*(\\*/|&#47;|%2f)?\s*strata[\\\x{200b}-\x{200d}]*(?:[-_\x{2010}-\x{2015}\x{2212}\x{ad}]|\\u002d|%2d)(?:memory|state)\s*(?:>|＞|\]|&(?:amp;)*gt;|&#62;|&#x3e;|\\+u003e|%3e)?`)

// entryHead is what may stand before an entry's words in a block: a list mark, a day in brackets, a speaker.
var entryHead = regexp.MustCompile(`^[\s>|]*(?:[-*•]\s+)?(?:\[[^\]\n]{1,60}\]\s*)*(?:[^:\n]{1,60}:\s+)?`)

// guardSentence is a sentence with its end, or a line. Unlike text.Sentences it ends at every stop, whatever surrounds
// it: a piece of a block must be cut alike wherever it is repeated.
var guardSentence = regexp.MustCompile(`[^.!?。！？\n]*[.!?。！？]*\n?[ \t]*`)

// minRenderedLetters: shorter lines of a block, such as "yes", may well be said by somebody.
const minRenderedLetters = 8

func newGuard(lists ...[]memory.Message) guard {
	g := guard{rendered: map[string]bool{}}
	for _, list := range lists {
		for _, m := range list {
			_, blocks := cutBlocks(m.PlainText())
			for _, b := range blocks {
				g.note(b)
			}
		}
	}
	return g
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

// clean is the text without rendered blocks and without sentences that repeat a line of one word for word.
func (g guard) clean(s string) string {
	kept, _ := cutBlocks(s)
	if len(g.rendered) == 0 {
		return strings.TrimSpace(kept)
	}
	var b strings.Builder
	for line := range strings.Lines(kept) {
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

// cutBlocks takes the rendered blocks out of a text. A block that is not closed goes to the end, and one that is not
// opened begins with the text: whatever a cut left of a block is still a block.
func cutBlocks(s string) (kept string, blocks []string) {
	marks := fence.FindAllStringSubmatchIndex(s, -1)
	if len(marks) == 0 {
		return s, nil
	}
	var b strings.Builder
	from, open := 0, -1
	for _, m := range marks {
		closes := m[2] >= 0
		switch {
		case closes && open >= 0:
			blocks = append(blocks, s[open:m[0]])
			from, open = m[1], -1
		case closes:
			blocks = append(blocks, s[from:m[0]])
			from = m[1]
		case open < 0:
			b.WriteString(s[from:m[0]] + "\n")
			open = m[1]
		}
	}
	if open >= 0 {
		return b.String(), append(blocks, s[open:])
	}
	b.WriteString(s[from:])
	return b.String(), blocks
}
