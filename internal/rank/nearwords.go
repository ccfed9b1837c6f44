package rank

import (
	"slices"
	"strings"
	"unicode"
)

// Source of both bounds: measured on LoCoMo together with KindWeights.Near.
const (
	nearCosine = .40 // the least cosine of a word that counts
	maxNear    = 20  // the most words that count for one term
)

// maxNearTerms is up to how many distinct terms of a query the words near to them count. A question has a dozen; a text
// has enough words of its own, and each term with its near words costs as much as several without.
const maxNearTerms = 32

// AttachedTerms are the terms for which Attached is looked up: the query's own, and those near to them.
func (q *Query) AttachedTerms() []string {
	terms := slices.Clone(q.Terms)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if q.Near == nil || len(terms) > maxNearTerms {
		return terms
	}
	out := slices.Clone(terms)
	for _, t := range terms {
		for _, w := range q.Near(t) {
			if w.Cosine >= nearCosine {
				out = append(out, w.Term)
			}
		}
	}
	return out
}

// queryTerm is a term of a query with the words that count as if they were it.
type queryTerm struct {
	term string
	near []nearWord
	idf  float64
	part float64 // of its idf that counts
}

// faintShare is what a term of Query.Faint counts. Source: measured on the project's own chats and on LoCoMo, some of whose
// questions quote the words of the message: in full and a quarter find as much by time, but a quarter loses less where the
// words are meant as they are seen from another time; none at all loses .005 of LoCoMo's evidence in 500 tokens.
const faintShare = .25

type nearWord struct {
	term string
	by   scale
}

// scale multiplies what a word counts in the fields of each kind.
type scale [2]float64

// withNear adds to the distinct terms of a query the words near to them.
func (x *Index) withNear(q *Query) []queryTerm {
	terms := x.queryTerms(q.Terms)
	out := make([]queryTerm, len(terms))
	for i, t := range terms {
		out[i].term, out[i].part = t, 1
		if q.Faint[t] {
			out[i].part = faintShare
		}
		if q.Near != nil && len(terms) <= maxNearTerms && x.mayHaveNear(t) {
			out[i].near = x.nearWords(q, t)
		}
	}
	return out
}

// mayHaveNear reports whether other words may stand for the term: none does for a person or a number.
func (x *Index) mayHaveNear(term string) bool {
	isWord := strings.ContainsFunc(term, func(r rune) bool { return !unicode.IsDigit(r) })
	return isWord && !x.namesPerson(term)
}

// nearWords answers the words near to a term that were said, or that a fact says.
func (x *Index) nearWords(q *Query, term string) []nearWord {
	var out []nearWord
	for _, w := range q.Near(term) {
		if len(out) == maxNear {
			break
		}
		if w.Cosine < nearCosine || w.Term == term || !x.occurs(w.Term) && len(q.Attached[w.Term]) == 0 || x.namesPerson(w.Term) {
			continue
		}
		if by := x.nearScale(float64(w.Cosine)); by != (scale{}) {
			out = append(out, nearWord{w.Term, by})
		}
	}
	return out
}

// nearScale is what a near word counts. A kind without passages is left out, so that searching it costs nothing.
func (x *Index) nearScale(cosine float64) scale {
	var by scale
	for k := range by {
		if x.counts[k] > 0 {
			by[k] = quantum(x.weights[k].Near * cosine)
		}
	}
	return by
}

// occurs reports whether a term is in any field.
func (x *Index) occurs(term string) bool {
	_, said := x.termNo[term]
	return said || len(x.days.byTerm[term]) > 0
}

// namesPerson reports whether a term is of the name of one of the user's people.
func (x *Index) namesPerson(term string) bool {
	for _, l := range x.names.byTerm[term] {
		if x.names.all[l.label].persons > 0 {
			return true
		}
	}
	return false
}

// spreadQuery counts a term and the words near to it in all fields. It answers in how many of them the term itself stands;
// of a term that nobody said, in how many any of the words does.
func (x *Index) spreadQuery(s *scratch, q *Query, t *queryTerm) int {
	x.spreadWord(s, q, t.term, scale{1, 1})
	fields := len(s.touched)
	for _, w := range t.near {
		x.spreadWord(s, q, w.term, w.by)
	}
	if fields == 0 {
		return len(s.touched)
	}
	return fields
}

// spreadWord counts one word in all fields: what was said, the neighbours, names, days and facts.
func (x *Index) spreadWord(s *scratch, q *Query, word string, by scale) {
	x.spreadTerm(s, word, by)
	x.spreadFacts(s, q.Attached[word], by)
}
