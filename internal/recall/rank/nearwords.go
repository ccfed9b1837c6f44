package rank

import (
	"cmp"
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

// MaxQueryTerms is how many distinct terms of a query count: the rarest of the user's words. A question has a dozen; a
// pasted page must not hold a core for seconds.
const MaxQueryTerms = 256

// queryTerms returns the distinct terms that count, in the order of the query.
func queryTerms(d *dictionary, terms []string) []string {
	seen := make(map[string]bool, len(terms))
	out := make([]string, 0, len(terms))
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	if len(out) <= MaxQueryTerms {
		return out
	}
	rarest := slices.Clone(out)
	slices.SortStableFunc(rarest, func(a, b string) int { return cmp.Compare(d.rarity(a), d.rarity(b)) })
	for _, t := range rarest[MaxQueryTerms:] {
		delete(seen, t)
	}
	return slices.DeleteFunc(out, func(t string) bool { return !seen[t] })
}

type nearWord struct {
	term string
	by   scale
}

// scale multiplies what a word counts in the fields of each kind.
type scale [2]float64

// expand adds to the distinct terms of a query the words near to them.
func (x *Index) expand(q *Query) []queryTerm {
	terms := queryTerms(&x.words, q.Terms)
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
	return isWord && !x.speakers.namesPerson(term)
}

// nearWords returns the words near to a term that were said, or that a fact says.
func (x *Index) nearWords(q *Query, term string) []nearWord {
	var out []nearWord
	for _, w := range q.Near(term) {
		if len(out) == maxNear {
			break
		}
		if w.Cosine < nearCosine || w.Term == term || !x.occurs(w.Term) && len(q.Attached[w.Term]) == 0 || x.speakers.namesPerson(w.Term) {
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
		if x.stats.counts[k] > 0 {
			by[k] = quantum(x.weights[k].Near * cosine)
		}
	}
	return by
}

// occurs reports whether a term is in any field.
func (x *Index) occurs(term string) bool {
	return x.words.find(term) != nil || len(x.days.byTerm[term]) > 0
}
