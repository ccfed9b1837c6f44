package rank

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Match is a message that a retriever beside the index's words found.
type Match struct {
	memory.Place
	Score   float64
	Kind    Kind     // "" where the retriever does not know
	Factors []Factor // that are part of Score, where they were asked for
}

// RetrieverHits are what one retriever found, the best first. Of a message that stands there twice the first counts.
type RetrieverHits struct {
	Name    string
	Weights RetrieverWeights
	Matches []Match
}

// RetrieverWeights are what a retriever counts in a fusion, by the kind of the message. The words in the user's own index count 1.
type RetrieverWeights struct {
	Person        float64
	AssistantChat float64
}

// of is the weight for a kind; a message whose kind nobody knows takes the lower one.
func (w RetrieverWeights) of(k Kind) float64 {
	switch k {
	case KindPerson:
		return w.Person
	case KindAssistantChat:
		return w.AssistantChat
	}
	return min(w.Person, w.AssistantChat)
}

// ViewRetriever is what a full-text view found. It ranks by a message's own words, where the index knows the words around it,
// its speaker and its day: so little a weight moves a hit by a few ranks, and puts the best that only the view found
// behind a hundred hits of the index. Measured on three conversations of LoCoMo with plain BM25 as the view: recall@5
// .750 as without it, @10 .808 against .806, @20 .851 against .857. A weight of .3 loses .018 @5, of 1 .100.
func ViewRetriever(found []Match) RetrieverHits {
	return RetrieverHits{RetrieverElasticsearch, RetrieverWeights{.1, .1}, found}
}

// DenseRetriever is what Index.SearchVectors found. Source of the weights: measured with MiniLM on LoCoMo and BEAM-128K. As much
// as for chats with an assistant costs people .016 of recall@5; as little as for people costs assistants .03 of @10.
func DenseRetriever(found []Match) RetrieverHits {
	return RetrieverHits{RetrieverDense, RetrieverWeights{.4, .8}, found}
}

// DenseFactsRetriever is what factrank.Index.SearchWithSources found, as Index.Weigh put it. Source of the weight: measured with MiniLM
// and LoCoMo's observations.
func DenseFactsRetriever(found []Match) RetrieverHits {
	return RetrieverHits{RetrieverDenseFacts, RetrieverWeights{.2, .2}, found}
}

// StandingRetriever is what Index.Standing found. What the user asks for in every answer often shares no word with the question
// that it is for, so it is ranked by its score in the other retrievers, and the latest first where these did not find it.
// Source of the weight: measured on BEAM-128K, where it lifts recall@10 by .03; from .4 to 1 it makes no difference. It is
// no more than what puts the best wish among the first ten hits.
func StandingRetriever(found []Match) RetrieverHits {
	return RetrieverHits{RetrieverStanding, RetrieverWeights{0, .6}, found}
}

// FuseDepth is how many hits of each retriever are fused. Whoever wants n hits in the same order for any n must ask the index
// for n + FuseDepth.
const FuseDepth = 200

// fuseK is how much the first ranks differ in reciprocal rank fusion (Cormack et al., SIGIR 2009): a hit scores the sum
// of weight / (fuseK + its rank) over the retrievers. With the paper's 60 the fusion of words and vectors loses .02 of
// recall@10 on LoCoMo.
const fuseK = 10

// Fuse ranks what the index and other retrievers found together, equal scores in the order of the index, then of the retrievers, of
// which StandingRetriever must be the last. A
// hit that the index does not have, or ranks beyond FuseDepth while another retriever has it, has no Passage: see Placed.
func Fuse(own []Hit, retrievers ...RetrieverHits) []Hit {
	if !slices.ContainsFunc(retrievers, func(a RetrieverHits) bool { return len(a.Matches) > 0 }) {
		return own
	}
	f := newFusion(own, retrievers)
	for _, a := range retrievers {
		if a.Name == RetrieverStanding {
			a.Matches = f.standing(a.Matches)
		}
		f.join(a)
	}
	for i := FuseDepth; i < len(own); i++ {
		if f.at[own[i].Place] == nil {
			f.own = append(f.own, lexical(own[i], i+1))
		}
	}
	hits := append(f.own, f.others...) // which moves the others up to what there is of the index
	sortByScore(hits)
	return hits
}

// explained is what there is to say of a match by its factors.
func explained(factors []Factor) *Explanation {
	if factors == nil {
		return nil
	}
	return &Explanation{Factors: factors}
}

