package extract

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// maxEvidence is how many places a fact names where it was said: the first and the latest ones.
const maxEvidence = 8

// minSimilar is the share of common terms from which on two facts are one (Jaccard index).
const minSimilar = 0.8

// Decide returns what becomes of the proposals, in the order of their indexes, given what the facts are. A proposal
// that says again what a fact says only adds evidence. Of two statements that exclude each other the one that was said
// later holds, and the other is kept as a past fact; so jobs may be applied in any order. Applying a decision and
// deciding again changes nothing.
func Decide(s State, proposals []Proposal, src Source) Decision {
	l := newPendingFacts(s, src)
	l.endings = newEndings(proposals)
	for _, p := range slices.SortedStableFunc(slices.Values(proposals), func(a, b Proposal) int { return cmp.Compare(a.Index, b.Index) }) {
		l.propose(p)
	}
	return l.decision()
}

// pendingFacts are the facts while a decision is made: the stored ones, and above them those that changed.
type pendingFacts struct {
	State
	src      Source
	changed  map[string]*traits
	causes   map[string]memory.FactCause // of the facts that changed
	rejected []Rejection
	endings  endings
}

func newPendingFacts(s State, src Source) *pendingFacts {
	return &pendingFacts{State: s, src: src, changed: map[string]*traits{}, causes: map[string]memory.FactCause{}}
}

// decision is the changed facts by id.
func (l *pendingFacts) decision() Decision {
	d := Decision{Rejected: l.rejected}
	for _, id := range slices.Sorted(maps.Keys(l.causes)) {
		d.Changes = append(d.Changes, Change{Fact: l.changed[id].fact, Cause: l.causes[id]})
	}
	return d
}

// change keeps a fact as it shall be. However often one decision changes a fact, it is one revision; the cause of a
// new fact stays that it is new.
func (l *pendingFacts) change(f memory.Fact, cause memory.FactCause) {
	was, stored := l.Facts.Get(f.ID)
	if _, changed := l.changed[f.ID]; stored || !changed {
		l.causes[f.ID] = cause
	}
	f.Revision, f.UpdateTime = was.Revision+1, l.src.Now
	l.changed[f.ID] = newTraits(f)
}

// fact is the fact as it is by now.
func (l *pendingFacts) fact(id string) (memory.Fact, bool) {
	if t, ok := l.changed[id]; ok {
		return t.fact, true
	}
	return l.Facts.Get(id)
}

// now is those of the stored facts that did not change, and the changed ones that match, by id.
func (l *pendingFacts) now(stored []*traits, match func(*traits) bool) []*traits {
	var out []*traits
	for _, t := range stored {
		if _, changed := l.changed[t.fact.ID]; !changed {
			out = append(out, t)
		}
	}
	for _, t := range l.changed {
		if match(t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *traits) int { return strings.Compare(a.fact.ID, b.fact.ID) })
	return out
}

func (l *pendingFacts) reject(p Proposal, reason RejectReason) {
	l.rejected = append(l.rejected, Rejection{Index: p.Index, Reason: reason, Op: asOp(p)})
}

// propose decides about one proposal.
func (l *pendingFacts) propose(p Proposal) {
	p.Fact.ID = memory.EffectID(l.src.JobID, p.Index)
	if p.Retracts {
		l.takeBack(p)
		return
	}
	if l.isForgotten(p) {
		l.reject(p, RejectForgotten)
		return
	}
	if _, applied := l.Facts.Get(p.Fact.ID); applied {
		l.endings.note(p, l.endedBy(p.Fact.ID))
		return
	}
	said := newTraits(p.Fact)
	rivals := l.rivals(said, p.Supersedes)
	ends := l.ends(p.Fact, rivals)
	if !l.endings.allow(p, ends) {
		l.reject(p, RejectEndings)
		return
	}
	l.endings.note(p, ends)
	same, known := l.same(said)
	switch {
	case !known:
		l.learn(p, rivals)
	case l.holdsAnew(same, p.Fact):
		now, _ := l.current(same.ID)
		l.learn(p, append(rivals, now))
	default:
		l.sayAgain(same, p, rivals)
	}
}

// isForgotten reports whether a person deleted what is proposed, and nobody said it since: a message counts that was both
// recorded and said after the deletion, so that an old one does not bring it back however often it is read or sent again.
func (l *pendingFacts) isForgotten(p Proposal) bool {
	at, ok := l.Forgotten[l.HashKey.Keyed(KeyDigest(p.Fact.Subject, p.Fact.Text))]
	return ok && (at.IsZero() || !p.Recorded.After(at) || !saidAt(p.Fact).time.After(at))
}

