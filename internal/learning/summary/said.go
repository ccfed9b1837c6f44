package summary

import (
	"context"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/text"
)

// Said is a sentence of what a task is to summarise.
type Said struct {
	Statement
	Whole string // as a summary has it: that of a message with its author before it
	Line  int    // the place among Lines of the one it is in; -1 in summaries
	Tool  bool   // input or output of a tool
}

// Said returns the sentences of the summary to rewrite, of the summaries to merge and of the messages, in that order, which is
// the order of time. Once ctx has ended it returns what it has.
func (t Task) Said(ctx context.Context) []Said {
	var out []Said
	if t.Rewrite {
		out = appendSummary(out, t.Previous)
	}
	for _, p := range t.Parts {
		out = appendSummary(out, p.Text)
	}
	for i, l := range t.Lines {
		if ctx.Err() != nil {
			return out
		}
		who := l.Who()
		for _, sentence := range text.Sentences(l.Text) {
			out = append(out, Said{
				Statement: Statement{Who: strings.ToLower(who), Role: l.Role, Text: sentence}, Whole: who + ": " + sentence, Line: i, Tool: l.Tool,
			})
		}
	}
	return out
}

// appendSummary adds the sentences of a summary. A line's label names the author of all of it.
func appendSummary(out []Said, summary string) []Said {
	for line := range strings.Lines(summary) {
		who := ""
		for i, sentence := range text.Sentences(line) {
			said := sentence
			if i == 0 {
				who, said = SplitLabel(sentence)
			}
			out = append(out, Said{Statement: Statement{Who: who, Role: roleOf(who), Text: said}, Whole: sentence, Line: -1})
		}
	}
	return out
}

// ChangesOf returns the Changes among sentences. Input and output of tools change nothing and are not changed.
func ChangesOf(said []Said) []Change {
	statements := make([]Statement, len(said))
	for i, s := range said {
		if !s.Tool {
			statements[i] = s.Statement
		}
	}
	return Changes(statements)
}

// Arrow joins a statement and the later one that refers to it into one sentence, so that a selection has both or none.
const Arrow = " → "

// Joined is a sentence and the later one of the same or another speaker that cannot be understood without it.
func Joined(earlier, later Said) Said {
	end := later.Whole
	if later.Who == earlier.Who {
		end = later.Text
	}
	earlier.Whole = strings.TrimRight(earlier.Whole, " .!?…。！？｡") + Arrow + end
	earlier.Text = strings.TrimRight(earlier.Text, " .!?…。！？｡") + Arrow + end
	return earlier
}

// Holding returns the sentences that hold at the end, in order, and their places in said: those that a later one takes back
// or replaces are left out, unless that one leans on it: then both make one sentence in the later one's place. revising
// marks those that take back or replace something.
func Holding(said []Said) (holding []Said, places []int, revising []bool) {
	changes := ChangesOf(said)
	heads := map[int]Said{} // by the place of what leans on them
	changed := make([]bool, len(said))
	for _, c := range changes {
		if c.By >= 0 {
			changed[c.By] = true
		}
	}
	for i, s := range said {
		if head, ok := heads[i]; ok {
			s = Joined(head, s)
		}
		switch c := changes[i]; {
		case c.By < 0:
			holding, places, revising = append(holding, s), append(places, i), append(revising, changed[i])
		case c.Leans:
			heads[c.By] = s
		}
	}
	return holding, places, revising
}

// answerPiece is a sentence of an answer, with the place of its source.
type answerPiece struct {
	text  string // with the white space after it
	place int
}

// alignSentences returns the sentences of an answer, each with the place of the sentence of the source with which it shares most
// words. One that shares few has the place of the one before it, a heading that of the one after it.
func alignSentences(answer string, said []Said) []answerPiece {
	index := map[string][]int{}
	for i, s := range said {
		if !s.Tool {
			for _, t := range distinctTerms(s.Text) {
				if len(index[t]) < maxAligned {
					index[t] = append(index[t], i)
				}
			}
		}
	}
	var out []answerPiece
	last := -1
	for _, span := range text.SentenceSpans(answer) {
		piece := answerPiece{text: span.Of(answer), place: last}
		if at := aligned(piece.text, index); at >= 0 {
			piece.place, last = at, at
		}
		out = append(out, piece)
	}
	for i, p := range slices.Backward(out) {
		if line := strings.TrimSpace(
			p.text,
		); i+1 < len(out) &&
			(strings.HasPrefix(line, "#") || strings.HasSuffix(strings.TrimRight(line, "*_ "), ":")) {
			out[i].place = out[i+1].place
		}
	}
	return out
}

// maxAligned is how many sentences with a term are looked at: a more frequent term does not show where a sentence is from.
const maxAligned = 256

// alignedShare is the least share of a sentence's terms by which it is known where it is from.
const alignedShare = 0.4

// aligned is the place of the sentence that has most terms of another one, the latest of equal ones; -1 where none has enough.
func aligned(sentence string, index map[string][]int) int {
	_, sentence = SplitLabel(strings.TrimSpace(sentence))
	terms := distinctTerms(sentence)
	hits := map[int]int{}
	for _, t := range terms {
		for _, i := range index[t] {
			hits[i]++
		}
	}
	best := -1
	for i, n := range hits {
		if float64(n) < alignedShare*float64(len(terms)) || n < min(2, len(terms)) {
			continue
		}
		if best < 0 || n > hits[best] || n == hits[best] && i > best {
			best = i
		}
	}
	return best
}

// putBack puts a sentence of the source where it is from: where the fewest sentences of the answer are on the wrong side of it,
// the latest of such points.
func putBack(pieces []answerPiece, sentence string, place int) []answerPiece {
	wrong := 0
	for _, p := range pieces {
		if p.place < place {
			wrong++
		}
	}
	best, at := wrong, 0
	for i, p := range pieces {
		switch {
		case p.place < place:
			wrong--
		case p.place > place:
			wrong++
		}
		if wrong <= best {
			best, at = wrong, i+1
		}
	}
	if at > 0 {
		pieces[at-1].text = strings.TrimRight(pieces[at-1].text, " \t\r\n") + "\n"
	}
	if at < len(pieces) {
		sentence += "\n"
	}
	return slices.Insert(pieces, at, answerPiece{text: sentence, place: place})
}
