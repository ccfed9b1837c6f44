package builtin

import (
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
)

// asking is how people of a language say what shall be kept: "remember that …", a wish that holds from now on, and what
// the project at hand is made of or how it is worked on.
type asking struct {
	called   *regexp.Regexp                // its first group is what the speaker wants to be called; nil where a rule reads that
	calledAs string                        // that as a fact, with the name as $1
	remember *regexp.Regexp                // its first group that matched is what shall be remembered
	keep     func(statement string) string // the statement as it is kept
	polite   *regexp.Regexp                // what a wish is kept without
	lasting  *regexp.Regexp                // marks a wish for every answer to come
	once     *regexp.Regexp                // marks a request for this answer alone; nil where nothing does
	project  *regexp.Regexp                // statements about the project
	rule     *regexp.Regexp                // what a rule of the project has; see promptinjection.IsProject

	question  *regexp.Regexp // politely asks for something; nil where no question is read so
	request   string         // what it asks for, by its groups
	fromNowOn *regexp.Regexp // marks a question that asks for more than one answer
}

// The significance of what is asked for.
const (
	calledSignificance     = 8
	rememberedSignificance = 8
	wishSignificance       = 8
	projectSignificance    = 6
)

// maxAskedBytes is the longest sentence that is kept word for word.
const maxAskedBytes = 300

// asked is what a sentence asks to be kept. Whether it may be kept, package extract decides as for any other fact.
func asked(sentence string) (finding, bool) {
	sentence = strings.TrimSpace(sentence)
	request := requestOf(sentence)
	if len(sentence) > maxAskedBytes || strings.ContainsAny(request, "?？") {
		return finding{}, false
	}
	for _, a := range askingOf(request) {
		if f, ok := a.find(request); ok {
			if request != sentence {
				f.quote = strings.TrimRight(sentence, " ?？")
			}
			return f, true
		}
	}
	return finding{}, false
}

// calledWithin is what a clause beside others says that the speaker wants to be called: "my name is Xiaoyu Lin, call me Xiaoyu".
func (t *retelling) calledWithin(sentence string) []finding {
	clauses := split(sentence, t.clauses)
	if len(clauses) < 2 || len(sentence) > maxAskedBytes || strings.ContainsAny(sentence, "?？") {
		return nil
	}
	for _, clause := range clauses {
		for _, a := range askingOf(sentence) {
			bare := t.bare(clause)
			if name, ok := a.wantsToBeCalled(bare); ok {
				return []finding{a.wishesToBeCalled(name, bare)}
			}
		}
	}
	return nil
}

// requestOf is what a question politely asks for from now on, such as "could you answer briefly from now on?"; any other sentence as it
// is.
func requestOf(sentence string) string {
	for _, a := range [...]*asking{&englishAsking, &koreanAsking, &japaneseAsking, &chineseAsking, &germanAsking} {
		if a.question.MatchString(sentence) && a.fromNowOn.MatchString(sentence) {
			return a.question.ReplaceAllString(sentence, a.request)
		}
	}
	return sentence
}

// mixedWords is how many words in Latin letters make a sentence one of two languages.
const mixedWords = 4

var latinWord = regexp.MustCompile(`[A-Za-z]{2,}`)

// askingOf are the languages that a sentence may be in.
func askingOf(sentence string) []*asking {
	han := false
	for _, r := range sentence {
		switch {
		case unicode.Is(unicode.Hangul, r):
			if len(latinWord.FindAllString(sentence, mixedWords)) == mixedWords { // who mixes may ask in either
				return []*asking{&koreanAsking, &englishAsking}
			}
			return []*asking{&koreanAsking}
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return []*asking{&japaneseAsking}
		case unicode.Is(unicode.Han, r):
			han = true
		}
	}
	if han {
		return []*asking{&chineseAsking}
	}
	if text.IsGerman(sentence) {
		return []*asking{&germanAsking}
	}
	return []*asking{&englishAsking, &spanishAsking}
}

func (a *asking) find(sentence string) (finding, bool) {
	bare := strings.TrimRight(sentence, " .!。！~…")
	if name, ok := a.wantsToBeCalled(bare); ok {
		return a.wishesToBeCalled(name, bare), true
	}
	if what, ok := firstGroup(a.remember, bare); ok {
		return a.remembered(what)
	}
	wish := strings.TrimSpace(a.polite.ReplaceAllString(bare, ""))
	switch {
	case a.rule.MatchString(wish) && promptinjection.IsProject(wish):
		return finding{op: opAdd, rule: projectRule, text: a.sentence(wish), quote: bare, kind: extract.KindProject}, true
	case a.project.MatchString(wish):
		return finding{
			op:        opAdd,
			rule:      projectRule,
			text:      a.sentence(wish),
			attribute: toolAttribute([]string{wish}),
			quote:     bare,
			kind:      extract.KindProject,
		}, true
	case a.wishes(wish, bare):
		return finding{op: opAdd, rule: wishRule, text: a.sentence(wish), attribute: aspect(wish), quote: bare, kind: extract.KindWish}, true
	}
	return finding{}, false
}

