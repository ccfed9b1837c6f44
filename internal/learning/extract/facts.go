package extract

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Facts is all facts of a user, superseded ones included, ready to be compared with proposals. It never changes: With
// returns another one that shares what stays the same, so a decision may go on while others are stored. The zero value
// holds none.
//
// It is a log-structured merge tree (O'Neil, Cheng, Gawlick and O'Neil, 1996): what changed lies in small layers above
// the large ones, and layers of about the same size are merged. A layer is never written to again.
type Facts struct {
	layers []*layer // each at least twice as large as the next; the last is the newest
	count  int
}

// layer is some facts under everything they are looked up by.
type layer struct {
	byID    map[string]*traits // nil for a fact that is gone
	holding traitsBy           // by property: those that hold
	saying  traitsBy           // by words
	naming  traitsBy           // by term
	bytes   int64
}

type traitsBy map[string][]*traits

// NewFacts holds the facts, whose ids must differ.
func NewFacts(facts ...memory.Fact) Facts { return Facts{}.With(facts) }

// With is the facts after those changed or were added, and after those of the ids in gone were deleted. Of one id in
// both it is gone.
func (x Facts) With(changed []memory.Fact, gone ...string) Facts {
	if len(changed)+len(gone) == 0 {
		return x
	}
	top := newLayer(changed, gone)
	out := Facts{count: x.count}
	for id, t := range top.byID {
		out.count += presence(t != nil) - presence(x.find(id) != nil)
	}
	rest := x.layers
	for len(rest) > 0 && len(rest[len(rest)-1].byID) < 2*len(top.byID) {
		top = merged(rest[len(rest)-1], top)
		rest = rest[:len(rest)-1]
	}
	if len(rest) == 0 { // nothing lies below that the gone ones must hide
		maps.DeleteFunc(top.byID, func(_ string, t *traits) bool { return t == nil })
	}
	out.layers = append(slices.Clip(rest), top)
	return out
}

func presence(there bool) int {
	if there {
		return 1
	}
	return 0
}

// Len is how many facts there are.
func (x Facts) Len() int { return x.count }

// Bytes is about how much memory the facts take, with what they are looked up by.
func (x Facts) Bytes() int64 {
	var n int64
	for _, l := range x.layers {
		n += perLayer + l.bytes
	}
	return n
}

const perLayer = 900 // bytes of a layer's four maps, whatever is in them

// Get returns the fact of the id.
func (x Facts) Get(id string) (memory.Fact, bool) {
	if t := x.find(id); t != nil {
		return t.fact, true
	}
	return memory.Fact{}, false
}

// All returns every fact, by id.
func (x Facts) All() []memory.Fact {
	out := make([]memory.Fact, 0, x.count)
	for i, l := range x.layers {
		for id, t := range l.byID {
			if t != nil && !x.replaced(i, id) {
				out = append(out, t.fact)
			}
		}
	}
	slices.SortFunc(out, func(a, b memory.Fact) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (x Facts) find(id string) *traits {
	for _, l := range slices.Backward(x.layers) {
		if t, ok := l.byID[id]; ok {
			return t
		}
	}
	return nil
}

// replaced reports whether a layer above has another version of the fact.
func (x Facts) replaced(depth int, id string) bool {
	return slices.ContainsFunc(x.layers[depth+1:], func(l *layer) bool {
		_, ok := l.byID[id]
		return ok
	})
}

// latest is those of what the layers list that match, without older versions.
func (x Facts) latest(listed func(*layer) []*traits, match func(*traits) bool) []*traits {
	var out []*traits
	for i, l := range x.layers {
		for _, t := range listed(l) {
			if match(t) && !x.replaced(i, t.fact.ID) {
				out = append(out, t)
			}
		}
	}
	return out
}

func anyTraits(*traits) bool { return true }

// holders are the facts that hold of the same property.
func (x Facts) holders(t *traits) []*traits {
	return x.latest(func(l *layer) []*traits { return l.holding[t.holds] }, anyTraits)
}

// sayers are the facts of the same words.
func (x Facts) sayers(t *traits) []*traits {
	return x.latest(func(l *layer) []*traits { return l.saying[t.said] }, anyTraits)
}

// alike are the facts of the same words and the similar ones.
func (x Facts) alike(t *traits) []*traits {
	var near []*traits
	for _, term := range x.telling(t) {
		near = append(near, x.latest(func(l *layer) []*traits { return l.naming[term] }, func(o *traits) bool {
			return o.likeness(t) == similar && !slices.Contains(near, o)
		})...)
	}
	return append(x.sayers(t), near...)
}

// denied are facts of which those are that a retraction takes back: those of the same property, those of the same words and
// those that begin with them.
func (x Facts) denied(said *traits) []*traits {
	out := append(x.holders(said), x.sayers(said)...)
	if len(said.terms) == 0 {
		return out
	}
	rarest := x.byRarity(said)[0]
	return append(out, x.latest(func(l *layer) []*traits { return l.naming[rarest] }, func(o *traits) bool {
		return o.denies(said) && !slices.Contains(out, o)
	})...)
}

// maxSharing is how many facts a term may be in that says what one is about: a word that more have does not.
const maxSharing = 200

// sharing are the facts that have a telling term of a fact's text or of what was said.
func (x Facts) sharing(t *traits) []*traits {
	var out []*traits
	seen := map[*traits]bool{}
	for _, term := range distinct(text.Terms(t.fact.Text + "\n" + clauseOf(t.fact))) {
		n := 0
		for _, l := range x.layers {
			n += len(l.naming[term])
		}
		if n > maxSharing {
			continue
		}
		for _, o := range x.latest(func(l *layer) []*traits { return l.naming[term] }, func(o *traits) bool { return !seen[o] }) {
			seen[o] = true
			out = append(out, o)
		}
	}
	return out
}

// telling are terms of which every similar fact has at least one: as many as a similar fact may lack and one more, the
// rarest. It is the prefix filter of set similarity joins (Chaudhuri, Ganti and Kaushik, 2006).
func (x Facts) telling(t *traits) []string {
	terms := x.byRarity(t)
	shared := 1
	for !mostAreCommon(shared, len(terms)) {
		shared++
	}
	return terms[:max(0, len(terms)-shared+1)]
}

// byRarity is the terms of a fact, those first that the fewest facts have.
func (x Facts) byRarity(t *traits) []string {
	terms := slices.Clone(t.terms)
	count := make(map[string]int, len(terms))
	for _, term := range terms {
		for _, l := range x.layers {
			count[term] += len(l.naming[term])
		}
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b)) })
	return terms
}

