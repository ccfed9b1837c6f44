package builtin

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// enFacts is what people say about themselves in English.
var enFacts = list{languagedata.English, languagedata.Facts}

var english = grammar{
	sentence: enFacts.pattern("sentence"),
	blocked:  enFacts.pattern("blocked"),
	clauses:  enFacts.pattern("clauses"),
	opener:   enFacts.pattern("opener"),
	rules:    enFacts.rules("rules", englishObjects),
	trim:     trimEnglish,
	person:   thirdPerson,
	name:     englishName,

	besides:     enFacts.rules("rules-besides", englishObjects),
	implied:     enFacts.rules("rules-implied", englishObjects),
	inversions:  enFacts.inversions("inversions"),
	enders:      enFacts.named("enders"),
	corrections: enFacts.named("corrections"),
	takenBack:   enFacts.pattern("taken-back"),
	values:      enFacts.named("values"),
	past:        enFacts.pattern("past"),
	former:      enFacts.pattern("former"),
	tags:        enFacts.pattern("tags"),
	join:        joinEnglish,
}

// enSuperseded is what was so, what is so since then, and the verb of that; enBesides says of the latter that both are so.
var (
	enSuperseded = enFacts.pattern("superseded")
	enBesides    = enFacts.pattern("besides")
)

// englishObjects are what the rules of facts.txt name for what their object must be.
var englishObjects = objects{
	"lasting-thing": lastingThing,
	"denied-thing":  deniedThing,
	"has-already":   hasAlready,
	"habit":         habit,
	"good-thing":    goodThing,
	"liked-thing":   likedThing,
	"enjoyed-thing": enjoyedThing,
	"learnt-thing":  learntThing,
	"planned-thing": plannedThing,
	"chosen-thing":  chosenThing,
	"joined-thing":  joinedThing,
	"place":         place,
	"workplace":     workplace,
	"capitalised":   capitalised,
	"person-name":   personName,
	"own-name":      ownEnglishName,
	"no-other-word": noOtherWord,
	"nation":        nation,
	"tool":          tool,
}

// enEnds is where an object ends though the clause goes on.
var enEnds = enFacts.pattern("object-ends")

func trimEnglish(object string) string {
	if loc := enEnds.FindStringIndex(object); loc != nil {
		object = object[:loc[0]]
	}
	return strings.TrimRight(object, " ,.;:!-–—")
}

// enVague are words that point at something said elsewhere, so that a fact with them means nothing on its own.
var enVague = enFacts.pattern("vague")

// enDangling are words that no object ends with.
var enDangling = enFacts.pattern("dangling")

const maxObjectWords = 12

// lastingThing accepts an object that means something on its own.
func lastingThing(object string) bool {
	n := len(strings.Fields(object))
	return n > 0 && n <= maxObjectWords && !enVague.MatchString(object) && !enDangling.MatchString(object)
}

// deniedThing accepts what the verb alone says (I don't drink) too.
func deniedThing(string) bool { return true }

// enNotYet are words of people who do not have yet what they call theirs.
var enNotYet = enFacts.pattern("not-yet")

func hasAlready(before string) bool { return !enNotYet.MatchString(before) }

func habit(object string) bool {
	return lastingThing(object) && strings.Contains(object, " ")
}

// enNoDoings are words that end in -ing but name nothing that one does.
var enNoDoings = enFacts.pattern("no-doings")

func goodThing(object string) bool { return lastingThing(object) && !enNoDoings.MatchString(object) }

// enKnownThe are things that have an article though nobody has spoken of them before.
var enKnownThe = enFacts.pattern("known-things")

// enPolite begin objects of what people say to be kind, not about themselves.
var enPolite = enFacts.pattern("polite")

// likedThing accepts what one can like, not what one compliments.
func likedThing(object string) bool {
	if enKnownThe.MatchString(object) {
		return true
	}
	return lastingThing(object) && !enPolite.MatchString(object)
}

// enNuisance is what nobody loves, whatever he says: waiting, being kept waiting, and what lasts for so many minutes.
var enNuisance = enFacts.pattern("nuisance")

// enjoyedThing accepts what one may like in earnest.
func enjoyedThing(object string) bool { return likedThing(object) && !enNuisance.MatchString(object) }

// enLessons are what one learns in a manner of speaking.
var enLessons = enFacts.pattern("lessons")

func learntThing(object string) bool { return lastingThing(object) && !enLessons.MatchString(object) }

// enErrands are plans that are over soon.
var enErrands = enFacts.pattern("errands")

// enAtHand are what one picks or turns to while at work on something.
var enAtHand = enFacts.pattern("at-hand")

func chosenThing(object string) bool { return lastingThing(object) && !enAtHand.MatchString(object) }

// enCalls are joined for an hour.
var enCalls = enFacts.pattern("calls")

func joinedThing(object string) bool { return lastingThing(object) && !enCalls.MatchString(object) }

// enNoPlaces are capitalised and moved to, but nobody lives there.
var enNoPlaces = enFacts.pattern("no-places")

// place accepts where somebody may live: no tool that a piece of work moves to.
func place(object string) bool {
	first := firstWord(object)
	return !enNoPlaces.MatchString(object) && (toolPlace.MatchString(first) || toolKinds()[first] == "")
}

// nation accepts what says where somebody is from: "Mexican".
func nation(object string) bool { return enNations.MatchString(object) }

// tool accepts what has a tool in it whose kind is known.
func tool(object string) bool { return lastingThing(object) && toolAttribute([]string{object}) != "" }

func plannedThing(object string) bool { return lastingThing(object) && !enErrands.MatchString(object) }

// workplace accepts a name, or a kind of place with an article.
func workplace(object string) bool {
	first, _, _ := strings.Cut(object, " ")
	return lastingThing(object) && (capitalised(object) || slices.Contains([]string{"a", "an"}, strings.ToLower(first)))
}

func capitalised(object string) bool {
	if len(object) > 2 && (strings.HasPrefix(object, "a ") || strings.HasPrefix(object, "an ")) {
		return lastingThing(object)
	}
	for _, r := range object {
		return unicode.IsUpper(r) && lastingThing(object)
	}
	return false
}

// enPerson are the words of the first person and those of the third.
var enPerson = enFacts.pairs("third-person")

// enWord is a word; the am of "6:40 am" is no verb.
var enWord = regexp.MustCompile(`[0-9]+ am\b|[\p{L}\p{N}']+`)

// thirdPerson is the object as somebody else would say it.
func thirdPerson(object string) string {
	return enWord.ReplaceAllStringFunc(object, func(w string) string {
		if other, ok := enPerson()[strings.ToLower(w)]; ok && w != "US" {
			return other
		}
		return w
	})
}

// enLeading are words that do not make another thing of a thing.
var enLeading = enFacts.pattern("leading")

func englishName(object string) string {
	object = strings.ToLower(enLeading.ReplaceAllString(object, ""))
	return strings.Join(strings.FieldsFunc(object, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}