// sortByScore sorts the best first, equal ones as they stand. A hit is large: their scores are sorted, and each hit moves once.
func sortByScore(hits []Hit) {
	type scored struct {
		score float64
		from  int // the hit's index
	}
	order := make([]scored, len(hits))
	for i := range hits {
		order[i] = scored{hits[i].Score, i}
	}
	slices.SortFunc(order, func(a, b scored) int {
		switch { // cmp.Compare minds NaN, which no score is
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.from - b.from
	})
	for i := range order { // each cycle of hits that stand in each other's places
		first := hits[i]
		to := i
		for order[to].from != i {
			from := order[to].from
			hits[to], order[to].from = hits[from], to
			to = from
		}
		hits[to], order[to].from = first, to
	}
}

// fusion is what was found so far. Both lists have their room from the start, so that the pointers stay good: that of the others lies
// behind that of the index's own in one array.
type fusion struct {
	own, others []Hit // of the index and of other retrievers alone
	at          map[memory.Place]*Hit
	lists       int              // of the index and of those other retrievers that found something
	spare       []RetrieverScore // room for the scores of further hits
}

func newFusion(own []Hit, retrievers []RetrieverHits) fusion {
	room, lists := 0, 1
	for _, a := range retrievers {
		room += min(len(a.Matches), FuseDepth)
		lists += min(len(a.Matches), 1)
	}
	both := make([]Hit, 0, len(own)+room)
	f := fusion{own: both, others: both[len(own):len(own)], at: make(map[memory.Place]*Hit, room+FuseDepth), lists: lists}
	for i := range own[:min(len(own), FuseDepth)] {
		f.own = append(f.own, lexicalIn(f.room(), own[i], i+1))
		f.at[own[i].Place] = &f.own[i]
	}
	return f
}

// hitsOfRoom is for how many hits room for scores is made at once.
const hitsOfRoom = 64

// room is room for one score of each list: most hits of the first ranks have several.
func (f *fusion) room() []RetrieverScore {
	if len(f.spare) == 0 {
		f.spare = make([]RetrieverScore, hitsOfRoom*f.lists)
	}
	room := f.spare[:0:f.lists]
	f.spare = f.spare[f.lists:]
	return room
}

// lexical is a hit of the index at a rank.
func lexical(h Hit, at int) Hit { return lexicalIn(nil, h, at) }

// lexicalIn is lexical with room for the scores.
func lexicalIn(room []RetrieverScore, h Hit, at int) Hit {
	h.Retrievers = append(room, RetrieverScore{RetrieverLexical, at, h.Score, 1})
	h.Score = 1 / float64(fuseK+at)
	return h
}

// join adds a retriever's ranks to the hits.
func (f *fusion) join(a RetrieverHits) {
	for i, m := range a.Matches[:min(len(a.Matches), FuseDepth)] {
		h := f.at[m.Place]
		if h == nil {
			f.others = append(f.others, Hit{Place: m.Place, Kind: m.Kind, Why: explained(m.Factors), Retrievers: f.room()})
			h = &f.others[len(f.others)-1]
			f.at[m.Place] = h
		}
		if n := len(h.Retrievers); n > 0 && h.Retrievers[n-1].Name == a.Name {
			continue
		}
		h.Kind = cmp.Or(h.Kind, m.Kind)
		weight := a.Weights.of(h.Kind)
		h.Retrievers = append(h.Retrievers, RetrieverScore{a.Name, i + 1, m.Score, weight})
		h.Score += weight / float64(fuseK+i+1)
	}
}

// standing orders matches by their scores from the retrievers that joined before, equal ones as they stand. Where these found
// nothing at all there are none: who looks for a word that nobody said is not helped by wishes.
func (f *fusion) standing(matches []Match) []Match {
	if len(f.at) == 0 {
		return nil
	}
	score := func(m Match) float64 {
		if h := f.at[m.Place]; h != nil {
			return h.Score
		}
		return 0
	}
	matches = slices.Clone(matches)
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(score(b), score(a)) })
	return matches
}

// OnlyViewed reports whether nothing but a full-text view found the hit.
func (h *Hit) OnlyViewed() bool {
	return len(h.Retrievers) == 1 && h.Retrievers[0].Name == RetrieverElasticsearch
}

// Lexical reports whether the index's words found the hit.
func (h *Hit) Lexical() bool {
	return len(h.Retrievers) == 0 || h.Retrievers[0].Name == RetrieverLexical
}

// Placed is the hit itself where the index's words found it, else a copy with the role, time and passage of the message.
func (h *Hit) Placed(m *memory.Message, terms []string) *Hit {
	if h.Lexical() {
		return h
	}
	placed := *h
	placed.Role, placed.CreateTime = m.Role, m.SaidTime()
	placed.Passage, placed.Whole = BestPassage(m.SaidText(), terms)
	return &placed
}

// BestPassage is the passage of the words with the most of the terms, the first of equal ones, and whether it is all.
func BestPassage(words string, terms []string) (best text.Span, whole bool) {
	passages := text.Passages(words)
	switch len(passages) {
	case 0:
		return text.Span{}, true
	case 1: // as of most messages: nothing to compare
		return passages[0], true
	}
	wanted := make(map[string]bool, len(terms))
	for _, t := range terms {
		wanted[t] = true
	}
	most := -1
	for _, p := range passages {
		if n := matches(text.Terms(p.Of(words)), wanted); n > most {
			best, most = p, n
		}
	}
	return best, false
}

// matches counts the wanted terms, each once.
func matches(terms []string, wanted map[string]bool) int {
	seen := map[string]bool{}
	for _, t := range terms {
		if wanted[t] {
			seen[t] = true
		}
	}
	return len(seen)
}