func newLayer(changed []memory.Fact, gone []string) *layer {
	l := &layer{byID: make(map[string]*traits, len(changed)+len(gone)), holding: traitsBy{}, saying: traitsBy{}, naming: traitsBy{}}
	for _, id := range gone {
		l.byID[id] = nil
	}
	for _, f := range changed {
		if _, gone := l.byID[f.ID]; !gone {
			l.add(newTraits(f))
		}
	}
	return l
}

func (l *layer) add(t *traits) {
	l.byID[t.fact.ID] = t
	l.saying.add(t.said, t)
	if t.fact.IsCurrent() && t.fact.Attribute != "" {
		l.holding.add(t.holds, t)
	}
	for _, term := range t.terms {
		l.naming.add(term, t)
	}
	l.bytes += t.bytes()
}

func (m traitsBy) add(key string, t *traits) { m[key] = append(m[key], t) }

// merged is two layers in one, of which the newer one holds.
func merged(older, newer *layer) *layer {
	out := &layer{byID: maps.Clone(older.byID), bytes: newer.bytes}
	maps.Copy(out.byID, newer.byID)
	for id, t := range older.byID {
		if t != nil && out.byID[id] == t {
			out.bytes += t.bytes()
		}
	}
	stays := func(t *traits) bool { return out.byID[t.fact.ID] == t }
	out.holding = mergedBy(older.holding, newer.holding, stays)
	out.saying = mergedBy(older.saying, newer.saying, stays)
	out.naming = mergedBy(older.naming, newer.naming, stays)
	return out
}

func mergedBy(older, newer traitsBy, stays func(*traits) bool) traitsBy {
	out := make(traitsBy, len(older)+len(newer))
	for key, list := range older {
		for _, t := range list {
			if stays(t) {
				out.add(key, t)
			}
		}
	}
	for key, list := range newer {
		out[key] = append(out[key], list...)
	}
	return out
}

// traits are a fact with what of it is compared. They are shared and never change.
type traits struct {
	fact    memory.Fact
	subject string
	key     string
	holds   string   // property and subject in one
	said    string   // subject and key in one
	terms   []string // each once, in order
}

func newTraits(f memory.Fact) *traits {
	t := &traits{fact: f, subject: subjectKey(f.Subject), key: Key(f.Text), terms: distinct(text.Terms(f.Text))}
	t.said, t.holds = t.subject+"\x00"+t.key, propertyKey(f.Attribute)+"\x00"+t.subject
	return t
}

func (t *traits) sameProperty(o *traits) bool { return t.fact.Attribute != "" && t.holds == o.holds }

// bytes is about what the traits take with the lists they stand in, beside the fact's own strings, which whoever holds
// the fact has too: TestBytesAreThoseOfTheHeap.
func (t *traits) bytes() int64 {
	const record, listed = 650, 70
	return int64(record + len(t.key) + len(t.said) + listed*len(t.terms))
}

// distinct is the terms, each once, in the order of their first place.
func distinct(terms []string) []string {
	out := make([]string, 0, len(terms))
	seen := make(map[string]bool, len(terms))
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}
