package builtin

import (
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// toolKinds is the kind of a tool by its name. A piece of work has one tool of a kind at a time: who switches to MySQL does not have
// PostgreSQL any more.
var toolKinds = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for _, l := range languagedata.All() {
		for _, kind := range l.Entries(languagedata.Marks + "/tools") {
			for name := range strings.SplitSeq(kind.Pattern, "|") {
				kinds[name] = kind.Head
			}
		}
	}
	return kinds
})

// toolPurpose is what a tool is chosen for.
var toolPurpose = regexp.MustCompile(`(?i)\s(?:for|in) (?:the |our |my |this |a |an |all )*([^,]+)$`)

// toolGeneral are purposes that are the work at hand itself.
var toolGeneral = regexp.MustCompile(
	`(?i)^(?:new |side |current |whole )?(?:backend|frontend|project|projects|app|application|api|service|product|team|company|startup|system|stack|site|website|work|everything|now|production)$`,
)

// toolTime is a time where a purpose would stand: "in March".
var toolTime = marks{"tool-times"}.pattern(`(?i)^(?:%s)$`)

// toolRejected is what a choice was made against, and what came before it.
var toolRejected = marks{"rather-than", "rejected"}.pattern(`(?i)\s(?:%s)\s.*$|%s`)

// toolWord is a name, with the Korean particle that clings to it.
var toolWord = marks{"particles"}.pattern(`(?i)^([a-z0-9.+#-]+|\p{Hangul}+?)(?:%s)?$`)

// toolAttribute is the property of a choice of a tool: its kind, and what it is for; "" for another choice.
func toolAttribute(objects []string) string {
	if slices.ContainsFunc(objects, func(o string) bool { return strings.EqualFold(o, "against") }) {
		return ""
	}
	choice := " " + toolRejected.ReplaceAllString(strings.Join(objects, " "), "")
	purpose := ""
	if m := toolPurpose.FindStringSubmatch(choice); m != nil && !toolGeneral.MatchString(m[1]) && !toolTime.MatchString(m[1]) {
		purpose = "_for_" + englishName(m[1])
	}
	kind, kinds := "", toolKinds()
	for word := range strings.FieldsSeq(aSeason.ReplaceAllString(choice, " ")) {
		word = strings.Trim(word, ".,")
		m := toolWord.FindStringSubmatch(strings.ToLower(word))
		if m == nil || kinds[m[1]] == "" || aWord.MatchString(word) {
			continue
		}
		if kind != "" && kind != kinds[m[1]] {
			return ""
		}
		kind = kinds[m[1]]
	}
	if kind == "" || len(kind+purpose) > maxAttribute {
		return ""
	}
	return kind + purpose
}

// toolNames are the names in a clause that may be of tools. Where somebody moves, "Phoenix" is a place.
func toolNames(clause string) []string {
	names := latinName.FindAllString(clause, -1)
	if !moving.MatchString(clause) {
		return names
	}
	return slices.DeleteFunc(names, toolPlace.MatchString)
}

var (
	toolPlace = marks{"tool-places"}.pattern(`(?i)^(?:%s)$`)
	moving    = marks{"moving"}.pattern(`(?i)\b(?:%s)\b`)
	// aWord is a name of a tool that is another word where it has no capital.
	aWord = marks{"tool-words"}.pattern(`^(?:%s)$`)
	// aSeason is a time that reads like the name of a tool: "last spring".
	aSeason = marks{"times-of-year"}.pattern(`(?i)%s`)
)

// kindOfTool is the kind of the tool that an attribute is about; "" for another attribute.
func kindOfTool(attribute string) string {
	kind, _, _ := strings.Cut(attribute, "_for_")
	for _, known := range toolKinds() {
		if known == kind {
			return kind
		}
	}
	return ""
}

// countedThing is a number and what there is so many of, without a name.
var countedThing = regexp.MustCompile(`(?i)^(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+) ((?:[\p{L}-]+ )*[\p{L}-]+)$`)

// countedName is the property of how many there are; "" where one has a name, since others may be beside it.
func countedName(object string) string {
	m := countedThing.FindStringSubmatch(object)
	if m == nil || strings.Contains(object, " named ") || strings.Contains(object, " called ") {
		return ""
	}
	name := englishName(m[1])
	for one, many := range map[string]string{"child": "kids", "children": "kids", "kid": "kids", "puppy": "puppies"} {
		if name == one {
			name = many
		}
	}
	if !strings.HasSuffix(name, "s") {
		name += "s"
	}
	return "number_of_" + name
}
