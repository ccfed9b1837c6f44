package extract

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
)

// maxEvidence is how many places a fact names where it was said: the first and the latest ones.
const maxEvidence = 8

// minSimilar is the share of common terms from which on two facts are one (Jaccard index).
const minSimilar = 0.8

// Decide answers what becomes of the proposals, in the order of their indexes, given what the facts are. A proposal
// that says again what a fact says only adds evidence. Of two statements that exclude each other the one that was said
// later holds, and the other is kept as a past fact; so slots may be applied in any order. Applying a decision and
// deciding again changes nothing.
func Decide(s State, proposals []Proposal, src Source) Decision {
	l := newLedger(s, src)
	for _, p := range slices.SortedStableFunc(slices.Values(proposals), func(a, b Proposal) int { return cmp.Compare(a.Index, b.Index) }) {
		l.propose(p)
	}
	return l.decision()
}

// ledger is the facts while a decision is made.
type ledger struct {
	scope     memory.ScopeKey
	forgotten map[memory.KeyedHash]bool
	src       Source
	facts     map[string]memory.Fact
	order     []string                    // ids, so that every walk is the same
	stored    map[string]int64            // revisions of the facts that are stored
	causes    map[string]memory.FactCause // of the facts that changed
	traits    map[string]*traits          // of the texts, as far as they were looked at
	rejected  []Rejection
}

func newLedger(s State, src Source) *ledger {
	l := &ledger{
		scope: s.Scope, forgotten: s.Forgotten, src: src,
		facts:  make(map[string]memory.Fact, len(s.Facts)),
		stored: make(map[string]int64, len(s.Facts)),
		causes: map[string]memory.FactCause{}, traits: map[string]*traits{},
	}
	for _, f := range s.Facts {
		l.facts[f.ID] = f
		l.stored[f.ID] = f.Revision
		l.order = append(l.order, f.ID)
	}
	slices.Sort(l.order)
	return l
}

// decision is the changed facts by id.
func (l *ledger) decision() Decision {
	d := Decision{Rejected: l.rejected}
	for _, id := range slices.Sorted(maps.Keys(l.causes)) {
		d.Changes = append(d.Changes, Change{Fact: l.facts[id], Cause: l.causes[id]})
	}
	return d
}

// change keeps a fact as it shall be. However often one decision changes a fact, it is one revision; the cause of a
// new fact stays that it is new.
func (l *ledger) change(f memory.Fact, cause memory.FactCause) {
	_, known := l.facts[f.ID]
	revision, stored := l.stored[f.ID]
	if !known {
		at, _ := slices.BinarySearch(l.order, f.ID)
		l.order = slices.Insert(l.order, at, f.ID)
	}
	if stored || !known {
		l.causes[f.ID] = cause
	}
	f.Revision, f.UpdateTime = revision+1, l.src.Now
	l.facts[f.ID] = f
}

func (l *ledger) reject(p Proposal, reason RejectReason) {
	l.rejected = append(l.rejected, Rejection{Index: p.Index, Reason: reason, Op: asOp(p)})
}

// propose decides about one proposal.
func (l *ledger) propose(p Proposal) {
	p.Fact.ID = memory.EffectID(l.src.SlotID, p.Index)
	if l.forgotten[l.scope.Keyed(KeyDigest(p.Fact.Subject, p.Fact.Text))] {
		l.reject(p, RejectForgotten)
		return
	}
	if _, applied := l.facts[p.Fact.ID]; applied {
		return
	}
	rivals := l.rivals(p)
	same, known := l.same(p.Fact)
	switch {
	case !known:
		l.learn(p, rivals)
	case l.holdsAnew(same, p.Fact):
		now, _ := l.current(same.ID)
		l.learn(p, append(rivals, now))
	default:
		l.sayAgain(same, p.Fact, rivals)
	}
}

// holdsAnew reports whether a past fact is said again after what took its place, and so is not past any more.
func (l *ledger) holdsAnew(past, said memory.Fact) bool {
	if past.IsCurrent() || hasEvidence(past.Evidence, said.Evidence) {
		return false
	}
	if now, ok := l.current(past.ID); ok {
		return later(said, now)
	}
	return saidAt(said).time.After(past.ValidTo)
}

// sayAgain adds the proposal's evidence to the fact that says the same.
func (l *ledger) sayAgain(same, said memory.Fact, rivals []memory.Fact) {
	if same.Protected {
		return
	}
	if merged := mergeEvidence(same.Evidence, said.Evidence); !slices.Equal(merged, same.Evidence) {
		same.Evidence = merged
		l.change(same, memory.CauseExtracted)
	}
	if same.IsCurrent() {
		l.contend(same, rivals)
	}
}

