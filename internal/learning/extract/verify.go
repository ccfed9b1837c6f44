package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/factclassifier"
	"github.com/stratamem/strata/internal/memory"
)

// Limits of the short fields of a fact, in bytes, and of their number.
const (
	maxSubjectBytes   = 100
	maxAttributeBytes = 64
	maxTagBytes       = 64
	maxTags           = 8
)

// Defaults of what an operation may leave out.
const (
	defaultSignificance = 5
	defaultConfidence   = 0.5
)

// earliest is the earliest date that a fact may hold from.
const earliest = 1900

// minSharedScript is the share of a line's letters that a fact's script must have: below it, the line is in another
// language. A Korean line with an English name may become a fact in Korean, and the other way round.
const minSharedScript = 0.2

// Verify checks the operations one by one: a bad one is refused for the first reason that applies, and the others
// stand. Relative dates that a model left in a text are resolved by when the line was said.
func Verify(t Task, ops []Op) ([]Proposal, []Rejection) {
	v := newVerifier(t)
	var proposals []Proposal
	var rejections []Rejection
	for i, op := range ops {
		p, reason := v.verify(i, op)
		switch {
		case reason != "":
			rejections = append(rejections, Rejection{Index: i, Reason: reason, Op: op})
		case op.Op != "none":
			proposals = append(proposals, p)
		}
	}
	return proposals, rejections
}

// verifier is a task by alias.
type verifier struct {
	task   Task
	lines  map[string]*source
	known  map[string]memory.Fact
	stated vocabulary // of all lines and known facts
}

// source is a line with what is compared of it: a line may be long, and have many operations.
type source struct {
	Line
	quotable
	scripts [scriptOther + 1]int
	letters int
}

func newSource(l Line) *source {
	s := &source{Line: l, quotable: newQuotable(l.Text)}
	s.scripts, _ = scripts(l.Text)
	for _, n := range s.scripts {
		s.letters += n
	}
	return s
}

func newVerifier(t Task) *verifier {
	v := &verifier{task: t, lines: map[string]*source{}, known: map[string]memory.Fact{}, stated: vocabulary{}}
	for _, l := range t.Lines {
		v.lines[l.Alias] = newSource(l)
		v.stated.add(l.Text)
		v.stated.add(l.Name)
		v.stated.addDates(l.Time)
	}
	for _, k := range t.Known {
		v.known[k.Alias] = k.Fact
		v.stated.add(k.Fact.Text)
		v.stated.add(k.Fact.Subject)
	}
	return v
}

// verify checks one operation. The reason is "" when it may stand.
func (v *verifier) verify(i int, op Op) (Proposal, RejectReason) {
	switch {
	case i >= MaxOps:
		return Proposal{}, RejectTooMany
	case op.Op == "none":
		return Proposal{}, ""
	case op.Op == "retract":
		return v.retract(i, op)
	case op.Op != "add" && op.Op != "supersede":
		return Proposal{}, RejectMalformed
	}
	line, ok := v.lines[op.Message]
	if !ok || !line.Learn {
		return Proposal{}, RejectMessage
	}
	reason := cmp.Or(checkLength(op), checkRange(op), checkQuote(op, line))
	if reason != "" {
		return Proposal{}, reason
	}
	p := Proposal{Index: i, Fact: v.fact(op, line.Line), Said: line.place(op.Quote), Recorded: line.Recorded}
	p.Rated = p.Fact.Significance
	p.Fact.Significance = v.task.coreLimit(p.Fact)
	var supersedes memory.Fact
	if op.Supersedes != "" || op.Op == "supersede" {
		supersedes, ok = v.known[op.Supersedes]
		if !ok {
			return Proposal{}, RejectAlias
		}
		p.Supersedes = supersedes.ID
	}
	judged := factclassifier.Statement(op.Text)
	return p, cmp.Or(
		v.checkSubject(op, line, supersedes), checkInstruction(op, judged), checkTemporary(op), checkSmallTalk(judged), v.checkScript(op, line),
		v.checkSupport(op), v.checkReplacement(p.Fact, supersedes), checkPassing(op, judged),
	)
}

func checkLength(op Op) RejectReason {
	text, quote := strings.TrimSpace(op.Text), strings.TrimSpace(op.Quote)
	tooLong := len(text) > MaxFactBytes || len(quote) > MaxQuoteBytes ||
		len(op.Subject) > maxSubjectBytes || len(attributeName(op.Attribute)) > maxAttributeBytes
	if tooLong || len(words(text)) == 0 || quote == "" {
		return RejectLength
	}
	return ""
}

