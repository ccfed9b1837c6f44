package builtin

import (
	"slices"
	"strings"
)

// enNations are capitalised and said of people, but no names.
var enNations = enFacts.pattern("nations")

// personName accepts what may be a name.
func personName(object string) bool { return !enNations.MatchString(object) }

// enNoNames are capitalised after "I'm" and are no names.
var enNoNames = enFacts.pattern("no-names")

// enCallings are words of titles and callings: "I'm Product Manager" gives no name.
var enCallings = enFacts.pattern("callings")

// ownEnglishName accepts what somebody may be called who says "I'm" and no more: none of its words is anything else.
func ownEnglishName(object string) bool {
	return !slices.ContainsFunc(strings.Fields(object), func(word string) bool {
		return !personName(word) || enNoNames.MatchString(word) || enCallings.MatchString(word)
	})
}

// noOtherWord accepts what may be a name though it stands where other words do.
func noOtherWord(name string) bool { return !enNoNames.MatchString(name) }

func joinEnglish(before, object, after string) string { return before + object + after }
