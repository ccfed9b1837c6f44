package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// koFacts is what people say about themselves in Korean.
var koFacts = list{languagedata.Korean, languagedata.Facts}

var korean = grammar{
	sentence: koFacts.pattern("sentence"),
	blocked:  koFacts.pattern("blocked"),
	clauses:  koFacts.pattern("clauses"),
	opener:   koFacts.pattern("opener"),
	rules:    koFacts.rules("rules", koreanObjects),
	besides:  noRules,
	implied:  noRules,
	dated:    koFacts.pattern("dated"),
	event:    koFacts.pattern("event"),
	trim:     strings.TrimSpace,
	person:   func(s string) string { return s },
	name:     unspacedName,

	inversions:  koFacts.inversions("inversions"),
	enders:      koFacts.named("enders"),
	corrections: koFacts.named("corrections"),
	values:      func() []named { return nil },
	past:        koFacts.pattern("past"),
	join:        joinKorean,
}

// koreanObjects are what the rules of facts.txt name for what their object must be.
var koreanObjects = objects{
	"lasting":        koLasting,
	"workplace":      koWorkplace,
	"place-of-study": koPlaceOfStudy,
	"decided":        koDecided,
	"pursued":        koPursued,
	"hard":           koHard,
	"own-name":       ownName,
}

// koVague are words that point at something said elsewhere or hold only now.
var koVague = koFacts.pattern("vague")

// koDenied ends an object that is denied: the verb of another rule.
var koDenied = koFacts.pattern("denied")

// koForeign is a topic or subject other than the speaker before the object.
var koForeign = koFacts.pattern("foreign")

// koDescribes are adjectives that end like a topic.
var koDescribes = koFacts.pattern("describes")

const maxKoreanObject = 30

// koLasting accepts an object that means something on its own and belongs to the speaker.
func koLasting(object string) bool {
	n := utf8.RuneCountInString(object)
	return n > 0 && n <= maxKoreanObject && !koVague.MatchString(object) && !koDenied.MatchString(object) &&
		(!koForeign.MatchString(object) || koDescribes.MatchString(object))
}

var koNoWorkplace = koFacts.pattern("no-workplace")

func koWorkplace(object string) bool { return koLasting(object) && !koNoWorkplace.MatchString(object) }

// koStudies are where one goes to learn, to train or to pray, not to work.
var koStudies = koFacts.pattern("studies")

func koPlaceOfStudy(object string) bool { return koStudies.MatchString(object) && koLasting(object) }

// koErrands are decisions that are over soon.
var koErrands = koFacts.pattern("errands")

func koDecided(object string) bool {
	n := utf8.RuneCountInString(object)
	return n > 0 && n <= maxKoreanObject && !koVague.MatchString(object) && !koErrands.MatchString(object)
}

// koMeals are in the making for an hour.
var koMeals = koFacts.pattern("meals")

func koPursued(object string) bool { return koLasting(object) && !koMeals.MatchString(object) }

// koPassing are hard for a moment, not for good.
var koPassing = koFacts.pattern("passing")

func koHard(object string) bool { return koLasting(object) && !koPassing.MatchString(object) }

// koNoNames are what stands where a name may stand.
var koNoNames = koFacts.pattern("no-names")

func ownName(object string) bool {
	n := utf8.RuneCountInString(object)
	return n >= 2 && n <= 20 && !koNoNames.MatchString(object)
}

func unspacedName(object string) string {
	return strings.Join(
		strings.FieldsFunc(strings.ToLower(object), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		"_",
	)
}
