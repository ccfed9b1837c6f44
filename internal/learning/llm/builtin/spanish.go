package builtin

import (
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// esClauses is how clauses in Spanish are found and written in the third person.
var esClauses = list{languagedata.Spanish, languagedata.Clauses}

var spanishRetelling = retelling{
	clauses:    esClauses.pattern("clauses"),
	opener:     esClauses.pattern("opener"),
	person:     personSpanish,
	quoted:     func(clause string) string { return `Dice: «` + clause + `».` },
	stop:       ".",
	names:      true,
	called:     calledSpanish,
	worth:      1,
	topic:      esClauses.pattern("topic"),
	personal:   esClauses.pattern("personal"),
	plans:      esClauses.pattern("plans"),
	empty:      esClauses.pattern("empty"),
	attributes: esClauses.named("properties"),
	shares:     func(before, clause string) bool { return esSubjectless(clause) && !esSpeaks(before) },
	nobodys:    esSubjectless,
}

// esStarts is how statements of the first person begin, which may be too short for the words of their language to show it.
var esStarts = esClauses.pattern("starts")

// isSpanish reports whether a sentence is in Spanish.
func isSpanish(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	return text.IsSpanish(sentence) || esStarts.MatchString(sentence) || esStarts.MatchString(spanishRetelling.bare(sentence))
}

// esThird are verbs of the first person that a clause may begin with, in the third.
var esThird = esClauses.pairs("third-forms")

// esPlural is a verb of the first person plural.
var esPlural = esClauses.pattern("plural")

// esThirdOf is the third person of a verb in the first: of those that are listed, and of regular pasts.
func esThirdOf(verb string) (string, bool) {
	if third, ok := esThird()[verb]; ok {
		return third, true
	}
	for _, past := range [...][2]string{{"gué", "gó"}, {"qué", "có"}, {"cé", "zó"}, {"é", "ó"}, {"í", "ió"}} {
		if stem, ok := strings.CutSuffix(verb, past[0]); ok && len(stem) > 2 {
			return stem + past[1], true
		}
	}
	return "", false
}

// esThirds are verbs of the third person that a clause may begin with.
var esThirds = sync.OnceValue(func() map[string]bool {
	thirds := map[string]bool{}
	for _, third := range esThird() {
		thirds[third] = true
	}
	return thirds
})

// esSubjectless reports whether a clause begins with a verb of the third person, and nothing in it is of the speaker: "es celíaco".
func esSubjectless(clause string) bool {
	words := strings.Fields(strings.ToLower(clause[len(esUnnamed.FindString(clause)):]))
	return len(words) > 0 && esThirds()[strings.Trim(words[0], ",")] && !esSpeaks(clause) &&
		!slices.ContainsFunc(words, func(word string) bool { return esOwned().Has(word) })
}

// esSpeaks reports whether a clause has a verb or a pronoun of the first person.
func esSpeaks(clause string) bool {
	if esFirst.MatchString(clause) || esPlural.MatchString(clause) {
		return true
	}
	return slices.ContainsFunc(strings.Fields(strings.ToLower(clause)), func(word string) bool {
		_, first := esThirdOf(strings.Trim(word, ",.;:!"))
		return first || esMe().Has(word)
	})
}

var (
	esUnnamed = esClauses.pattern("unnamed")
	esMe      = esClauses.words("me")
	esOwned   = esClauses.words("owned")

	esLead  = esClauses.pattern("lead")
	esMy    = esClauses.pattern("my")
	esFirst = esClauses.pattern("first-person")
	esSelf  = esClauses.words("after-me")

	// esIntroduced is who somebody says he is by name alone, and where from.
	esIntroduced = esClauses.pattern("introduced")
	// esLater is what joins another verb of the first person to a clause, and that verb, in two groups.
	esLater = esClauses.pattern("later-verb")
)

// esOf puts words of the third person in the place of those of the first.
var esOf = sync.OnceValue(func() *strings.Replacer {
	var words []string
	for _, pair := range esClauses.inOrder("third-person")() {
		words = append(words, " "+pair[0]+" ", " "+pair[1]+" ")
	}
	return strings.NewReplacer(words...)
})

// personSpanish is a clause of the first person in the third, where its verb is known: "vivo en Bilbao" is "Vive en Bilbao". A
// clause whose verb is not known is quoted.
func personSpanish(clause string) (string, bool) {
	clause = thirdOfLater(clause)
	before := esLead.FindString(clause)
	words := strings.Fields(clause[len(before):])
	if len(words) == 0 {
		return "", false
	}
	verb := strings.ToLower(strings.Trim(words[0], ","))
	third, known := esThirdOf(verb)
	lead := " " + strings.ToLower(before)
	switch {
	case known && (strings.HasSuffix(lead, " me ") || strings.HasSuffix(lead, " nos ")):
		before = before[:len(before)-len(strings.Fields(before)[len(strings.Fields(before))-1])-1] + "se "
	case known:
	case esSelf().Has(verb) && strings.HasSuffix(lead, " me "):
		third = verb
		before = before[:len(before)-len("me ")] + "le "
	case esMy.MatchString(clause),
		!esFirst.MatchString(clause) && !esPlural.MatchString(clause) && !strings.Contains(" "+strings.ToLower(clause), " me "):
		owned := esMy.ReplaceAllStringFunc(clause, func(my string) string { return strings.Replace(strings.ToLower(my), "mi", "su", 1) })
		rest := strings.TrimSpace(esOf().Replace(" " + owned + " "))
		return rest, !esFirst.MatchString(rest) && !esPlural.MatchString(rest)
	default:
		return "", false
	}
	rest := third
	if len(words) > 1 {
		rest += esOf().Replace(" " + strings.Join(words[1:], " ") + " ")
	}
	written := strings.TrimSpace(strings.TrimPrefix(esOf().Replace(" "+before), " ") + rest)
	return written, !esFirst.MatchString(written) && !esPlural.MatchString(written)
}

// calledSpanish is what is said of somebody who names himself by "soy" alone: "soy Mina" is "Se llama Mina".
func calledSpanish(clause string) (string, bool) {
	m := esIntroduced.FindStringSubmatch(clause)
	if m == nil {
		return personSpanish(clause)
	}
	return "se llama " + m[1] + m[2], true
}

// thirdOfLater is a clause in whose further parts verbs of the first person that are known stand in the third.
func thirdOfLater(clause string) string {
	return esLater.ReplaceAllStringFunc(clause, func(later string) string {
		m := esLater.FindStringSubmatch(later)
		if third, known := esThirdOf(m[2]); known { // with a capital it is a name: Leo
			return strings.TrimSuffix(later, m[2]) + third
		}
		return later
	})
}