// ends is how many stored facts the one said would end.
func (l *pendingFacts) ends(said memory.Fact, rivals []memory.Fact) (n int) {
	for _, r := range rivals {
		if _, stored := l.Facts.Get(r.ID); stored && r.IsCurrent() && !r.Protected && later(said, r) {
			n++
		}
	}
	return n
}

// endedBy is how many stored facts a fact took the place of: what an answer ended that is applied again.
func (l *pendingFacts) endedBy(id string) (n int) {
	for _, f := range l.Facts.All() {
		if f.SupersededBy == id {
			n++
		}
	}
	return n
}

// holdsAnew reports whether a past fact is said again after what took its place, and so is not past any more.
func (l *pendingFacts) holdsAnew(past, said memory.Fact) bool {
	if past.IsCurrent() || hasEvidence(past.Said(), said.Evidence) {
		return false
	}
	if words, retracted := past.Ending(); retracted {
		return saidAt(said).compare(stated(words, past)) > 0
	}
	if now, ok := l.current(past.ID); ok {
		return later(said, now)
	}
	return saidAt(said).time.After(learntBy(past.ValidTo, past))
}

// sayAgain adds the proposal's evidence to the fact that says the same. Said in two messages, it is as significant as it
// is rated.
func (l *pendingFacts) sayAgain(same memory.Fact, said Proposal, rivals []memory.Fact) {
	if same.Protected {
		return
	}
	if merged := mergeEvidence(same, said.Fact.Evidence); !slices.Equal(merged, same.Evidence) {
		same.Evidence = merged
		if len(same.Said()) > 1 {
			same.Significance = max(same.Significance, said.Rated)
		}
		l.change(same, memory.CauseExtracted)
	}
	if same.IsCurrent() {
		l.contend(same, rivals)
	}
}

// learn stores a new fact, unless it speaks against what a person wrote.
func (l *pendingFacts) learn(p Proposal, rivals []memory.Fact) {
	if slices.ContainsFunc(rivals, func(r memory.Fact) bool { return r.Protected }) {
		l.reject(p, RejectProtected)
		return
	}
	f := p.Fact
	f.Origin, f.Model, f.CreateTime = memory.FactExtracted, l.src.Model, l.src.Now
	l.change(f, memory.CauseExtracted)
	l.contend(l.changed[f.ID].fact, rivals)
}

// contend settles which holds of a fact and those that cannot hold beside it: whichever was said last.
func (l *pendingFacts) contend(f memory.Fact, rivals []memory.Fact) {
	all := []memory.Fact{f}
	for _, r := range rivals {
		if r.ID != "" && r.ID != f.ID {
			all = append(all, r)
		}
	}
	all = inOrderSaid(all)
	if last := all[len(all)-1]; last.ID != f.ID {
		l.supersede(f, last)
	}
	for _, r := range all[:slices.IndexFunc(all, func(o memory.Fact) bool { return o.ID == f.ID })] {
		if !r.Protected {
			l.supersede(r, f)
		}
	}
}

func (l *pendingFacts) supersede(old, by memory.Fact) {
	old, _ = l.fact(old.ID)
	old.SupersededBy, old.ValidTo = by.ID, endOf(old, by)
	l.change(old, memory.CauseSuperseded)
}

// rivals are the current facts that cannot hold beside what is said, by id: of the same property, those of which one replaces
// the other by its words, and what took the place of the one it supersedes.
func (l *pendingFacts) rivals(said *traits, supersedes string) []memory.Fact {
	named, ok := l.current(supersedes)
	var out []memory.Fact
	for _, t := range byID(slices.Concat(l.holders(said), l.replacing(said))) {
		if t.fact.ID != named.ID {
			out = append(out, t.fact)
		}
	}
	if ok {
		at, _ := slices.BinarySearchFunc(out, named.ID, func(f memory.Fact, id string) int { return strings.Compare(f.ID, id) })
		out = slices.Insert(out, at, named)
	}
	return out
}

// holders are the facts that hold of the same property, by id.
func (l *pendingFacts) holders(t *traits) []*traits {
	return l.now(l.Facts.holders(t), func(o *traits) bool { return o.fact.IsCurrent() && o.sameProperty(t) })
}

// replacing are the facts that hold and of which what is said replaces the one or is replaced by it, whichever was said last.
func (l *pendingFacts) replacing(t *traits) []*traits {
	// Words cost more to compare than times, and most of what is said replaces nothing.
	saysChange := sync.OnceValue(func() bool { return mayReplace(plainQuotes.Replace(clauseOf(t.fact))) })
	match := func(o *traits) bool {
		return o.fact.ID != t.fact.ID && o.subject == t.subject && o.fact.IsCurrent() &&
			(later(t.fact, o.fact) && saysChange() && Replaces(t.fact, o.fact) || later(o.fact, t.fact) && Replaces(o.fact, t.fact))
	}
	var out []*traits
	for _, o := range l.now(l.Facts.sharing(t), match) {
		if match(o) {
			out = append(out, o)
		}
	}
	return out
}

