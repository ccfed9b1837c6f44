package builtin

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/languagedata"
	"github.com/stratamem/strata/internal/text"
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
	worth:      1,
	topic:      esClauses.pattern("topic"),
	personal:   esClauses.pattern("personal"),
	empty:      esClauses.pattern("empty"),
	attributes: esClauses.named("properties"),
}

// esStarts is how statements of the first person begin, which may be too short for the words of their language to show it.
var esStarts = esClauses.pattern("starts")

// isSpanish reports whether a sentence is in Spanish.
func isSpanish(sentence string) bool {
	return text.IsSpanish(sentence) || esStarts.MatchString(strings.TrimSpace(sentence))
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

var (
	esLead  = esClauses.pattern("lead")
	esMy    = esClauses.pattern("my")
	esFirst = esClauses.pattern("first-person")
	esSelf  = esClauses.words("after-me")
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
		rest := strings.TrimSpace(esOf().Replace(" " + esMy.ReplaceAllString(clause, "su ") + " "))
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
