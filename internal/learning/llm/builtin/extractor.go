// Package builtin holds a summariser and an extractor that work without a model: by rules, on this machine, for nothing.
package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Rules is the model name of facts that Extractor found.
const Rules = "builtin:rules"

// Extractor finds facts without a model: by patterns of what people say about themselves in English, German and Korean, and of
// what they ask to be kept in these, Japanese, Chinese and Spanish: wishes for every answer to come, rules of their project, and what shall be
// remembered. It would rather miss a fact than make one up: it reads statements in the first person only, and no questions, hypotheses,
// quotations, jokes, requests of the moment or its states.
type Extractor struct{}

// Extract returns in the form that a model answers. The error is always nil.
func (Extractor) Extract(_ context.Context, t extract.Task) (llm.Answer, error) {
	r := reading{task: t, ops: []extract.Op{}}
	for _, l := range t.Earlier {
		if l.Role == memory.RoleUser {
			r.hear(l)
		}
	}
	for _, l := range t.Lines {
		if l.Role == memory.RoleUser {
			r.read(l)
		}
	}
	body, err := json.Marshal(map[string][]extract.Op{"operations": r.ops})
	if err != nil {
		return llm.Answer{}, err
	}
	return llm.Answer{Text: string(body), Finish: llm.FinishStop, Model: Rules}, nil
}

// finding is a fact in a line, or one that it takes back.
type finding struct {
	op        string // opAdd or opRetract
	rule      *factRule
	text      string // "" to take back whatever holds of the attribute
	attribute string
	quote     string
	kind      string   // as in extract.Op
	said      string   // the clause as the rule read it
	from, to  int      // where its object stands there
	known     string   // the alias of the known fact that it takes back or the place of; "" for any that says the text
	mends     *finding // what it corrects, where that has another property or none; nil for nothing
}

const (
	opAdd     = "add"
	opRetract = "retract"
)

// adds reports whether the finding is a fact, not one that is taken back.
func (f finding) adds() bool { return f.op == opAdd }

// retracts reports whether the finding takes a fact back.
func (f finding) retracts() bool { return f.op == opRetract }

// corrects reports whether the finding puts right what was said before.
func (f finding) corrects() bool { return f.mends != nil }

// object is what the finding is about, as it was said.
func (f finding) object() string { return f.said[f.from:f.to] }

// ruleConfidence is what every finding has: rules do not know degrees.
const ruleConfidence = 0.9

func (f finding) operation(t extract.Task, l extract.Line) extract.Op {
	return extract.Op{
		Op: f.op, Kind: f.kind, Text: f.text, Category: f.rule.category, Significance: f.rule.significance, Confidence: ruleConfidence,
		Subject: t.SpeakerOf(l), Attribute: f.attribute, Tags: []string{}, Message: l.Alias, Quote: f.quote, Supersedes: f.known,
	}
}

// grammar is how a language's statements are found.
type grammar struct {
	// sentence is one with its end. Unlike those of text.Sentences it ends before small letters too, for chats are often
	// typed without capitals, and in Korean at a tilde.
	sentence *regexp.Regexp
	blocked  *regexp.Regexp // sentences that state nothing about the speaker
	clauses  *regexp.Regexp // where a sentence is cut
	opener   *regexp.Regexp // what may stand before a statement
	// order is a statement in the order of words that the rules read; nil where they read it as it was said.
	order   func(said string) string
	rules   func() []factRule
	besides func() []factRule // what a clause states beside what a rule found in it
	implied func() []factRule // what a sentence implies of which nothing else is kept
	// inversions and enders are how something is taken back: see inversion. An ender ends whatever holds of a property.
	inversions  func() []inversion
	enders      func() []named
	corrections func() []named                            // of what was said last: what is right in the group "right", what was wrong in "wrong"
	takenBack   *regexp.Regexp                            // a correction that can be nothing else; nil where none is known
	values      func() []named                            // kinds of values of which a correction may put one in place of another
	past        *regexp.Regexp                            // words that say of a statement that it held once; nil for none
	former      *regexp.Regexp                            // what somebody did for a living once; nil where clauses say it
	tags        *regexp.Regexp                            // what may stand after a statement; nil for none
	join        func(before, object, after string) string // a statement with another object in it
	dated       *regexp.Regexp                            // the end of an opener that says when, in its group; nil where objects hold that
	event       *regexp.Regexp                            // facts of what happened, whose text has when that was
	trim        func(object string) string                // the object without what follows it
	person      func(object string) string                // the object in the third person
	name        func(object string) string                // the object as part of an attribute's name
}

// What is read of one line. Beyond it somebody pasted a document, which says nothing about who pasted it.
const (
	maxSentences     = 200
	maxSentenceBytes = 600
)

// grammarOf is the grammar by which a text is read.
func grammarOf(s string) *grammar {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) {
		return &korean
	}
	if text.IsGerman(s) {
		return &german
	}
	return &english
}

// split cuts s before each match of where.
func split(s string, where *regexp.Regexp) []string {
	var out []string
	last := 0
	for _, m := range where.FindAllStringIndex(s, -1) {
		out = append(out, s[last:m[0]])
		last = m[0]
	}
	return append(out, s[last:])
}

// find is what the clause states: the fact of the first rule that fits, and those that the rule's other readings give.
func (g *grammar) find(clause string) []finding {
	opener, said := g.opened(clause)
	f, ok := g.match(opener, said)
	if plain := g.strip(strings.TrimSpace(clause)); !ok && plain != said {
		f, ok = g.match(opener, plain)
	}
	if !ok {
		return nil
	}
	out := []finding{f}
	for i := range g.besides() {
		if more, ok := g.apply(&g.besides()[i], opener, f.said); ok && (more.attribute != f.attribute || more.attribute == "" && more.text != f.text) {
			out = append(out, more)
		}
	}
	return out
}