// wishes reports whether a sentence says how every answer to come shall be; polite words may be what makes it a wish.
func (a *asking) wishes(wish, bare string) bool {
	return a.lasting.MatchString(wish) && (a.once == nil || !a.once.MatchString(wish)) &&
		(promptinjection.IsWish(wish) || wish != bare && promptinjection.IsWish(bare))
}

func (a *asking) wishesToBeCalled(name, quote string) finding {
	text := strings.ReplaceAll(a.calledAs, "$1", name)
	return finding{op: opAdd, rule: calledRule, text: text, attribute: "preferred_name", quote: quote}
}

// wantsToBeCalled is the name that a sentence asks to be called by.
func (a *asking) wantsToBeCalled(sentence string) (string, bool) {
	if a.called == nil {
		return "", false
	}
	return firstGroup(a.called, sentence)
}

// remembered is what somebody wants remembered: as a fact where a rule reads it, else in the speaker's words.
func (a *asking) remembered(what string) (finding, bool) {
	what = strings.TrimSpace(what)
	if g := grammarOf(what); !g.blocked.MatchString(what) {
		if found := g.find(what); len(found) > 0 && 2*len(strings.Fields(found[0].text)) >= len(strings.Fields(what)) {
			return found[0], true // a rule that reads less, such as that there is a sister, leaves out what was asked for
		}
	}
	if f, ok := a.find(what); ok {
		return f, true
	}
	if !unicode.Is(unicode.Han, []rune(what + " ")[0]) && len(strings.Fields(what)) < 2 {
		return finding{}, false
	}
	return finding{op: opAdd, rule: rememberedRule, text: a.sentence(a.keep(what)), quote: what}, true
}

// What is asked for has no pattern of its own; its category and significance are those of a rule.
var (
	calledRule     = &factRule{category: "personal_info", significance: calledSignificance}
	rememberedRule = &factRule{category: "other", significance: rememberedSignificance}
	wishRule       = &factRule{category: "preference", significance: wishSignificance}
	projectRule    = &factRule{category: "decision", significance: projectSignificance}
)

func firstGroup(p *regexp.Regexp, s string) (string, bool) {
	for i, m := range p.FindStringSubmatch(s) {
		if i > 0 && m != "" {
			return m, true
		}
	}
	return "", false
}

// sentence is a statement with a capital and its end.
func (a *asking) sentence(s string) string {
	switch a {
	case &japaneseAsking, &chineseAsking:
		return s + "。"
	}
	return capital(s) + "."
}

// aspects are what a wish may be about of which one holds at a time: whoever wants answers in French does not want them
// in German any more.
var aspects = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"answer_language", wordMarks("answer-language")},
	{"answer_emojis", marks{"answer-emojis"}.pattern(`(?i)%s`)},
	{"answer_length", wordMarks("answer-length")},
	{"answer_politeness", wordMarks("answer-politeness")},
}

func aspect(wish string) string {
	for _, a := range aspects {
		if a.pattern.MatchString(wish) {
			return a.name
		}
	}
	return ""
}

// How people ask for something to be kept.
var (
	enAsked = list{languagedata.English, languagedata.Asked}
	esAsked = list{languagedata.Spanish, languagedata.Asked}
	koAsked = list{languagedata.Korean, languagedata.Asked}
	jaAsked = list{languagedata.Japanese, languagedata.Asked}
	zhAsked = list{languagedata.Chinese, languagedata.Asked}
	deAsked = list{languagedata.German, languagedata.Asked}
)

var englishAsking = asking{
	remember: enAsked.pattern("remember"),
	keep:     keepEnglish,
	polite:   enAsked.pattern("polite"),
	lasting:  enAsked.pattern("lasting"),
	once:     enAsked.pattern("once"),
	project:  enAsked.pattern("project"),
	rule:     enAsked.pattern("rule"),

	question:  enAsked.pattern("polite-question"),
	request:   "$1",
	fromNowOn: enAsked.pattern("from-now-on"),
}

// enStarts is how a statement in the first person begins, by how it does in the third.
var enStarts = enAsked.named("starts")

