package builtin

import (
	"strings"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// enClauses is how clauses in English are found and written in the third person.
var enClauses = list{languagedata.English, languagedata.Clauses}

var englishRetelling = retelling{
	clauses: enClauses.pattern("clauses"),
	opener: regexp.MustCompileFrom(func() string {
		return undated.Replace(english.opener.String()) + enClauses.text("opener")
	}),
	person:     personEnglish,
	quoted:     func(clause string) string { return `Says: "` + clause + `."` },
	stop:       ".",
	worth:      0.1,
	speaks:     enClauses.pattern("speaks"),
	topic:      enClauses.pattern("topic"),
	personal:   enClauses.pattern("personal"),
	plans:      enClauses.pattern("plans"),
	empty:      enClauses.pattern("empty"),
	attributes: enClauses.named("properties"),
	shares: func(before, clause string) bool {
		return enCompany.MatchString(before) && enTogether.MatchString(clause)
	},
}

// undated takes the words that say when from the openers: a clause keeps them.
var undated = strings.NewReplacer("last (?:fri|mon|tues?|wed|thurs?|sat|sun)(?:day)?|", "", "yesterday|last (?:week|month|year)|", "")

// Pieces of a clause in the first person: adverbs between the speaker and the verb, and how the verb ends.
var (
	enSpeaks = enClauses.pattern("speaker")
	enMy     = enClauses.pattern("my")
	enBefore = enClauses.pattern("before-verb")
	enLead   = enClauses.pattern("lead")

	// enCompany is whom the speaker is named with as one subject, and enTogether what the two are or do.
	enCompany  = enClauses.pattern("company")
	enTogether = enClauses.pattern("together")
)

// enPastForms are irregular pasts: they have no other form in the third person.
var enPastForms = enClauses.words("past-forms")

// enModals stay as they are.
var enModals = enClauses.words("modals")

// enBareEd are verbs that end like a past.
var enBareEd = enClauses.words("bare-ed")

// personEnglish is a clause of the first person in the third, without its subject: "I live in Porto" is "Lives in Porto". What
// nobody is the subject of, such as "allergic to cats", stands as it is.
func personEnglish(clause string) (string, bool) {
	if m := enLead.FindStringSubmatch(clause); m != nil {
		if written, ok := personEnglish(m[2]); ok {
			return thirdPerson(written) + " " + thirdPerson(lower(m[1])), true
		}
	}
	switch {
	case enSpeaks.MatchString(clause):
		said := enSpeaks.FindString(clause)
		written, ok := enVerb(strings.ToLower(strings.TrimSpace(said)), clause[len(said):])
		return agree(thirdPerson(enAlso.Replace(written))), ok
	case enMy.MatchString(clause):
		return agree(thirdPerson(enMy.ReplaceAllString(clause, ""))), true
	}
	return agree(thirdPerson(clause)), true
}

// agree mends verbs beside "they" that were said beside "I".
func agree(s string) string { return enTheyWas.Replace(s) }

// enAlso puts a further verb of the speaker in the third person, where it can be nothing else: "… and don't eat pork".
var enAlso = strings.NewReplacer(
	" and don't ", " and doesn't ", " and do not ", " and does not ", " and haven't ", " and hasn't ", " and have ", " and has ", " and am ", " and is ",
	" and live ", " and lives ", " and speak ", " and speaks ", " and study ", " and studies ", " and teach ", " and teaches ",
	" and start in ", " and starts in ", " and start on ", " and starts on ", " and start at ", " and starts at ",
	" and work at ", " and works at ", " and work as ", " and works as ", " and work for ", " and works for ", " and work in ", " and works in ",
)

// enSeveral begins what several people are together, and none of them alone.
var enSeveral = regexp.MustCompile(`(?i)^an? (?:[\p{L}-]+ ){0,2}(?:team|family|couple|group|startup|company|band|household|duo|agency|charity|studio)\b`)

var enTheyWas = strings.NewReplacer(" they was ", " they were ", "They was ", "They were ", " they am ", " they are ")

// enVerb is what is said of the speaker in the third person.
func enVerb(speaker, rest string) (string, bool) {
	switch {
	case speaker == "we're" && enSeveral.MatchString(rest):
		return "they are " + rest, true
	case strings.HasSuffix(speaker, "'m"), strings.HasSuffix(speaker, "'re"):
		return "is " + rest, true
	case strings.HasSuffix(speaker, "'ve"):
		return "has " + rest, true
	case strings.HasSuffix(speaker, "'ll"):
		return "will " + rest, true
	}
	before := enBefore.FindString(rest)
	verb, after, _ := strings.Cut(rest[len(before):], " ")
	word := strings.ToLower(strings.TrimRight(verb, ","))
	if third, ok := enThirdForms()[word]; ok {
		return before + third + " " + after, true
	}
	switch {
	case word == "":
		return "", false
	case enPastForms().Has(word), enModals().Has(word), strings.HasSuffix(word, "ed") && !enBareEd().Has(word):
		return before + verb + " " + after, true
	}
	return before + enPresent(word) + " " + after, true
}

// enThirdForms are verbs whose third person has a form of its own.
var enThirdForms = enClauses.pairs("third-forms")

func enPresent(verb string) string {
	switch {
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "o"),
		strings.HasSuffix(verb, "ch"),
		strings.HasSuffix(verb, "sh"),
		strings.HasSuffix(verb, "ss"),
		strings.HasSuffix(verb, "x"),
		strings.HasSuffix(verb, "zz"):
		return verb + "es"
	}
	return verb + "s"
}

// lower is a text that begins with a small letter, unless its first word is a name or I.
func lower(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if len(word) > 1 && strings.ToLower(word[1:]) == word[1:] {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