// learn stores a new fact, unless it speaks against what a person wrote.
func (l *ledger) learn(p Proposal, rivals []memory.Fact) {
	if slices.ContainsFunc(rivals, func(r memory.Fact) bool { return r.Protected }) {
		l.reject(p, RejectProtected)
		return
	}
	f := p.Fact
	f.Origin, f.Model, f.CreateTime = memory.FactExtracted, l.src.Model, l.src.Now
	l.change(f, memory.CauseExtracted)
	l.contend(l.facts[f.ID], rivals)
}

// contend settles which holds of a fact and those that cannot hold beside it: whichever was said last.
func (l *ledger) contend(f memory.Fact, rivals []memory.Fact) {
	last := f
	for _, r := range rivals {
		if r.ID != "" && r.ID != f.ID && later(r, last) {
			last = r
		}
	}
	if last.ID != f.ID {
		l.supersede(f, last)
	}
	for _, r := range rivals {
		if r.ID != "" && r.ID != f.ID && !r.Protected && later(f, r) {
			l.supersede(r, f)
		}
	}
}

func (l *ledger) supersede(old, by memory.Fact) {
	old = l.facts[old.ID]
	old.SupersededBy, old.ValidTo = by.ID, endOf(old, by)
	l.change(old, memory.CauseSuperseded)
}

// rivals are the current facts that cannot hold beside the proposal: of the same property, and what took the place of
// the one it names.
func (l *ledger) rivals(p Proposal) []memory.Fact {
	var out []memory.Fact
	named, _ := l.current(p.Supersedes)
	for _, id := range l.order {
		f := l.facts[id]
		if id == named.ID || f.IsCurrent() && sameProperty(f, p.Fact) {
			out = append(out, f)
		}
	}
	return out
}

// current is the fact itself where it holds, else what took its place in the end.
func (l *ledger) current(id string) (memory.Fact, bool) {
	for range len(l.facts) {
		f, ok := l.facts[id]
		if !ok || f.IsCurrent() {
			return f, ok
		}
		id = f.SupersededBy
	}
	return memory.Fact{}, false
}

func sameProperty(a, b memory.Fact) bool {
	return a.Attribute != "" && a.Attribute == b.Attribute && subjectKey(a.Subject) == subjectKey(b.Subject)
}

// same is the fact that says what f says: one that has its evidence already, else one that holds before past ones, then
// by the same words before similar ones, then the latest.
func (l *ledger) same(f memory.Fact) (memory.Fact, bool) {
	want := newTraits(f)
	var best memory.Fact
	most := 0
	for _, id := range l.order {
		g := l.facts[id]
		likeness := l.traitsOf(g).likeness(want)
		if likeness == unlike {
			continue
		}
		rank := int(likeness)
		if g.IsCurrent() {
			rank += int(equal)
		}
		if hasEvidence(g.Evidence, f.Evidence) {
			rank += 2 * int(equal) // it has been told already
		}
		if rank > most || rank == most && later(g, best) {
			best, most = g, rank
		}
	}
	return best, most > 0
}

func (l *ledger) traitsOf(f memory.Fact) *traits {
	t, ok := l.traits[f.ID]
	if !ok {
		t = newTraits(f)
		l.traits[f.ID] = t
	}
	return t
}

// mayBeOne reports whether similar texts may mean one fact.
func mayBeOne(a, b memory.Fact) bool {
	return a.Category == b.Category && (a.Attribute == b.Attribute || a.Attribute == "" || b.Attribute == "")
}

// likeness says how much two facts say the same.
type likeness int

const (
	unlike likeness = iota
	similar
	equal
)

// traits are what of a fact is compared. A user may have thousands of facts, so the terms are only looked up for those
// that could be similar.
type traits struct {
	fact    memory.Fact
	subject string
	key     string
	terms   []string // in order; nil until they are needed
}

func newTraits(f memory.Fact) *traits {
	return &traits{fact: f, subject: subjectKey(f.Subject), key: Key(f.Text)}
}

func (t *traits) orderedTerms() []string {
	if t.terms == nil {
		t.terms = text.Terms(t.fact.Text)
	}
	return t.terms
}

