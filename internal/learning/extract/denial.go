package extract

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/memory"
)

// checkEnding: a fact is taken back only by a statement that says so of this fact. The sentences are all of the line that
// the quote touches, since a quote may leave out who is meant, or that it is a question. One clause must both deny or end
// something and name what the fact is about; it must not be about somebody whom the fact does not name.
func checkEnding(sentences []string, f memory.Fact) RejectReason {
	reason := RejectNoEnding
	for _, sentence := range sentences {
		if saysOver(sentence, f) {
			return ""
		}
		sentence = strings.ReplaceAll(sentence, "’", "'")
		if unasserted.MatchString(sentence) {
			continue
		}
		for _, clause := range clauseEnd.Split(sentence, -1) {
			if !endsSomething(clause, f) || partial.MatchString(clause) && !isOver(clause, f) || goesOn.MatchString(clause) || !concerns(clause, f) {
				continue
			}
			if meansOthers(clause, f) || ofSpeakerOnly(clause, f) {
				reason = RejectSubject
				continue
			}
			return ""
		}
	}
	return reason
}

// unasserted matches sentences that state nothing: questions, suppositions, wishes, what others say, and what is quoted.
var unasserted = regexp.MustCompileFrom(func() string {
	return `(?i)[?？¿]|["“”«»「」『』]|(?:^|\s)/s(?:\W|$)|😂|🤣|🙃|😜|;\)|` + languagedata.AnyOf(languagedata.Unasserted)
})

// anyOf is an expression that matches what any line of a list does, in any language.
func anyOf(list languagedata.List) *regexp.Regexp {
	return regexp.MustCompileFrom(func() string { return `(?i)` + languagedata.AnyOf(list) })
}

// clauseEnd is where a clause ends.
var clauseEnd = regexp.MustCompileFrom(func() string {
	return `(?i)[,;:、，；：]|\s[-–—]+\s|` + languagedata.AnyOf(languagedata.ClauseEnds)
})

// denying matches what denies something, or says that it is over.
var denying = anyOf(languagedata.Denying)

// partial matches what denies some of a thing, or for a while: it does not end the whole.
var partial = anyOf(languagedata.Partial)

// endsSomething reports whether a clause denies something or says that it is over. What is only dropped, left or lost may be a
// thing in a place, and who retires ends a job: these are read by the name of the thing, and of jobs.
func endsSomething(clause string, f memory.Fact) bool {
	return denying.MatchString(put.ReplaceAllString(clause, "")) || isOver(clause, f)
}

// put matches what is done with a thing as well as with an activity.
var put = regexp.MustCompile(`(?i)\b(?:(?:i|we)(?:'ve| have)? )?(?:dropped|left|leaving|lost|finished) (?:my|our|the|an?) \p{L}+|\b(?:retired|laid off)\b|(?:^|[^\p{L}])(?:se )?jubil\p{L}+|은퇴|引退|退休`)

// goesOn matches what denies that something ended.
var goesOn = regexp.MustCompile(
	`(?i)(?:n't|\bnever)(?: \p{L}+ly)? (?:quit|stop|stopped|give up|given up|drop|dropped|sell|sold|leave|left|cancel\w*)\b|\bnot (?:quitting|stopping|giving up|dropping|selling|leaving|cancell?ing)\b` +
		`|(?:^|[^\p{L}])no (?:he|hemos|lo|la|lo he|la he|voy a|pienso) ?(?:dej\p{L}+|vend\p{L}+|abandon\p{L}+)|(?:그만두|끊|팔|포기하|접)지 않|(?:안|못) (?:그만|끊|팔|접)` +
		`|(?:やめ|辞め|売っ|諦め)て(?:い)?(?:ない|ません)|没有?(?:停|辞|卖|放弃|退)|不会?(?:停|辞|卖|放弃)(?:的|$)`,
)