// byID is the traits by id of their facts, each once.
func byID(all []*traits) []*traits {
	slices.SortFunc(all, func(a, b *traits) int { return strings.Compare(a.fact.ID, b.fact.ID) })
	return slices.CompactFunc(all, func(a, b *traits) bool { return a.fact.ID == b.fact.ID })
}

// sayers are the facts of the same words, by id.
func (l *pendingFacts) sayers(t *traits) []*traits {
	return l.now(l.Facts.sayers(t), func(o *traits) bool { return o.said == t.said })
}

// current is the fact itself where it holds, else what took its place in the end.
func (l *pendingFacts) current(id string) (memory.Fact, bool) {
	for range l.Facts.Len() + len(l.changed) {
		f, ok := l.fact(id)
		if !ok || f.IsCurrent() {
			return f, ok
		}
		id = f.SupersededBy
	}
	return memory.Fact{}, false
}

// same is the fact that says what is said: one that has its evidence already, else one that holds before past ones,
// then by the same words before similar ones, then the latest.
func (l *pendingFacts) same(said *traits) (memory.Fact, bool) {
	var best memory.Fact
	most := 0
	for _, t := range l.now(l.Facts.alike(said), func(o *traits) bool { return o.likeness(said) != unlike }) {
		rank := int(t.likeness(said))
		if t.fact.IsCurrent() {
			rank += int(equal)
		}
		if hasEvidence(t.fact.Said(), said.fact.Evidence) {
			rank += 2 * int(equal) // it has been stated already
		}
		if rank > most || rank == most && later(t.fact, best) {
			best, most = t.fact, rank
		}
	}
	return best, most > 0
}

// mayBeOne reports whether similar texts may mean one fact.
func mayBeOne(a, b memory.Fact) bool {
	return a.Category == b.Category && (propertyKey(a.Attribute) == propertyKey(b.Attribute) || a.Attribute == "" || b.Attribute == "")
}

// likeness says how much two facts say the same.
type likeness int

const (
	unlike likeness = iota
	similar
	equal
)

// likeness compares: the same words are equal; nearly the same terms in one order, with the same numbers, denying as much, similar.
func (t *traits) likeness(o *traits) likeness {
	switch {
	case t.subject != o.subject:
		return unlike
	case t.key == o.key:
		return equal
	case !mayBeOne(t.fact, o.fact) || !sameLength(t.key, o.key):
		return unlike
	case !similarTerms(t.terms, o.terms):
		return unlike
	case !slices.Equal(numbers(t.fact.Text), numbers(o.fact.Text)) || negated(t.fact.Text) != negated(o.fact.Text):
		return unlike
	case hasClingingScript(t.fact.Text) && !sameValues(t.fact.Text, o.fact.Text):
		return unlike // numbers may be written as words there
	}
	return similar
}

// sameLength reports whether neither key is more than twice as long as the other: texts that share most of their terms
// are about as long.
func sameLength(a, b string) bool { return len(a) <= 2*len(b) && len(b) <= 2*len(a) }

// similarTerms reports whether most of the terms, each of which stands once, are common ones (Jaccard index), and those
// stand in the same order: to prefer tea to coffee is not to prefer coffee to tea. Nearly all pairs part at their first
// terms, which is why nothing is prepared for a comparison.
func similarTerms(a, b []string) bool {
	common, last := 0, -1
	for i, t := range a {
		if at := slices.Index(b, t); at > last {
			common, last = common+1, at
		} else if at >= 0 {
			return false
		}
		if most := common + len(a) - i - 1; !mostAreCommon(most, len(a)+len(b)-most) {
			return false
		}
	}
	return common > 0
}

func mostAreCommon(common, union int) bool { return float64(common) >= minSimilar*float64(union) }

// statement is when and where a fact was last said.
type statement struct {
	time    time.Time
	session memory.SessionKey
	seq     int64
}

// saidAt is when the fact was last said; for one without evidence, when it began to hold.
func saidAt(f memory.Fact) statement {
	evidence := f.Said()
	if len(evidence) == 0 {
		return statement{time: saidBy(f.ValidFrom, f)}
	}
	said := make([]statement, len(evidence))
	for i, e := range evidence {
		said[i] = stated(e, f)
	}
	steady(said, func(s *statement) *statement { return s })
	return slices.MaxFunc(said, statement.compare)
}

