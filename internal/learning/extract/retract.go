package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// retract checks an operation that takes a fact back. The quote must be the user's own words, and say of the fact that it
// does not hold. Of a known fact the alias says which; without one the text names what does not hold, and the attribute its
// property, or the attribute alone where the words end whatever holds of it.
func (v *verifier) retract(i int, op Op) (Proposal, RejectReason) {
	line, ok := v.lines[op.Message]
	if !ok || !line.Learn || line.Role != memory.RoleUser {
		return Proposal{}, RejectMessage
	}
	ended, reason := v.ended(op, line)
	reason = cmp.Or(reason, checkDate(op))
	if reason != "" {
		return Proposal{}, reason
	}
	p := Proposal{Index: i, Retracts: true, Supersedes: ended.ID, Said: line.place(op.Quote)}
	p.Fact = v.fact(op, line.Line)
	p.Fact.Text, p.Fact.Category, p.Fact.Attribute, p.Fact.Subject = ended.Text, ended.Category, ended.Attribute, ended.Subject
	reason = cmp.Or(v.checkWhose(ended, line), checkQuoted(op.Quote))
	if reason == "" && !v.takesBack(ended, line, p.Said) {
		reason = checkEnding(line.around(p.Said), ended)
	}
	return p, reason
}

// takesBack reports whether a line begins with words such as "scratch that", which name nothing, and the fact was learnt from what the
// speaker said in the line before.
func (v *verifier) takesBack(f memory.Fact, l *source, said Said) bool {
	sentences := l.around(said)
	if len(f.Evidence) == 0 || said.Sentence != 0 || len(sentences) == 0 {
		return false
	}
	if _, ok := TakesBack(sentences[0]); !ok {
		return false
	}
	speaker := v.task.SpeakerOf(l.Line)
	var before memory.Place
	for _, other := range v.task.Lines {
		if other.Alias == l.Alias {
			break
		}
		if other.Role == l.Role && v.task.SpeakerOf(other) == speaker {
			before = other.Place
		}
	}
	return f.Evidence[len(f.Evidence)-1].Place() == before
}

// ended is the fact that an operation takes back, as far as the operation names it.
func (v *verifier) ended(op Op, line *source) (memory.Fact, RejectReason) {
	quote, text := strings.TrimSpace(op.Quote), strings.TrimSpace(op.Text)
	unnamed := op.Supersedes == "" && len(words(text)) == 0 && property(op.Attribute) == ""
	if quote == "" || len(quote) > MaxQuoteBytes || len(text) > MaxFactBytes || len(op.Subject) > maxSubjectBytes ||
		len(attributeName(op.Attribute)) > maxAttributeBytes || unnamed {
		return memory.Fact{}, RejectLength
	}
	if !line.has(op.Quote) {
		return memory.Fact{}, RejectQuote
	}
	if op.Supersedes == "" {
		return memory.Fact{
			Text: text, Category: categories[op.Category], Subject: v.subject(op.Subject, line.Line), Attribute: property(op.Attribute),
		}, ""
	}
	known, ok := v.known[op.Supersedes]
	switch {
	case !ok || known.Text == "": // or gone meanwhile
		return memory.Fact{}, RejectAlias
	case known.Protected || known.Pinned:
		return memory.Fact{}, RejectProtected
	}
	return known, ""
}

// checkWhose: who takes a fact back is whom it is about, or names that one.
func (v *verifier) checkWhose(f memory.Fact, l *source) RejectReason {
	speaker := v.task.SpeakerOf(l.Line)
	if subjectKey(f.Subject) == subjectKey(speaker) || f.Subject != "" && (l.has(f.Subject) || l.names(f.Subject)) {
		return ""
	}
	return RejectSubject
}

// around is the sentences of the line that a quote touches.
func (s *source) around(said Said) []string {
	var out []string
	from := 0
	for _, sentence := range text.Sentences(s.Text) {
		to := from + utf8.RuneCountInString(squeeze(sentence))
		if from < said.To && said.From < to {
			out = append(out, sentence)
		}
		from = to
	}
	return out
}

// takeBack ends what a retraction is about, each fact alone: one that was said again later holds, and of what a person wrote
// or pinned nothing is ended.
func (l *pendingFacts) takeBack(p Proposal) {
	var ending []memory.Fact
	done, kept := 0, 0
	for _, f := range l.denied(p) {
		last, retracted := f.Ending()
		switch {
		case retracted && !f.IsCurrent() && last.Place() == placeOf(p):
			done++
		case !f.IsCurrent() || !later(p.Fact, f):
		case f.Protected || f.Pinned:
			kept++
		default:
			ending = append(ending, f)
		}
	}
	switch {
	case kept > 0 && len(ending) == 0:
		l.reject(p, RejectProtected)
	case !l.endings.allow(p, done+len(ending)):
		l.reject(p, RejectEndings)
	default:
		l.endings.note(p, done+len(ending))
		for _, f := range ending {
			l.end(f, p)
		}
	}
}

// end makes a fact past by the words of a retraction.
func (l *pendingFacts) end(f memory.Fact, p Proposal) {
	words := p.Fact.Evidence[0]
	words.Ends = true
	f.ValidTo, f.SupersededBy = endOf(f, p.Fact), ""
	f.Evidence = append(slices.Clone(f.Evidence), words)
	if n := len(f.Evidence); n > maxEvidence {
		f.Evidence = slices.Delete(f.Evidence, 1, n-maxEvidence+1)
	}
	l.change(f, memory.CauseRetracted)
}

// denied is the facts that a retraction is about, past ones too, by id: the one it names, or those that say what it denies, or
// the like of the same property.
func (l *pendingFacts) denied(p Proposal) []memory.Fact {
	if p.Supersedes != "" {
		if f, ok := l.fact(p.Supersedes); ok {
			return []memory.Fact{f}
		}
		return nil
	}
	said := newTraits(p.Fact)
	match := func(o *traits) bool { return o.denies(said) }
	var out []memory.Fact
	for _, t := range l.now(l.Facts.denied(said), match) {
		if match(t) {
			out = append(out, t.fact)
		}
	}
	return slices.CompactFunc(out, func(a, b memory.Fact) bool { return a.ID == b.ID })
}

// denies reports whether the fact is one that a retraction takes back.
func (t *traits) denies(said *traits) bool {
	if t.subject != said.subject {
		return false
	}
	if said.key == "" { // all that holds of the property
		return t.sameProperty(said)
	}
	if says(t.fact.Text, said.fact.Text) {
		return true
	}
	of := substance(said.fact.Text)
	return t.sameProperty(said) && len(of) > 0 && within(of, substance(t.fact.Text))
}

// says reports whether a fact says what a text says, and perhaps more of it after.
func says(fact, s string) bool {
	if hasClingingScript(s) {
		return strings.HasPrefix(bare(fact), bare(s))
	}
	have, want := words(fact), words(s)
	return len(have) >= len(want) && slices.Equal(have[:len(want)], want)
}
