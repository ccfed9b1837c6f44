package builtin

import (
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// deFacts is what people say about themselves in German.
var deFacts = list{languagedata.German, languagedata.Facts}

var german = grammar{
	sentence: deFacts.pattern("sentence"),
	blocked:  deFacts.pattern("blocked"),
	clauses:  deFacts.pattern("clauses"),
	opener:   deFacts.pattern("opener"),
	order:    orderGerman,
	rules:    deFacts.rules("rules", germanObjects),
	besides:  deFacts.rules("rules-besides", germanObjects),
	implied:  noRules,
	trim:     strings.TrimSpace,
	person:   personGerman,
	name:     unspacedName,

	inversions:  deFacts.inversions("inversions"),
	enders:      deFacts.named("enders"),
	corrections: deFacts.named("corrections"),
	values:      func() []named { return nil },
	past:        deFacts.pattern("past"),
	join:        joinEnglish,
}

// germanObjects are what the rules of facts.txt name for what their object must be.
var germanObjects = objects{
	"lasting":   deLasting,
	"good":      deGood,
	"liked":     deGood,
	"played":    func(object string) bool { return deGood(object) && !deNoPlays.MatchString(object) },
	"place":     dePlace,
	"whither":   dePlace,
	"origin":    dePlace,
	"workplace": func(object string) bool { return !deNoWorkplace.MatchString(object) },
	"job":       func(object string) bool { return !deNoJobs.MatchString(object) },
	"calling":   func(object string) bool { return deCalling.MatchString(object) && !deNoJobs.MatchString(object) },
	"of-others": func(object string) bool {
		return !deNoPlaces.MatchString(object) && !deNoJobs.MatchString(strings.TrimPrefix(object, "ist "))
	},
	"own-name": func(object string) bool { return !deNoNames.MatchString(object) && !deCalling.MatchString(object) },
}

var (
	deVague       = deFacts.pattern("vague")
	dePassing     = deFacts.pattern("passing")
	deNoPlaces    = deFacts.pattern("no-places")
	deNoWorkplace = deFacts.pattern("no-workplace")
	deNoJobs      = deFacts.pattern("no-jobs")
	deNoNames     = deFacts.pattern("no-names")
	deNoPlays     = deFacts.pattern("no-plays")

	// deCalling ends a word that names a calling, of whatever kind: Sportlehrerin.
	deCalling = deFacts.pattern("callings")
)

// maxGermanWords is the most words that an object has.
const maxGermanWords = 6

// deLasting accepts an object that means something on its own.
func deLasting(object string) bool {
	n := len(strings.Fields(object))
	return n > 0 && n <= maxGermanWords
}

// deGood accepts what one may like or eat in earnest, and not one thing that was spoken of.
func deGood(object string) bool {
	return deLasting(object) && !deVague.MatchString(object) && !dePassing.MatchString(object)
}

func dePlace(object string) bool { return object != "" && !deNoPlaces.MatchString(object) }

var (
	deVerbs       = deFacts.words("verbs")
	deSubjectless = deFacts.words("subjectless")
	deAsides      = deFacts.pattern("asides")
	deSince       = deFacts.pattern("since")
	deFronts      = sync.OnceValue(func() languagedata.Set { return languagedata.German.Set(languagedata.StopWords) })
	deShort       = deFacts.pairs("spelt-short")
	deThird       = deFacts.pairs("third-person")
)

// orderGerman is a statement with its speaker and verb first, without what stands aside of it: "seit 2019 wohne ich in Köln" and "weil ich
// seit 2019 in Köln wohne" are "ich wohne in Köln seit 2019". One whose verb stands first asks or supposes, and is "".
func orderGerman(said string) string {
	words := strings.Fields(said)
	if len(words) == 0 {
		return ""
	}
	isI := func(w string) bool { return w == "ich" || w == "wir" }
	low := func(i int) string { return strings.ToLower(strings.Trim(words[i], ",:")) }
	at := slices.IndexFunc(words, func(w string) bool { return isI(strings.ToLower(w)) })
	switch last := low(len(words) - 1); {
	case at == 1 && deVerbs().Has(low(0)):
		return ""
	case at > 1 && deVerbs().Has(low(at-1)):
		front := slices.Clone(words[:at-1])
		if deFronts().Has(low(0)) { // it has its capital from the sentence
			front[0] = strings.ToLower(front[0])
		}
		words = slices.Concat(words[at:at+1], words[at-1:at], front, words[at+1:])
	case at == 1 && slices.Contains([]string{"weil", "da", "zumal"}, low(0)) && deVerbs().Has(last):
		words = slices.Concat(words[1:2], words[len(words)-1:], words[2:len(words)-1])
	case at == 0 && len(words) > 2 && !deVerbs().Has(low(1)) && deVerbs().Has(last):
		words = slices.Concat(words[:1], words[len(words)-1:], words[1:len(words)-1])
	case at < 0 && deSubjectless().Has(low(0)):
		words = append([]string{"ich"}, words...)
	}
	if isI(low(0)) && len(words) > 1 {
		words = slices.Clone(words)
		words[0] = low(0)
		if full, short := deShort()[low(1)]; short {
			words[1] = full
		}
	}
	ordered := strings.Join(words, " ")
	if m := deSince.FindStringSubmatchIndex(ordered); m != nil {
		ordered = ordered[:m[0]] + ordered[m[1]:] + " " + lower(ordered[m[2]:m[3]])
	}
	for bare := ""; ; ordered = bare {
		if bare = strings.Trim(deAsides.ReplaceAllString(ordered, " "), " ,"); bare == ordered {
			return ordered
		}
	}
}

// personGerman is an object with its verb, or the verb alone, in the third person.
func personGerman(object string) string {
	words := strings.Split(object, " ")
	for i, w := range words {
		if third, ok := deThird()[w]; ok { // a noun has a capital: Nähe
			words[i] = third
		}
	}
	return strings.Join(words, " ")
}

// germanRetelling cuts sentences for what is asked for. Nothing is kept but what rules read: no weights are fitted to German clauses.
var germanRetelling = retelling{
	clauses:    deFacts.pattern("clauses"),
	opener:     deFacts.pattern("opener"),
	person:     func(string) (string, bool) { return "", false },
	quoted:     func(clause string) string { return "Sagt: „" + clause + "“." },
	stop:       ".",
	attributes: func() []named { return nil },
	rulesOnly:  true,
}
