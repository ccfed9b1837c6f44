package assembly

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/fence"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
)

// maxShortened is how many memories are looked at for one that can be shortened: each has to be counted anew.
const maxShortened = 24

// shorten takes one more memory where much room is left and none fits it whole: of the best one that has any, the
// sentences that do.
func (a *assembler) shorten() {
	if a.full() || !a.roomy() {
		return
	}
	tried := 0
	for i := range a.found {
		c := &a.found[i]
		if c.again || a.inTail(i) || slices.Contains(a.chosen, i) || slices.Contains(a.repeated, i) || a.candidate(i).text == "" {
			continue
		}
		if a.shortenTo(i, a.recallRoom()) {
			a.choose(i, c.price)
			return
		}
		if tried++; tried == maxShortened {
			return
		}
	}
}

// shortenTo cuts a memory to the sentences that the room holds around the one with the most of the query's words. It
// reports false, and leaves the memory as it is, where not even one fits or what fits says nothing new.
func (a *assembler) shortenTo(i int, room space) bool {
	whole, r := &a.found[i], &a.recalled[i]
	sentences := text.SentenceSpans(whole.text)
	around := a.recalledLine(&r.Message, ellipsis+ellipsis, memory.TokenCounts{})
	run := a.around(whole.text, sentences, room.tokens-around.price.tokens)
	for ; run.Start < run.End; run.End-- {
		c := candidate{known: true, span: spanOf(whole, sentences[run.Start:run.End])}
		a.show(&c, r)
		if c.text == "" {
			return false
		}
		if lacking(room, c.price) == 0 {
			c.gist = gistOf(speakerOf(&r.Message), c.text)
			fresh := !a.standing().has(&c.gist)
			if fresh {
				*whole = c
			}
			return fresh
		}
	}
	return false
}

// spanOf is the span of sentences of a candidate's text in all of the message's, without the white space around them.
func spanOf(c *candidate, sentences []text.Span) Span {
	from, to := sentences[0].Start, sentences[len(sentences)-1].End
	words := c.text[from:to]
	from += len(words) - len(strings.TrimLeftFunc(words, unicode.IsSpace))
	to -= len(words) - len(strings.TrimRightFunc(words, unicode.IsSpace))
	return Span{c.span.Start + from, c.span.Start + max(from, to)}
}

// around are the sentences, by their indexes, that so many units hold: the one with the most of the query's words of
// those that fit, and what follows it and then what stands before it as far as that fits too.
func (a *assembler) around(s string, sentences []text.Span, room int64) Span {
	sizes := make([]int64, len(sentences))
	best, most := -1, -1
	for i, p := range sentences {
		sizes[i] = a.counter.Cost(fence.Indent(fence.Disarm(p.Of(s))))
		if n := a.wanted(p.Of(s)); sizes[i] <= room && n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return Span{}
	}
	run := Span{best, best + 1}
	for room -= sizes[best]; run.End < len(sizes) && sizes[run.End] <= room; run.End++ {
		room -= sizes[run.End]
	}
	for ; run.Start > 0 && sizes[run.Start-1] <= room; run.Start-- {
		room -= sizes[run.Start-1]
	}
	return run
}

// wanted counts the query's terms in a sentence, each once.
func (a *assembler) wanted(sentence string) int {
	if len(a.in.Terms) == 0 {
		return 0
	}
	n := 0
	terms := text.Terms(sentence)
	for i, t := range terms {
		if slices.Contains(a.in.Terms, t) && !slices.Contains(terms[:i], t) {
			n++
		}
	}
	return n
}