func checkRange(op Op) RejectReason {
	if _, ok := categories[op.Category]; !ok {
		return RejectRange
	}
	if op.Significance < 0 || op.Significance > 10 || !(op.Confidence >= 0 && op.Confidence <= 1) {
		return RejectRange
	}
	return checkDate(op)
}

func checkDate(op Op) RejectReason {
	if op.ValidFrom == "" {
		return ""
	}
	day, err := time.Parse(time.DateOnly, op.ValidFrom)
	if err != nil || day.Year() < earliest {
		return RejectRange
	}
	return ""
}

func checkQuote(op Op, l *source) RejectReason {
	if !l.has(op.Quote) {
		return RejectQuote
	}
	return ""
}

// fact is the fact of an operation.
func (v *verifier) fact(op Op, l Line) memory.Fact {
	said := l.Time.UTC()
	stated := absolute(strings.TrimSpace(op.Text), l.Time)
	f := memory.Fact{
		Text:         stated,
		Category:     categories[op.Category],
		Significance: cmp.Or(op.Significance, defaultSignificance),
		Confidence:   math.Min(1, cmp.Or(op.Confidence, defaultConfidence)),
		Subject:      v.subject(op.Subject, l),
		Attribute:    property(op.Attribute),
		ValidFrom:    said,
		Language:     v.language(stated),
		Evidence: []memory.Evidence{{
			Session: l.Place.Session, SessionID: l.SessionID, Seq: l.Place.Seq, MessageID: l.ID,
			Quote: strings.TrimSpace(op.Quote), Time: said,
		}},
	}
	f.Tags = tags(op, f)
	// A date to come does not move the beginning: the fact is known from when it was said.
	if day, err := time.ParseInLocation(time.DateOnly, op.ValidFrom, v.task.Location); err == nil && day.Before(l.Time) {
		f.ValidFrom = day.UTC()
	}
	return f
}

// tags are the operation's, and that the fact is a wish or about the project where it is: no model's tag makes a wish,
// for wishes stand in every context.
func tags(op Op, f memory.Fact) []string {
	var out []string
	switch {
	case f.Subject == "" && promptinjection.IsWish(f.Text):
		out = append(out, memory.TagWish)
	case op.Kind == KindProject, promptinjection.IsProject(f.Text) && promptinjection.IsSpoken(f.Text):
		out = append(out, memory.TagProject)
	}
	for _, tag := range op.Tags {
		tag = strings.TrimSpace(tag)
		reserved := strings.EqualFold(tag, memory.TagWish) || strings.EqualFold(tag, memory.TagProject)
		if tag != "" && !reserved && len(tag) <= maxTagBytes && !slices.Contains(out, tag) && len(out) < maxTags {
			out = append(out, tag)
		}
	}
	return out
}

// manyValued are names that models give to properties of which people have several values at a time, and the categories,
// which some models repeat. Taken for an attribute, the second hobby would end the first.
var manyValued = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`preference personal_info goal pain_point decision other fact info note plan
		hobby interest like dislike skill language allergy pet child kid sibling friend food tool project topic activity experience`) {
		m[name], m[name+"s"] = true, true
	}
	for _, name := range strings.Fields("hobbies allergies children activities") {
		m[name] = true
	}
	return m
}()

// property is the attribute as facts are compared by it; "" for none, and for one of many values.
func property(attribute string) string {
	name := attributeName(attribute)
	if manyValued[name] {
		return ""
	}
	return name
}

// attributeName is the name in lower snake case: favorite_color for "Favorite color".
func attributeName(s string) string {
	return strings.Join(strings.FieldsFunc(fold(s), func(r rune) bool { return !languagedata.InWord(r) }), "_")
}

// language is what the script shows, else the language that was asked for or the user's, where that is written in
// Latin letters.
func (v *verifier) language(s string) string {
	if hasHangul(s) {
		return "ko"
	}
	switch _, most := scripts(s); most {
	case scriptHan:
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }) {
			return "ja"
		}
		return "zh"
	case scriptLatin:
		tag := cmp.Or(v.task.Write, v.task.Language)
		if base, _, _ := strings.Cut(tag, "-"); !slices.Contains([]string{"ko", "ja", "zh"}, base) {
			return tag
		}
	}
	return ""
}

