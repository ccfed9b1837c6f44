package builtin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/factclassifier"
)

// How much less factclassifier.Keeping must say for a clause that chooses a tool, and how much more for one of nobody in
// particular, and for one whose object a rule refuses.
const ease, distance, doubt = 1.2, 2.2, 1.2

// Limits of a clause that is kept: shorter ones mean nothing on their own, longer ones are no clause.
const (
	minKeptWords = 3
	minKeptRunes = 4 // of scripts that do not set words apart
	maxKeptBytes = 300
)

// retelling is how a language's clauses are found and written in the third person.
type retelling struct {
	clauses *regexp.Regexp                     // where a sentence is cut
	opener  *regexp.Regexp                     // what may stand before a clause and says nothing of it
	person  func(clause string) (string, bool) // the clause in the third person; false where the grammar does not know how
	called  func(clause string) (string, bool) // the same of one that gives the speaker's name; nil where person does
	quoted  func(clause string) string         // the clause as a quotation
	// attributes name the property that a clause gives a value of which there is one at a time.
	attributes func() []named
	stop       string // what ends a sentence
	// worth is the logit of factclassifier.Keeping from which on a clause is kept. Chosen on LoCoMo 26, 30 and 41 for English, on dialogues
	// of the author's own for the others, for precision before recall.
	worth    float64
	personal *regexp.Regexp // whoever speaks, or somebody or something of theirs
	topic    *regexp.Regexp // a thing that has one value at a time, in its group, with its value
	speaks   *regexp.Regexp // a word of whoever speaks, or of somebody of theirs; nil where none need stand
	others   *regexp.Regexp // a clause about somebody else; nil where attributes show it
	plans    *regexp.Regexp // a day to come and what is then, or where one goes
	empty    *regexp.Regexp // what says nothing to whoever did not hear it
	// rulesOnly keeps nothing but what rules read; topic, plans, personal, empty and worth are not set then.
	rulesOnly bool
	names     bool // its verbs name their subject, so that a clause may be a word shorter
	// shares reports whether a clause has the subject of the one before it, which is somebody else than the speaker; nil where sentences
	// are cut only before a subject.
	shares func(before, clause string) bool
	// nobodys reports whether a clause does not say whom it is about; nil where a clause without a subject is about the speaker.
	nobodys func(clause string) bool
}

// kept are the clauses of a sentence that are worth keeping, as facts: those that read like it, and those that put another
// value in place of what is known. Those that rules have read are left to them.
func (g *grammar) kept(sentence string, t *retelling, read []finding, replaces func(finding) bool) []finding {
	if t.rulesOnly || len(sentence) > maxSentenceBytes || unreal.MatchString(sentence) {
		return nil
	}
	var out []finding
	for _, clause := range t.cut(sentence) {
		clause = t.bare(clause)
		if t.nobodys != nil && t.nobodys(clause) && !t.plans.MatchString(clause) {
			continue
		}
		if g.former != nil && g.former.MatchString(clause) || onceWas.MatchString(clause) {
			once := t.find(clause)
			once.rule = personGrade
			out = append(out, once)
			continue
		}
		if len(read) > 0 && extract.Denies(clause) || covered(clause, read) {
			continue
		}
		if t.lasts(clause, g.refuses(clause)) || t.states(clause) && replaces(t.find(clause)) {
			out = append(out, t.find(clause))
		}
	}
	return out
}

// cut is a sentence in its clauses. One that shares the subject of the clause before it stays with that: in "my son has asthma and eats no
// bread" it is not the speaker who eats none.
func (t *retelling) cut(sentence string) []string {
	clauses := split(sentence, t.clauses)
	if t.shares == nil {
		return clauses
	}
	out := clauses[:1]
	for _, clause := range clauses[1:] {
		if last := &out[len(out)-1]; t.shares(t.bare(*last), t.bare(clause)) {
			*last += clause
			continue
		}
		out = append(out, clause)
	}
	return out
}

