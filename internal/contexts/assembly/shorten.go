package assembly

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// maxShortened is how many memories are looked at for one that can be shortened: each has to be counted anew.
const maxShortened = 24

// chooseShortened chooses one more candidate where much room is left and none fits it whole: of the best one that has any,
// the sentences that do.
func (r *recollection) chooseShortened(p *pricer, t *transcript, left, opening space) {
	room := r.room(left, opening)
	if r.isFull(p) || !isRoomy(p.in, room) {
		return
	}
	tried := 0
	for i := range r.candidates {
		c := &r.candidates[i]
		if c.repeats || t.hasRecalled(c.Recalled) || slices.Contains(r.chosen, i) || slices.Contains(r.repeated, i) {
			continue
		}
		if c.know(p); c.text == "" {
			continue
		}
		short := shortened(p, c, room)
		if short.text != "" && !r.said(t).has(short.fingerprint()) {
			*c = short
			r.take(i, opening)
			return
		}
		if tried++; tried == maxShortened {
			return
		}
	}
}

// shortened is a candidate cut to the sentences that the room holds around the one with the most of the query's words. Its
// text is empty where not even one sentence fits.
func shortened(p *pricer, c *candidate, room space) candidate {
	sentences := text.SentenceSpans(c.text)
	dots := recalledLine(p, &c.Message, ellipsis+ellipsis, memory.TokenCounts{})
	run := around(p.in, c.text, sentences, room.tokens-dots.price.tokens)
	for ; run.Start < run.End; run.End-- {
		short := candidate{Recalled: c.Recalled, known: true, span: spanOf(c, sentences[run.Start:run.End])}
		short.show(p)
		if short.text == "" || lacking(room, short.price) == 0 {
			return short
		}
	}
	return candidate{}
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
// those that fit, and what follows it and then what comes before it as far as that fits too.
func around(in *Input, s string, sentences []text.Span, room int64) Span {
	sizes := make([]int64, len(sentences))
	best, most := -1, -1
	for i, p := range sentences {
		sizes[i] = in.Counter.Cost(prompttags.Indent(prompttags.Disarm(p.Of(s))))
		if n := wanted(in.Terms, p.Of(s)); sizes[i] <= room && n > most {
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
func wanted(query []string, sentence string) int {
	if len(query) == 0 {
		return 0
	}
	n := 0
	terms := text.Terms(sentence)
	for i, t := range terms {
		if slices.Contains(query, t) && !slices.Contains(terms[:i], t) {
			n++
		}
	}
	return n
}