// likeness compares: the same words are equal; nearly the same terms in one order, with the same numbers, denying as much, similar.
func (t *traits) likeness(o *traits) likeness {
	switch {
	case t.subject != o.subject:
		return unlike
	case t.key == o.key:
		return equal
	case !mayBeOne(t.fact, o.fact) || !sameLength(t.key, o.key):
		return unlike
	case !similarTerms(t.orderedTerms(), o.orderedTerms()):
		return unlike
	case !slices.Equal(numbers(t.fact.Text), numbers(o.fact.Text)) || negated(t.fact.Text) != negated(o.fact.Text):
		return unlike
	}
	return similar
}

// sameLength reports whether neither key is more than twice as long as the other: texts that share most of their terms
// are about as long.
func sameLength(a, b string) bool { return len(a) <= 2*len(b) && len(b) <= 2*len(a) }

// similarTerms reports whether most of the terms are common ones (Jaccard index), and those stand in the same order: to
// prefer tea to coffee is not to prefer coffee to tea.
func similarTerms(a, b []string) bool {
	inA, inB := setOf(a), setOf(b)
	commonA, commonB := common(a, inB), common(b, inA)
	union := len(inA) + len(inB) - len(commonA)
	return len(commonA) > 0 && float64(len(commonA)) >= minSimilar*float64(union) && slices.Equal(commonA, commonB)
}

func setOf(terms []string) map[string]bool {
	set := make(map[string]bool, len(terms))
	for _, t := range terms {
		set[t] = true
	}
	return set
}

// common is the terms that the set has too, in order, each once.
func common(terms []string, set map[string]bool) []string {
	var out []string
	for _, t := range terms {
		if set[t] && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// statement is when and where a fact was last said.
type statement struct {
	time    time.Time
	session memory.SessionKey
	seq     int64
}

// saidAt is when the fact was last said; for one without evidence, when it began to hold.
func saidAt(f memory.Fact) statement {
	var last statement
	for _, e := range f.Evidence {
		s := statement{e.Time, e.Session, e.Seq}
		if s.time.IsZero() {
			s.time = f.ValidFrom
		}
		if s.compare(last) > 0 {
			last = s
		}
	}
	if last == (statement{}) {
		last.time = f.ValidFrom
	}
	return last
}

func (s statement) compare(o statement) int {
	return cmp.Or(s.time.Compare(o.time), strings.Compare(string(s.session), string(o.session)), cmp.Compare(s.seq, o.seq))
}

// later reports whether a was said after b. Of two said in one message the one with the higher id counts as later:
// any order will do, as long as it is always the same.
func later(a, b memory.Fact) bool {
	return cmp.Or(saidAt(a).compare(saidAt(b)), strings.Compare(a.ID, b.ID)) > 0
}

// endOf is when the older fact ceased to hold: when the newer began to, but not before it began itself.
func endOf(older, newer memory.Fact) time.Time {
	if newer.ValidFrom.After(older.ValidFrom) {
		return newer.ValidFrom
	}
	return older.ValidFrom
}

// hasEvidence reports whether all of some is there: one for each message.
func hasEvidence(have, some []memory.Evidence) bool {
	return !slices.ContainsFunc(some, func(e memory.Evidence) bool {
		return !slices.ContainsFunc(have, func(h memory.Evidence) bool { return h.Place() == e.Place() })
	})
}

// mergeEvidence adds what is not there yet. Beyond maxEvidence it keeps the first and the latest.
func mergeEvidence(have, more []memory.Evidence) []memory.Evidence {
	if hasEvidence(have, more) {
		return have
	}
	out := slices.Clone(have)
	for _, e := range more {
		if !hasEvidence(out, []memory.Evidence{e}) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Evidence) int {
		return statement{a.Time, a.Session, a.Seq}.compare(statement{b.Time, b.Session, b.Seq})
	})
	if n := len(out); n > maxEvidence {
		out = slices.Delete(out, 1, n-maxEvidence+1)
	}
	return out
}

// asOp is a verified proposal as the operation it was, to be looked at by a person.
func asOp(p Proposal) Op {
	op := Op{
		Op: "add", Text: p.Fact.Text, Significance: p.Fact.Significance, Confidence: p.Fact.Confidence,
		Subject: p.Fact.Subject, Attribute: p.Fact.Attribute, Tags: p.Fact.Tags, Supersedes: p.Supersedes,
	}
	if p.Supersedes != "" {
		op.Op = "supersede"
	}
	for name, c := range categories {
		if c == p.Fact.Category {
			op.Category = name
		}
	}
	if len(p.Fact.Evidence) > 0 {
		op.Quote = p.Fact.Evidence[0].Quote
	}
	return op
}