// enThird are verbs of the first person whose form in the third is not the same.
var enThird = enAsked.pattern("third")

func keepEnglish(s string) string {
	for _, start := range enStarts() {
		if start.pattern.MatchString(s) {
			s = start.pattern.ReplaceAllString(s, strings.TrimLeft(start.name+" ", " "))
			s = enThird.ReplaceAllStringFunc(s, func(verb string) string {
				verb = strings.TrimSpace(verb)
				if strings.HasSuffix(verb, "o") || strings.HasSuffix(verb, "ch") {
					return verb + "es "
				}
				return verb + "s "
			})
			break
		}
	}
	return thirdPerson(s)
}

func asSaid(s string) string { return s }

var spanishAsking = asking{
	called:   esAsked.pattern("called"),
	calledAs: "Quiere que le llamen $1.",
	remember: esAsked.pattern("remember"),
	keep:     asSaid,
	polite:   esAsked.pattern("polite"),
	lasting:  esAsked.pattern("lasting"),
	once:     esAsked.pattern("once"),
	project:  esAsked.pattern("project"),
	rule:     esAsked.pattern("rule"),
}

var koreanAsking = asking{
	called:   koAsked.pattern("called"),
	calledAs: "이름은 $1.",
	remember: koAsked.pattern("remember"),
	keep:     keepKorean,
	polite:   koAsked.pattern("polite"),
	lasting:  koAsked.pattern("lasting"),
	once:     koAsked.pattern("once"),
	project:  koAsked.pattern("project"),
	rule:     koAsked.pattern("rule"),

	question:  koAsked.pattern("polite-question"),
	request:   "${1}해 주세요",
	fromNowOn: koAsked.pattern("from-now-on"),
}

// koSpeaker is the speaker as a statement begins.
var koSpeaker = koAsked.pattern("speaker")

// koEnded is a statement that has its ending.
var koEnded = koAsked.pattern("ended")

// keepKorean is the statement without its speaker, with the ending that "…다는 것을" cuts off.
func keepKorean(s string) string {
	s = koSpeaker.ReplaceAllString(s, "")
	last, _ := lastRune(s)
	if unicode.Is(unicode.Hangul, last) && !koEnded.MatchString(s) {
		s += "다"
	}
	return s
}

func lastRune(s string) (last rune, ok bool) {
	for _, r := range s {
		last, ok = r, true
	}
	return last, ok
}

var japaneseAsking = asking{
	called:   jaAsked.pattern("called"),
	calledAs: "$1と呼ばれたい。",
	remember: jaAsked.pattern("remember"),
	keep:     func(s string) string { return jaSpeaker.ReplaceAllString(s, "") },
	polite:   jaAsked.pattern("polite"),
	lasting:  jaAsked.pattern("lasting"),
	once:     jaAsked.pattern("once"),
	project:  jaAsked.pattern("project"),
	rule:     jaAsked.pattern("rule"),

	question:  jaAsked.pattern("polite-question"),
	request:   "${1}てください",
	fromNowOn: jaAsked.pattern("from-now-on"),
}

// jaSpeaker is the speaker as a statement begins.
var jaSpeaker = jaAsked.pattern("speaker")

var chineseAsking = asking{
	called:   zhAsked.pattern("called"),
	calledAs: "希望被叫做$1。",
	remember: zhAsked.pattern("remember"),
	keep:     func(s string) string { return zhSpeaker.ReplaceAllString(s, "") },
	polite:   zhAsked.pattern("polite"),
	lasting:  zhAsked.pattern("lasting"),
	once:     zhAsked.pattern("once"),
	project:  zhAsked.pattern("project"),
	rule:     zhAsked.pattern("rule"),

	question:  zhAsked.pattern("polite-question"),
	request:   "$1$2",
	fromNowOn: zhAsked.pattern("from-now-on"),
}

// zhSpeaker is the speaker as a statement begins.
var zhSpeaker = zhAsked.pattern("speaker")

var germanAsking = asking{
	called:   deAsked.pattern("called"),
	calledAs: "Möchte $1 genannt werden.",
	remember: deAsked.pattern("remember"),
	keep:     asSaid,
	polite:   deAsked.pattern("polite"),
	lasting:  deAsked.pattern("lasting"),
	once:     deAsked.pattern("once"),
	project:  deAsked.pattern("project"),
	rule:     deAsked.pattern("rule"),

	question:  deAsked.pattern("polite-question"),
	request:   "$2 $1",
	fromNowOn: deAsked.pattern("from-now-on"),
}