// opened is a clause in what may stand before its statement, and what is said.
func (g *grammar) opened(clause string) (opener, said string) {
	clause = strings.TrimSpace(clause)
	opener = g.opener.FindString(clause)
	return opener, strings.TrimRight(clause[len(opener):], " .!~;…♡^")
}

// ordered is what is said in the order of words that the rules read.
func (g *grammar) ordered(said string) string {
	if g.order == nil {
		return said
	}
	return g.order(said)
}

// match is the fact of the first rule that fits what is said.
func (g *grammar) match(opener, said string) (finding, bool) {
	ordered := g.ordered(said)
	for i := range g.rules() {
		if f, ok := g.applyTo(&g.rules()[i], opener, ordered, said); ok {
			return f, true
		}
	}
	return finding{}, false
}

// apply is the fact that a rule finds.
func (g *grammar) apply(rule *factRule, opener, said string) (finding, bool) {
	return g.applyTo(rule, opener, g.ordered(said), said)
}

// applyTo is the fact that a rule finds in what is said in the order of words that rules read; quote is the same as it was said.
func (g *grammar) applyTo(rule *factRule, opener, said, quote string) (finding, bool) {
	m := rule.pattern.FindStringSubmatchIndex(said)
	if m == nil {
		return finding{}, false
	}
	var groups []string
	for i := 2; i < len(m); i += 2 {
		group := ""
		if m[i] >= 0 {
			group = said[m[i]:m[i+1]]
		}
		groups = append(groups, group)
	}
	objects, main, ok := g.objects(rule, groups)
	if !ok {
		return finding{}, false
	}
	if rule.value > 0 {
		main = rule.value - 1
	}
	f := finding{
		op: opAdd, rule: rule, text: g.when(opener, g.fact(rule.text, objects)), attribute: g.attribute(rule, objects), quote: quote, said: said,
	}
	if extract.MarksChange(opener) {
		f.quote = strings.TrimSpace(opener + quote)
	}
	if 2*main+3 < len(m) && m[2*main+2] >= 0 {
		f.from, f.to = m[2*main+2], m[2*main+3]
	}
	return f, true
}

// when is the fact with when it happened, as the words before the statement say.
func (g *grammar) when(opener, fact string) string {
	if g.dated == nil || !g.event.MatchString(fact) {
		return fact
	}
	if m := g.dated.FindStringSubmatch(opener); m != nil {
		return strings.TrimSpace(m[1]) + " " + fact
	}
	return fact
}

// connectors are groups that only carry the speaker's preposition into the text.
var connectors = map[string]bool{
	"with":           true,
	"to":             true,
	"on":             true,
	"against":        true,
	"at":             true,
	"for":            true,
	"signed up for":  true,
	"enrolled in":    true,
	"applied for":    true,
	"applied to":     true,
	"registered for": true,
}

// objects are the groups of a match without what trails them, which of them is the main one, the first that is not a
// connector, and whether the rule accepts that, and of a preference between two things both.
func (g *grammar) objects(rule *factRule, groups []string) (out []string, main int, ok bool) {
	out = make([]string, len(groups))
	for i, group := range groups {
		out[i] = g.trim(group)
		if i == main && connectors[strings.ToLower(out[i])] {
			main++
		}
	}
	if rule.accepts == nil {
		return out, main, true
	}
	if rule.value > 0 {
		return out, main, rule.accepts(out[rule.value-1])
	}
	return out, main, main < len(out) && rule.accepts(out[main]) && (rule.attribute != either || rule.accepts(out[1]))
}

// fill puts the objects where a template names them.
func fill(template string, objects []string, as func(string) string) string {
	for i, o := range objects {
		template = strings.ReplaceAll(template, "$"+string(rune('1'+i)), as(o))
	}
	return template
}

// fact is a filled template as a sentence.
func (g *grammar) fact(template string, objects []string) string {
	return capital(strings.Join(strings.Fields(tidy.Replace(fill(template, objects, g.person))), " "))
}

// tidy mends what a group that matched nothing leaves.
var tidy = strings.NewReplacer(
	" .",
	".",
	"Has a kids",
	"Has kids",
	"Has a children",
	"Has children",
	"Has a aunt",
	"Has an aunt",
	"Has a uncle",
	"Has an uncle",
	"Has a online",
	"Has an online",
	"Does volunteer",
	"Volunteers",
	"Does teach",
	"Teaches",
	"Does coach",
	"Coaches",
	"Does mentor",
	"Mentors",
)

// capital begins the text with a capital.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// attribute is the property's name. "either" names the objects in an order that does not depend on which is preferred.
func (g *grammar) attribute(rule *factRule, objects []string) string {
	switch rule.attribute {
	case counted:
		return countedName(objects[0])
	case chosen:
		return toolAttribute(objects)
	case either:
		a, b := g.name(objects[0]), g.name(objects[1])
		return "prefers_" + min(a, b) + "_or_" + max(a, b)
	}
	name := strings.Trim(fill(rule.attribute, objects, g.name), "_")
	if len(name) > maxAttribute {
		return ""
	}
	return name
}

// Attributes that depend on the objects: of a preference between two things, of how many of something there are, and of a
// choice among tools of one kind.
const (
	either  = "either"
	counted = "counted"
	chosen  = "chosen"
)

// maxAttribute is the longest attribute: what package extract takes.
const maxAttribute = 64