// refuses reports whether a rule reads the clause but does not take its object for one of a lasting fact.
func (g *grammar) refuses(clause string) bool {
	return slices.ContainsFunc(g.rules(), func(r factRule) bool { return r.accepts != nil && r.pattern.MatchString(clause) })
}

// unreal marks sentences of which no part is stated: questions, suppositions, quotations, jests, and what happens in a story.
var unreal = marks{"unreal"}.pattern(`(?i)[?？¿"“”«»「」『』]|(?:^|\s)/s(?:\W|$)|😂|🤣|🙃|😜|;\)|%s`)

// bare is a clause without what stands before and after it.
func (t *retelling) bare(clause string) string {
	clause = strings.TrimLeft(strings.TrimSpace(clause), " ,;:–—-")
	clause = strings.TrimLeft(clause[len(t.opener.FindString(clause)):], " ,;:–—-")
	return strings.TrimRight(clause, " .,;:!~…。，、！；♡^-–—)")
}

// covered reports whether a rule has found in the clause what it states.
func covered(clause string, read []finding) bool {
	for _, f := range read {
		if f.op == opRetract {
			continue
		}
		if strings.Contains(f.quote, clause) || strings.Contains(clause, strings.TrimRight(f.quote, " .!~")) {
			return true
		}
	}
	return false
}

// lasts judges whether a clause is worth keeping. One that gives a property of the person its value is; one that chooses a tool
// needs less to be so; one of nobody in particular, or whose object a rule does not take for a lasting one, more.
func (t *retelling) lasts(clause string, refused bool) bool {
	if len(clause) > maxKeptBytes || !extract.Asserts(clause) || !t.standsAlone(clause) {
		return false
	}
	line, attribute := t.worth, t.attribute(clause)
	valued := attribute != "" && kindOfTool(attribute) == ""
	switch {
	case t.tooShort(clause) && !valued:
		return false
	case refused:
		line += doubt
	case valued:
		return true // what gives a property of the person its value lasts until another value does
	case t.plans.MatchString(clause) && !extract.Denies(clause):
		return true // who names the day means it
	case attribute != "":
		line -= ease
	case !t.personal.MatchString(clause):
		line += distance
	}
	return factclassifier.Keeping(clause) >= line
}

// states reports whether a clause may be a statement: of a clause's length, and neither asked nor supposed.
func (t *retelling) states(clause string) bool {
	return len(clause) <= maxKeptBytes && !t.tooShort(clause) && extract.Asserts(clause)
}

// standsAlone reports whether the clause can be understood without the sentences around it.
func (t *retelling) standsAlone(clause string) bool {
	if lately.MatchString(clause) {
		clause = strings.TrimPrefix(clause, "这")
	}
	return !timeAlone.MatchString(clause) && (!vague.MatchString(clause) || text.HasSpanishPerfect(clause)) && !moment.MatchString(clause) && !t.empty.MatchString(clause) &&
		(t.speaks == nil || t.speaks.MatchString(clause))
}

func (t *retelling) tooShort(clause string) bool {
	if strings.ContainsFunc(clause, text.Clings) {
		return utf8.RuneCountInString(clause) < minKeptRunes
	}
	if t.names {
		return len(strings.Fields(clause)) < minKeptWords-1
	}
	return len(strings.Fields(clause)) < minKeptWords
}

// onceWas is what somebody once did for a living, where the grammar of a language has no former.
var onceWas = marks{"once-was"}.pattern(`%s`)

// moment is what holds today or is done tomorrow.
var moment = wordMarks("moment")

// timeAlone is a clause that names a time and says nothing of it, as an answer to "since when?" does.
var timeAlone = marks{"time-words", "time-units", "time-particles"}.pattern(`^(?:(?:[0-9]+|[一二三四五六七八九十]+|%s)(?:%s)?(?:%s)?[\s,~:.-]*)+$`)

// lately begins a clause about what changed this week or month.
var lately = marks{"lately"}.pattern(`%s`)

// vague begin clauses about what was said or shown elsewhere, and what is said to somebody.
var vague = marks{"vague"}.pattern(`(?i)^(?:%s)`)

