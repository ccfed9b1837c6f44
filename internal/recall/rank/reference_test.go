package rank

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// reference ranks messages as Search's comment says, field by field, with no list and no bound.
type reference struct {
	sessions map[memory.SessionKey][]segment.Doc // by seq
	weights  Weights
}

// field is one passage's.
type field struct {
	segment.Doc
	kind   Kind
	tf     map[string]float64
	length float64
}

func newReference(docs []segment.Doc) reference {
	r := reference{map[memory.SessionKey][]segment.Doc{}, DefaultWeights()}
	for _, d := range segment.Distinct(docs) {
		r.sessions[d.Session] = append(r.sessions[d.Session], d)
	}
	return r
}

func (r reference) kind(d segment.Doc) (Kind, KindWeights) {
	replied := slices.ContainsFunc(r.sessions[d.Session], func(o segment.Doc) bool { return o.Role == memory.RoleAssistant })
	if d.Role == memory.RoleUser && d.Name != "" && !replied {
		return KindPerson, exact(r.weights.Person)
	}
	return KindAssistantChat, exact(r.weights.AssistantChat)
}

func wordsOf(d segment.Doc) map[string]float64 {
	words := map[string]float64{}
	for _, p := range d.Passages {
		for _, t := range p.Terms {
			words[t.Term] += float64(t.Count)
		}
	}
	return words
}

func (f *field) add(words map[string]float64, weight float64) {
	if weight == 0 {
		return
	}
	for w, n := range words {
		f.tf[w] += weight * n
		f.length += weight * n
	}
}

func tally(words []string) map[string]float64 {
	n := map[string]float64{}
	for _, w := range words {
		n[w]++
	}
	return n
}

// around are the messages whose words count for the one at a position, with their weights.
func (r reference) around(in []segment.Doc, at int, w KindWeights) map[int]float64 {
	out := map[int]float64{}
	add := func(from int, weight float64) {
		if from < 0 || from >= len(in) {
			return
		}
		words := 0.0
		for _, n := range wordsOf(in[from]) {
			words += n
		}
		if words > float64(w.NeighbourWords) {
			weight *= float64(w.NeighbourWords) / words
		}
		out[from] += quantum(weight)
	}
	before := w.Before
	if at > 0 && in[at-1].Question && in[at-1].Name != in[at].Name {
		before = w.BeforeQuestion
	}
	add(at-2, w.TwoBefore)
	add(at-1, before)
	add(at+1, w.After)
	add(at+2, w.TwoAfter)
	if in[at].Role == memory.RoleUser {
		for i := at + 1; i < len(in) && i <= at+8 && in[i].Role == memory.RoleAssistant; i++ {
			if len(wordsOf(in[i])) > 0 {
				add(i, w.Reply)
				break
			}
		}
	}
	return out
}

func (r reference) fields() (all []field) {
	for _, in := range r.sessions {
		for at, d := range in {
			kind, w := r.kind(d)
			for _, p := range d.Passages {
				f := field{Doc: d, kind: kind, tf: map[string]float64{}}
				f.add(wordsOf(segment.Doc{Passages: []segment.Passage{p}}), 1)
				for from, weight := range r.around(in, at, w) {
					f.add(wordsOf(in[from]), weight)
				}
				f.add(tally(text.Terms(d.Name)), w.Name)
				day := time.UnixMilli(d.CreateMillis).UTC().Format("2 January 2006")
				f.add(tally(text.TermsKeepingStopWords(day)), w.Date)
				all = append(all, f)
			}
		}
	}
	return all
}

// scores are those of the messages that match.
func (r reference) scores(q Query) map[memory.Place]float64 {
	all := r.fields()
	lengths, counts := map[Kind]float64{}, map[Kind]float64{}
	for _, f := range all {
		lengths[f.kind] += f.length
		counts[f.kind]++
	}
	out := map[memory.Place]float64{}
	for _, f := range all {
		_, w := r.kind(f.Doc)
		score := 0.0
		for _, t := range slices.Compact(slices.Sorted(slices.Values(q.Terms))) {
			df := 0.0
			for _, o := range all {
				if o.tf[t] > 0 {
					df++
				}
			}
			norm := 1 - w.B + w.B*f.length*counts[f.kind]/lengths[f.kind]
			score += math.Log1p((float64(len(all))-df+.5)/(df+.5)) * f.tf[t] * (w.K1 + 1) / (f.tf[t] + w.K1*norm)
		}
		if score > 0 {
			out[f.Place] = max(out[f.Place], score*r.factor(f, q, w))
		}
	}
	return out
}

func (r reference) factor(f field, q Query, w KindWeights) float64 {
	factor := 1.0
	if f.kind == KindAssistantChat {
		lift := math.Sqrt(1 + q.UserPrior)
		if f.Role != memory.RoleUser {
			lift = 1 / lift
		}
		factor *= lift
	}
	if named := r.named(q.Terms); f.kind == KindPerson && len(named) == 1 && named[f.Name] {
		factor *= w.Named
	}
	if q.AsksWhen && f.MentionsTime {
		factor *= w.MentionsTime
	}
	return factor
}

// named are the names of the people that terms name.
func (r reference) named(terms []string) map[string]bool {
	out := map[string]bool{}
	for _, in := range r.sessions {
		for _, d := range in {
			kind, _ := r.kind(d)
			if kind == KindPerson && slices.ContainsFunc(text.Terms(d.Name), func(t string) bool { return slices.Contains(terms, t) }) {
				out[d.Name] = true
			}
		}
	}
	return out
}

func TestSearchIsWhatItsDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, q := chats().Draw(t, "docs"), queries().Draw(t, "query")
		q.Limit, q.Times, q.Near, q.Attached, q.Explain = rapid.IntRange(1, 20).Draw(t, "limit"), nil, nil, nil, false
		want := newReference(docs).scores(q)
		for _, x := range []*Index{index(docs...), least(docs...)} {
			hits := x.Search(q).Hits
			if len(hits) != min(q.Limit, len(want)) {
				t.Fatalf("%d hits, want %d of %d", len(hits), q.Limit, len(want))
			}
			best := slices.SortedFunc(func(yield func(float64) bool) {
				for _, s := range want {
					if !yield(s) {
						return
					}
				}
			}, func(a, b float64) int { return cmp.Compare(b, a) })
			for i, h := range hits {
				if math.Abs(h.Score-want[h.Place]) > 1e-9 || math.Abs(h.Score-best[i]) > 1e-9 {
					t.Fatalf("hit %d, %v, scores %v, want %v; the best there is %v", i+1, h.Place, h.Score, want[h.Place], best[i])
				}
			}
		}
	})
}
