package gloss

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/near"
)

// sameGloss is the cosine of two Spanish words that one English word stands for.
const sameGloss = .8

// Near knows the words near to Spanish ones: those of one gloss, and those whose glosses are near to each other in English.
type Near struct {
	english func(term string) []near.Word
	glosses map[string][]string // English terms by Spanish ones
	spanish map[string][]string // and the other way round
}

// NewNear makes it of what is near in English, near.Table.Of.
func NewNear(english func(term string) []near.Word) *Near {
	n := &Near{english: english, glosses: map[string][]string{}, spanish: map[string][]string{}}
	for group := range strings.SplitSeq(spanish, ";") {
		words := strings.Fields(group)
		if len(words) == 0 {
			continue
		}
		terms := text.Terms(strings.ReplaceAll(words[0], "_", " "))
		if len(terms) != 1 {
			continue
		}
		for _, w := range words[1:] {
			if stem := text.SpanishStem(w); len(stem) >= shortestStem {
				note(n.glosses, stem, terms[0])
				n.spanish[terms[0]] = append(n.spanish[terms[0]], stem)
			}
		}
	}
	return n
}

// Of returns the words near to a term of text.Terms, the nearest first: English ones of an English term, and Spanish ones of
// a Spanish term.
func (n *Near) Of(term string) []near.Word {
	english := n.english(term)
	glosses := n.glosses[term]
	if len(glosses) == 0 {
		return english
	}
	cosines := map[string]float32{}
	add := func(words []string, cosine float32) {
		for _, w := range words {
			if w != term {
				cosines[w] = max(cosines[w], cosine)
			}
		}
	}
	for _, g := range glosses {
		add(n.spanish[g], sameGloss)
		for _, w := range n.english(g) {
			add(n.spanish[w.Term], w.Cosine)
		}
	}
	out := slices.Clone(english)
	for w, c := range cosines {
		out = append(out, near.Word{Term: w, Cosine: c})
	}
	slices.SortFunc(out, func(a, b near.Word) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), strings.Compare(a.Term, b.Term))
	})
	return out
}
