// Package builtin holds a summariser and an extractor that work without a model: by rules, on this machine, for nothing.
package builtin

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Rules is the model name of facts that Extractor found.
const Rules = "builtin:rules"

// Extractor finds facts without a model: by patterns of what people say about themselves in English and Korean, and of
// what they ask to be kept in English, Korean, Japanese, Chinese and Spanish: wishes for every answer to come, rules of
// their project, and what shall be remembered. It would rather miss a fact than make one up: it reads statements in the first person only, and no questions,
// hypotheses, quotations, jokes, requests of the moment or its states.
type Extractor struct{}

// Extract answers in the form that a model answers. The error is always nil.
func (Extractor) Extract(_ context.Context, t extract.Task) (llm.Answer, error) {
	answer := struct {
		Operations []extract.Op `json:"operations"`
	}{Operations: []extract.Op{}}
	for _, l := range t.Lines {
		if !l.Learn || l.Role != memory.RoleUser {
			continue
		}
		for _, f := range findings(l.Text) {
			if len(answer.Operations) < extract.MaxOps {
				answer.Operations = append(answer.Operations, f.op(t, l))
			}
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return llm.Answer{}, err
	}
	return llm.Answer{Text: string(body), Finish: llm.FinishStop, Model: Rules}, nil
}

// finding is a fact in a line.
type finding struct {
	rule      *factRule
	text      string
	attribute string
	quote     string
	kind      string // as in extract.Op
}

// ruleConfidence is what every finding has: rules do not know degrees.
const ruleConfidence = 0.9

func (f finding) op(t extract.Task, l extract.Line) extract.Op {
	return extract.Op{
		Op: "add", Kind: f.kind, Text: f.text, Category: f.rule.category, Significance: f.rule.significance, Confidence: ruleConfidence,
		Subject: t.SpeakerOf(l), Attribute: f.attribute, Tags: []string{}, Message: l.Alias, Quote: f.quote,
	}
}

// factRule finds one kind of fact in a clause. Pattern's first group is the object; text and attribute may name groups
// as $1, in text as the speaker's words in the third person, in attribute as a name.
type factRule struct {
	category     string
	significance int
	pattern      *regexp.Regexp
	text         string
	attribute    string
	// accepts decides whether the object is one that a lasting fact can have.
	accepts func(object string) bool
}

// grammar is how a language's statements are found.
type grammar struct {
	// sentence is one with its end. Unlike those of text.Sentences it ends before small letters too, for chats are often
	// typed without capitals, and in Korean at a tilde.
	sentence *regexp.Regexp
	blocked  *regexp.Regexp // sentences that state nothing about the speaker
	clauses  *regexp.Regexp // where a sentence is cut
	opener   *regexp.Regexp // what may stand before a statement
	rules    []factRule
	dated    *regexp.Regexp             // the end of an opener that says when, in its group; nil where objects hold that
	event    *regexp.Regexp             // facts of what happened, which are told with when that was
	trim     func(object string) string // the object without what follows it
	person   func(object string) string // the object in the third person
	name     func(object string) string // the object as part of an attribute's name
}

// What is read of one line. Beyond it somebody pasted a document, which does not tell about who pasted it.
const (
	maxSentences     = 200
	maxSentenceBytes = 600
)

// findings are the facts of a text, at most one for a clause.
func findings(text string) []finding {
	g := grammarOf(text)
	var out []finding
	for _, sentence := range g.sentence.FindAllString(strings.ReplaceAll(text, "’", "'"), maxSentences) {
		if len(sentence) > maxSentenceBytes {
			continue
		}
		found := g.stated(sentence)
		if f, ok := asked(sentence); ok && (len(found) == 0 || f.rule == rememberedRule) {
			found = append(found, f)
		}
		out = append(out, found...)
	}
	return out
}

func grammarOf(text string) *grammar {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) {
		return &korean
	}
	return &english
}

// stated are the facts that a sentence states about who speaks.
func (g *grammar) stated(sentence string) []finding {
	if g.blocked.MatchString(sentence) {
		return nil
	}
	var out []finding
	for _, clause := range split(sentence, g.clauses) {
		if f, ok := g.find(clause); ok {
			out = append(out, f)
		}
	}
	return out
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

// find is the fact of the first rule that fits the clause.
func (g *grammar) find(clause string) (finding, bool) {
	clause = strings.TrimSpace(clause)
	opener := g.opener.FindString(clause)
	said := strings.TrimRight(clause[len(opener):], " .!~;…♡^")
	for i := range g.rules {
		rule := &g.rules[i]
		m := rule.pattern.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		objects, ok := g.objects(rule, m[1:])
		if !ok {
			continue
		}
		return finding{rule: rule, text: g.when(opener, g.fact(rule.text, objects)), attribute: g.attribute(rule, objects), quote: said}, true
	}
	return finding{}, false
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
	"with": true, "to": true, "on": true, "against": true, "at": true, "for": true, "signed up for": true, "enrolled in": true, "applied for": true,
	"applied to": true, "registered for": true,
}

// objects are the groups of a match without what trails them, and whether the rule accepts them: the first that is not
// a connector, and of a preference between two things both.
func (g *grammar) objects(rule *factRule, groups []string) ([]string, bool) {
	out := make([]string, len(groups))
	main := 0
	for i, group := range groups {
		out[i] = g.trim(group)
		if i == main && connectors[strings.ToLower(out[i])] {
			main++
		}
	}
	if rule.accepts == nil {
		return out, true
	}
	return out, main < len(out) && rule.accepts(out[main]) && (rule.attribute != either || rule.accepts(out[1]))
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
var tidy = strings.NewReplacer(" .", ".", "Has a kids", "Has kids", "Has a children", "Has children", "Has a aunt", "Has an aunt", "Has a uncle", "Has an uncle", "Has a online", "Has an online", "Does volunteer", "Volunteers", "Does teach", "Teaches", "Does coach", "Coaches", "Does mentor", "Mentors")

// capital begins the text with a capital.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// attribute is the property's name. "either" names the objects in an order that does not depend on which is preferred.
func (g *grammar) attribute(rule *factRule, objects []string) string {
	if rule.attribute == either {
		a, b := g.name(objects[0]), g.name(objects[1])
		return "prefers_" + min(a, b) + "_or_" + max(a, b)
	}
	name := strings.Trim(fill(rule.attribute, objects, g.name), "_")
	if len(name) > maxAttribute {
		return ""
	}
	return name
}

// either is the attribute of a preference between two things.
const either = "either"

// maxAttribute is the longest attribute: what package extract takes.
const maxAttribute = 64