// selfNames are what a model may call the one who speaks.
var selfNames = sync.OnceValue(func() languagedata.Set { return languagedata.SetOf(languagedata.AllLines(languagedata.SelfNames)) })

// subject is whom the fact is about, by the name that lines use: "" for the user.
func (v *verifier) subject(s string, l Line) string {
	speaker := v.task.SpeakerOf(l)
	key := subjectKey(s)
	if key == "" || selfNames().Has(key) || key == subjectKey(speaker) || key == subjectKey(l.Name) {
		return speaker
	}
	for _, other := range v.task.Lines {
		if other.Name != "" && key == subjectKey(other.Name) {
			return other.Name
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

// checkSubject: a fact is about who speaks or about somebody named in the line, and takes the place only of a fact about
// the same one.
func (v *verifier) checkSubject(op Op, l *source, supersedes memory.Fact) RejectReason {
	subject := v.subject(op.Subject, l.Line)
	if subject != v.task.SpeakerOf(l.Line) && !l.has(subject) && !l.names(subject) {
		return RejectSubject
	}
	if supersedes.ID != "" && subjectKey(supersedes.Subject) != subjectKey(subject) {
		return RejectSubject
	}
	return ""
}

// names reports whether all words of a subject stand in the line, in any order: "Minji's brother" in "Minji has a
// brother".
func (s *source) names(subject string) bool {
	have := vocabulary{}
	for _, w := range s.words {
		for _, form := range forms(w) {
			have[form] = true
		}
	}
	return !slices.ContainsFunc(words(subject), func(w string) bool { return !have.has(w) })
}

// checkInstruction: a fact must not order its reader about, nor give it a permission.
func checkInstruction(op Op, judged factclassifier.Judgement) RejectReason {
	if judged.Directive != promptinjection.None || op.Subject != "" && promptinjection.DirectiveOf(op.Subject+": "+op.Text) != promptinjection.None {
		return RejectInstruction
	}
	return checkQuoted(op.Quote)
}

// checkQuoted: what is quoted may be a whole message: only what takes over a reader's instructions is no source of any
// fact.
func checkQuoted(quote string) RejectReason {
	for _, sentence := range text.Sentences(quote) {
		if promptinjection.DirectiveOf(sentence) == promptinjection.Override {
			return RejectInstruction
		}
	}
	return ""
}

func checkSmallTalk(judged factclassifier.Judgement) RejectReason {
	if judged.SmallTalk {
		return RejectSmallTalk
	}
	return ""
}

// ownPassing is the logit from which on what a model writes in words of its own is taken for a statement of the moment:
// whoever makes a fact of what somebody said has judged that it lasts, and so has who makes a wish for every answer of it. What else is
// copied word for word is from 0 on.
const ownPassing = 3

// checkPassing: a statement that only reads like one of the moment is refused last, so that a plainer reason is given.
func checkPassing(op Op, judged factclassifier.Judgement) RejectReason {
	line := 0.0
	if squeeze(op.Text) != squeeze(op.Quote) || op.Kind == KindWish && promptinjection.IsWish(op.Text) {
		line = ownPassing
	}
	if judged.Passing > line {
		return RejectSmallTalk
	}
	return ""
}

// passing matches texts that are about a state of the moment and nothing else.
var passing = anyOf(languagedata.Passing)

func checkTemporary(op Op) RejectReason {
	if passing.MatchString(op.Text) {
		return RejectTemporary
	}
	return ""
}

func (v *verifier) checkScript(op Op, l *source) RejectReason {
	if v.task.Write != "" {
		return "" // another one may be asked for
	}
	_, most := scripts(op.Text)
	if most != scriptNone && float64(l.scripts[most]) < minSharedScript*float64(l.letters) {
		return RejectLanguage
	}
	return ""
}

// checkSupport: a name or number of the text must stand in a line or in a known fact. Where the text may be in another
// language than the line, only numbers must: Lisbon is Lissabon in German, which begins every noun with a capital.
func (v *verifier) checkSupport(op Op) RejectReason {
	stated := claims
	if v.task.Write != "" {
		stated = numbers
	}
	for _, claim := range stated(op.Text) {
		if !v.stated.has(claim) {
			return RejectUnsupported
		}
	}
	return ""
}