// stated is when and where a piece of a fact's evidence was said.
func stated(e memory.Evidence, f memory.Fact) statement {
	s := statement{saidBy(e.Time, f), e.Session, e.Seq}
	if e.Time.IsZero() {
		s.time = saidBy(f.ValidFrom, f)
	}
	return s
}

// saidBy is a time of a fact, but not after the fact was last written. What a client dated in the future was once kept so, and
// would hold against whatever is said until then. A proposal, which was never written, has the times of its messages.
func saidBy(claimed time.Time, f memory.Fact) time.Time { return memory.SaidBy(claimed, f.UpdateTime) }

// learntBy is a time from or to which a fact holds: of one that was learnt not after it was last written, as with saidBy. A
// person may know what will hold.
func learntBy(claimed time.Time, f memory.Fact) time.Time {
	if f.Origin != memory.FactExtracted {
		return claimed
	}
	return saidBy(claimed, f)
}

func (s statement) compare(o statement) int {
	return cmp.Or(s.time.Compare(o.time), strings.Compare(string(s.session), string(o.session)), cmp.Compare(s.seq, o.seq))
}

// steady has no statement of a session count as said before an earlier one of the same session: there the order of the
// messages decides, whatever clocks say.
func steady[T any](all []T, of func(*T) *statement) {
	if len(all) < 2 {
		return
	}
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(of(&a).seq, of(&b).seq) })
	latest := map[memory.SessionKey]time.Time{}
	for i := range all {
		s := of(&all[i])
		if s.session == "" {
			continue
		}
		if before := latest[s.session]; before.After(s.time) {
			s.time = before
		}
		latest[s.session] = s.time
	}
}

// inOrderSaid is the facts by when they were last said. Of two said in one message the one with the higher id counts as
// later: any order will do, as long as it is always the same.
func inOrderSaid(facts []memory.Fact) []memory.Fact {
	type saying struct {
		statement
		fact memory.Fact
	}
	all := make([]saying, len(facts))
	for i, f := range facts {
		all[i] = saying{saidAt(f), f}
	}
	steady(all, func(s *saying) *statement { return &s.statement })
	slices.SortFunc(all, func(a, b saying) int {
		return cmp.Or(a.compare(b.statement), strings.Compare(a.fact.ID, b.fact.ID))
	})
	out := make([]memory.Fact, len(all))
	for i := range all {
		out[i] = all[i].fact
	}
	return out
}

// later reports whether a was said after b.
func later(a, b memory.Fact) bool {
	return a.ID != b.ID && inOrderSaid([]memory.Fact{a, b})[1].ID == a.ID
}

// endOf is when the older fact ceased to hold: when the newer began to, but not before it began itself.
func endOf(older, newer memory.Fact) time.Time {
	ends, began := learntBy(newer.ValidFrom, newer), learntBy(older.ValidFrom, older)
	if ends.After(began) {
		return ends
	}
	return began
}

// hasEvidence reports whether all of some is there: one for each message.
func hasEvidence(have, some []memory.Evidence) bool {
	return !slices.ContainsFunc(some, func(e memory.Evidence) bool {
		return !slices.ContainsFunc(have, func(h memory.Evidence) bool { return h.Place() == e.Place() })
	})
}

// mergeEvidence is a fact's evidence with what is not there yet. Beyond maxEvidence it keeps the first and the latest.
func mergeEvidence(f memory.Fact, more []memory.Evidence) []memory.Evidence {
	if hasEvidence(f.Evidence, more) {
		return f.Evidence
	}
	type piece struct {
		statement
		evidence memory.Evidence
	}
	var all []piece
	for _, e := range f.Evidence {
		all = append(all, piece{stated(e, f), e})
	}
	for _, e := range more {
		if !hasEvidence(f.Evidence, []memory.Evidence{e}) {
			all = append(all, piece{statement{e.Time, e.Session, e.Seq}, e})
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return a.compare(b.statement) })
	if n := len(all); n > maxEvidence {
		all = slices.Delete(all, 1, n-maxEvidence+1)
	}
	out := make([]memory.Evidence, len(all))
	for i := range all {
		out[i] = all[i].evidence
	}
	return out
}

// asOp is a verified proposal as the operation it was, to be looked at by a person.
func asOp(p Proposal) Op {
	op := Op{
		Op: "add", Text: p.Fact.Text, Significance: p.Fact.Significance, Confidence: p.Fact.Confidence,
		Subject: p.Fact.Subject, Attribute: p.Fact.Attribute, Tags: p.Fact.Tags, Supersedes: p.Supersedes,
	}
	switch {
	case p.Retracts:
		op.Op = "retract"
	case p.Supersedes != "":
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