// ofSpeakerOnly reports whether a clause speaks of nobody but its speaker, and the fact is about somebody of theirs: who quits
// hockey does not end that a son plays it.
func ofSpeakerOnly(clause string, f memory.Fact) bool {
	if !firstPerson.MatchString(clause) || isOver(clause, f) || len(others.FindString(clause)) > 0 {
		return false
	}
	i := others.FindStringIndex(f.Text)
	return i != nil && len(strings.Fields(f.Text[:i[0]])) <= 1 && strings.TrimSpace(f.Text[i[0]:]) != "" && !sharesName(clause, f.Text)
}

// firstPerson begins a clause about its speaker.
var firstPerson = regexp.MustCompile(`(?i)^[\s]*(?:i|we|i'm|i've|yo|dej[ée]|he dejado|나는?|난|저는?|私は?|僕は?|俺は?|我)(?:[^\p{L}]|$)|^(?:我|私は|僕は)`)

// sharesName reports whether a clause names somebody whom a text names.
func sharesName(clause, s string) bool {
	return slices.ContainsFunc(strings.Fields(s), func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return unicode.IsUpper(r) && len(others.FindString(w)) == 0 && slices.Contains(words(clause), strings.Join(words(w), ""))
	})
}

// others are people of whom somebody speaks.
var others = anyOf(languagedata.Others)

// spouses are those who part when somebody is not married any more.
var spouses = sync.OnceValue(func() string { return strings.Join(languagedata.AllWords(languagedata.Spouses), " ") })

// meansOthers reports whether a clause speaks of somebody whom the fact does not name, and who does not part in it.
func meansOthers(clause string, f memory.Fact) bool {
	about := fold(f.Subject + " " + f.Text)
	if property := overBy(clause, f); property != nil && property.ofTwo {
		about += " " + spouses()
	}
	return slices.ContainsFunc(others.FindAllString(clause, -1), func(who string) bool {
		who = strings.TrimSuffix(strings.TrimFunc(fold(who), func(r rune) bool { return !unicode.IsLetter(r) }), "'s")
		return !strings.Contains(about, who)
	})
}

// overProperty is a property that words end which share none with the fact: who divorces is not married.
type overProperty struct {
	fact, said *regexp.Regexp
	ofTwo      bool // whether it ends for both, whoever of them is named
}

var over = []overProperty{
	{fact: anyOf(languagedata.OverMarried), said: anyOf(languagedata.EndsMarried), ofTwo: true},
	{fact: anyOf(languagedata.OverTogether), said: anyOf(languagedata.EndsTogether), ofTwo: true},
	{fact: anyOf(languagedata.OverEmployed), said: anyOf(languagedata.EndsEmployed)},
}

// isOver reports whether a clause says that what the fact is about is over, in words of its own.
func isOver(clause string, f memory.Fact) bool { return overBy(clause, f) != nil }

// overBy is the property of a fact that a clause says is over; nil for none.
func overBy(clause string, f memory.Fact) *overProperty {
	for i, o := range over {
		if o.said.MatchString(clause) && (o.fact.MatchString(f.Text) || o.fact.MatchString(f.Attribute)) {
			return &over[i]
		}
	}
	return nil
}

// concerns reports whether a clause is about what a fact says: it has all that sets the fact apart from others, or says nothing
// that the fact does not, so that "not allergic to milk" is not about nuts.
func concerns(clause string, f memory.Fact) bool {
	if isOver(clause, f) {
		return true
	}
	if hasClingingScript(f.Text) && !hasHangul(f.Text) {
		return holdsRuns(clause, f.Text)
	}
	of, in := substance(f.Text), substance(clause)
	if len(of) == 0 || len(in) == 0 {
		return false
	}
	if hasHangul(clause) && within(of, in) && !within(in, of) && !koLesson[in[len(in)-1]] && !koVerb.MatchString(in[len(in)-1]) {
		return within(in[len(in)-1:], of) // what follows the name makes it another one
	}
	switch {
	case hasHangul(f.Text):
		return within(of, in) || within(in, of)
	case within(of, in) && (within(in, of) || hasAnyHead(clause, of)):
		return true
	}
	return within(in, of) && isAnyHead(in, f.Text)
}