// find is the fact that a clause states.
func (t *retelling) find(clause string) finding {
	attribute := t.attribute(clause)
	person := t.person
	if attribute == "name" && t.called != nil {
		person = t.called
	}
	written, ok := person(clause)
	if ok {
		written = capital(written) + t.stop
	} else {
		written = t.quoted(clause)
	}
	rule := gradeOf(clause)
	switch {
	case attribute == "name" || attribute == "preferred_name":
		rule = nameGrade
	case rule == plainGrade && !t.rulesOnly && t.plans.MatchString(clause):
		rule = planGrade
	}
	return finding{op: opAdd, rule: rule, text: written, attribute: attribute, quote: clause}
}

// attribute is the property that a clause gives the value of; "" for none, or for one of many.
func (t *retelling) attribute(clause string) string {
	if unsettled.MatchString(clause) || extract.Adds(clause) || t.others != nil && t.others.MatchString(clause) {
		return ""
	}
	for _, p := range t.attributes() {
		if p.pattern.MatchString(clause) && (p.name != homeCity || toolIn(clause) == "") { // who moves to Postgres lives where they did
			return p.name
		}
	}
	if t.rulesOnly {
		return ""
	}
	if m := t.topic.FindStringSubmatch(clause); m != nil {
		return englishName(m[1])
	}
	return toolIn(clause)
}

// toolIn is the property that a clause gives a tool for its value; "" for none.
func toolIn(clause string) string {
	if !uses.MatchString(clause) {
		return ""
	}
	return toolAttribute([]string{strings.Join(toolNames(instead.ReplaceAllString(clause, " ")), " ")})
}

// homeCity is the property of where somebody lives.
const homeCity = "home_city"

// retellingOf is how clauses of a sentence are written.
func retellingOf(sentence string) *retelling {
	han := false
	for _, r := range sentence {
		switch {
		case unicode.Is(unicode.Hangul, r):
			return &koreanRetelling
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return &japaneseRetelling
		case unicode.Is(unicode.Han, r):
			han = true
		}
	}
	switch {
	case han:
		return &chineseRetelling
	case isSpanish(sentence):
		return &spanishRetelling
	case text.IsGerman(sentence):
		return &germanRetelling
	}
	return &englishRetelling
}

// Marks of what a clause is about, in all languages.
var (
	// unsettled is what does not hold, or not yet.
	unsettled = wordMarks("unsettled")
	uses      = wordMarks("uses")
	// instead is what a choice took the place of.
	instead = marks{"instead", "instead-of"}.pattern(`(?i)%s|\b(?:%s) \S+`)
)

// latinName is a name in Latin letters, as tools have in every language.
var latinName = regexp.MustCompile(`[A-Za-z][A-Za-z0-9.+#-]*|\p{Hangul}+`)

// grades are what a clause is, by the first mark that it has.
var grades = []struct {
	marks *regexp.Regexp
	rule  *factRule
}{
	{wordMarks("decision"), &factRule{category: "decision", significance: 6}},
	{wordMarks("goal"), &factRule{category: "goal", significance: 6}},
	{wordMarks("pain"), &factRule{category: "pain_point", significance: 5}},
	{wordMarks("preference"), &factRule{category: "preference", significance: 5}},
	{wordMarks("person"), &factRule{category: "personal_info", significance: 6}},
}

var (
	planGrade   = &factRule{category: "goal", significance: 6}
	nameGrade   = &factRule{category: "personal_info", significance: 9}
	vitalGrade  = &factRule{category: "personal_info", significance: 8}
	personGrade = grades[len(grades)-1].rule
	plainGrade  = &factRule{category: "other", significance: 5}
)

// gradeOf is the category and significance of a clause.
func gradeOf(clause string) *factRule {
	if promptinjection.IsEssential(clause) {
		return vitalGrade
	}
	for _, g := range grades {
		if g.marks.MatchString(clause) {
			return g.rule
		}
	}
	if promptinjection.IsVital(clause) {
		return personGrade
	}
	return plainGrade
}