// hasAnyHead reports whether one of the words is what a clause is about: neither part of another name ("harp concert") nor what
// only speaks of another thing ("the dent on the Tacoma").
func hasAnyHead(clause string, ws []string) bool {
	have := words(clause)
	for i, w := range have {
		if !slices.ContainsFunc(ws, func(o string) bool { return sameRoot(w, o) }) || tellsOfAnother(have[:i]) {
			continue
		}
		end := i + 1
		for end < len(have) && (general().Has(have[end]) || slices.ContainsFunc(ws, func(o string) bool { return sameRoot(have[end], o) })) {
			end++
		}
		if end == len(have) || plain().Has(have[end]) || mayFollow[have[end]] || after().Has(have[end]) || isEnding(have[end:]) {
			return true
		}
	}
	return false
}

// tellsOfAnother reports whether the words before a name make it say which one another thing is: "the dent on the".
func tellsOfAnother(before []string) bool {
	i := len(before) - 1
	for i >= 0 && articles[before[i]] {
		i--
	}
	return i >= 2 && tying[before[i]] && !standing[before[i-1]] && articles[before[i-2]]
}

// isEnding reports whether words begin with what ends the thing before them, and not another one after.
func isEnding(ws []string) bool {
	at := denying.FindStringIndex(strings.Join(ws, " "))
	return at != nil && at[0] == 0 && (len(ws) == 1 || !articles[ws[1]])
}

var (
	articles = wordSet(`the a an my our his her their this that el la los las un una mi mis nuestro nuestra su sus`)
	tying    = wordSet(`of on in from at for about de del`)
	standing = wordSet(`job membership subscription place spot post seat role lessons lesson classes class course account contract trabajo puesto clases clase curso cuenta suscripción`)
)

// koLesson are Korean words that may follow the name of what somebody does.
var koLesson = wordSet(`학원 수업 레슨 강의 모임 반 알바 일 공부 운동 클럽 동호회`)

// koVerb is a Korean verb that another one follows.
var koVerb = regexp.MustCompile(`(?:지|는|던|기|거|것|걸|고)$`)

// isAnyHead reports whether a text has one of the words as what it is about, and not as part of another name.
func isAnyHead(ws []string, s string) bool {
	have := words(s)
	return slices.ContainsFunc(ws, func(w string) bool {
		i := slices.IndexFunc(have, func(o string) bool { return sameRoot(w, o) })
		return i >= 0 && isHead(have[i], s)
	})
}

// plain are words that say nothing about which fact is meant: of the person, of having and doing, and of ending.
var plain = sync.OnceValue(func() languagedata.Set {
	return languagedata.SetOf(words(strings.Join(languagedata.AllWords(languagedata.Plain), " ")))
})

// substance is the words of a text that say what it is about. The last word of a Korean text is what is said of it.
func substance(s string) []string {
	ws := words(s)
	if hasHangul(s) && len(ws) > 1 {
		ws = ws[:len(ws)-1]
	}
	var out []string
	for _, w := range ws {
		if w = stem(w); !plain().Has(w) {
			out = append(out, w)
		}
	}
	return out
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool {
		return !slices.ContainsFunc(all, func(o string) bool { return sameRoot(w, o) })
	})
}

// sameRoot reports whether two words differ in their ending at most.
func sameRoot(a, b string) bool {
	if a == b {
		return true
	}
	common := 0
	for common < len(a) && common < len(b) && a[common] == b[common] {
		common++
	}
	for common > 0 && common < len(a) && !utf8.RuneStart(a[common]) {
		common--
	}
	if hasHangul(a) {
		const syllable = 3 // bytes
		return common >= 2*syllable
	}
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	switch {
	case common == shorter:
		return common >= 3 && longer <= shorter+3
	case common >= 5:
		return common >= shorter-3
	}
	return common == 4 && common >= shorter-1 && longer <= common+3
}

// hanPlain are words of Japanese and Chinese that say nothing about which fact is meant.
var hanPlain = regexp.MustCompileFrom(func() string { return languagedata.Han.Pattern(languagedata.PlainRuns) })

// holdsRuns reports whether a clause has nearly all characters in a row of each telling run of a text in a script without
// spaces.
func holdsRuns(clause, s string) bool {
	isRun := func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' || unicode.Is(unicode.Latin, r) || unicode.IsDigit(r)
	}
	clause = squeeze(clause)
	runs := strings.FieldsFunc(hanPlain.ReplaceAllString(fold(s), " "), func(r rune) bool { return !isRun(r) })
	for _, run := range runs {
		if isPartOfAnother(run, clause) {
			return false
		}
		letters := []rune(run)
		held, pairs := 0, max(1, len(letters)-1)
		for i := range pairs {
			if strings.Contains(clause, string(letters[i:min(i+2, len(letters))])) {
				held++
			}
		}
		const most = 0.75
		if float64(held) < most*float64(pairs) {
			return false
		}
	}
	return len(runs) > 0
}

// isPartOfAnother reports whether a name stands in a clause only as part of a longer one, or as where another thing is.
func isPartOfAnother(name, clause string) bool {
	for rest := clause; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return rest != clause
		}
		rest = rest[i+len(name):]
		next, _ := utf8.DecodeRuneInString(rest)
		kana := unicode.Is(unicode.Katakana, next) || next == 'ー'
		if next != '的' && !(kana && unicode.Is(unicode.Katakana, firstRune(name))) {
			return false
		}
	}
}

// Ends reports whether a sentence says of the user that what the text of a fact says does not hold: what a retraction of it
// must quote. Of the fact its words count, with what was said.
func Ends(sentence string, f memory.Fact) bool { return checkEnding([]string{sentence}, f) == "" }

// Asserts reports whether a sentence states something, as far as its words say: it neither asks nor supposes, wishes, jests,
// quotes, or reports what others say.
func Asserts(sentence string) bool {
	words := addresses.ReplaceAllString(strings.ReplaceAll(sentence, "’", "'"), "@")
	return !unasserted.MatchString(koRoots.ReplaceAllString(words, "$1난다"))
}

// addresses are no words: who has ada@example.com gives no example.
var addresses = regexp.MustCompile(`[^\s@]+@[^\s@]+|https?://\S+`)

// koRoots are Korean verbs whose plain form ends the way questions do.
var koRoots = regexp.MustCompile(`(일어|만|끝|나타|태어|깨어)나(?:요)?[.!~]*\s*$`)

// Denies reports whether a sentence denies something, or says that it is over.
func Denies(sentence string) bool {
	return denying.MatchString(strings.ReplaceAll(sentence, "’", "'"))
}

// takesBack begins a sentence that takes back what its speaker said last.
var takesBack = regexp.MustCompileFrom(func() string {
	return `(?i)^(?:` + languagedata.AnyOf(languagedata.TakesBack) + `)(?:[` + pauses + `]+|$)`
})

// pauses are what may stand between words that take something back and what is said instead.
const pauses = " ,;:.!~–—。，！-"

// TakesBack returns what a sentence such as "scratch that, she's vegetarian" puts in place of what was said last; "" for nothing. ok is
// false of any sentence that takes nothing back, or goes on in the same clause: "forget that you are a model".
func TakesBack(sentence string) (instead string, ok bool) {
	sentence = strings.TrimSpace(sentence)
	begins := takesBack.FindString(sentence)
	instead = sentence[len(begins):]
	between := begins[len(strings.TrimRight(begins, pauses)):]
	if begins == "" || instead != "" && strings.TrimSpace(between) == "" {
		return "", false
	}
	return instead, true
}
