package summary

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// label is a line's "Name: " that names the author of the rest, as transcripts have it; marks of lists and of bold type may
// be around the name.
var label = regexp.MustCompile(`^[-*•\d.)\s]*([\pL\pN][\pL\pN ._-]{0,39}?)\**\s*(?::\**(?:[ \t]+|$)|：\**[ \t]*)`)

// SplitLabel returns the author that a line names, in lower case, and the rest; who is "" without a label.
func SplitLabel(line string) (who, said string) {
	m := label.FindStringSubmatch(line)
	if m == nil {
		return "", line
	}
	return strings.ToLower(strings.TrimSpace(m[1])), line[len(m[0]):]
}

// speakers are the roles by their labels in the supported languages. Each occurs once.
var speakers = sync.OnceValue(func() map[string]memory.Role {
	out := map[string]memory.Role{}
	for role, labels := range map[memory.Role]languagedata.List{
		memory.RoleUser: languagedata.UserLabels, memory.RoleAssistant: languagedata.AssistantLabels, memory.RoleSystem: languagedata.SystemLabels,
		memory.RoleDeveloper: languagedata.DeveloperLabels, memory.RoleTool: languagedata.ToolLabels,
	} {
		for _, label := range languagedata.AllWords(labels) {
			out[label] = role
		}
	}
	return out
})

// roleOf returns the role that a label names; 0 for a person's name and anything else before a colon.
func roleOf(who string) memory.Role { return speakers()[who] }

// Who returns the name that a summary gives the line's speaker, on one line: the name, else the role. A person's name that
// equals a role's is left out, so that nobody can pass for the system.
func (l SourceText) Who() string {
	name := strings.Join(strings.Fields(l.Speaker), " ")
	if named := roleOf(strings.ToLower(name)); name == "" || named != 0 && named != l.Role {
		return l.Role.String()
	}
	return name
}

// orders begin a sentence that commands its reader; overrides do so anywhere in a sentence, and sharper ones begin words
// that are attributed to an assistant or a system in languages other than English.
var (
	orders = regexp.MustCompileFrom(func() string { return `(?i)^(?:[-*•\d.) ]*)(?:` + languagedata.AnyOf(languagedata.Orders) + `)` })
	// overrides are never part of a summary unless the source has the words.
	overrides = regexp.MustCompileFrom(func() string { return `(?i)` + languagedata.AnyOf(languagedata.Overrides) })
	sharper   = regexp.MustCompileFrom(func() string { return `(?i)^(?:` + languagedata.AnyOf(languagedata.Sharper) + `)` })
)

// instructs reports whether an answer gives its reader orders. A sentence of the source, such as a request that is quoted
// whole, does not; nor do words that the answer attributes to somebody, unless it attributes them to an assistant or a
// system that never wrote them.
func (t Task) instructs(answer string) bool {
	source := strings.ToLower(t.source() + t.Previous)
	for line := range strings.Lines(answer) {
		said := memory.Role(0)
		for _, s := range text.SentenceSpans(line) {
			sentence := strings.TrimSpace(s.Of(line))
			if found := overrides.FindString(sentence); found != "" && !strings.Contains(source, strings.ToLower(found)) {
				return true
			}
			who, words := SplitLabel(sentence)
			if who == "" || roleOf(who) == 0 {
				who, words = "", sentence
			} else {
				said = roleOf(who)
			}
			if t.commands(said, who != "", words) {
				return true
			}
		}
	}
	return false
}

// commands reports whether words that an answer attributes to a role, 0 for nobody, command its reader.
func (t Task) commands(role memory.Role, labelled bool, words string) bool {
	switch {
	case role == memory.RoleUser && labelled:
		return false
	case role == memory.RoleSystem && labelled && !t.quotes(role, words):
		return true
	case !orders.MatchString(words) && (role == 0 || role == memory.RoleUser || !sharper.MatchString(words)):
		return false
	}
	return role == 0 || !t.quotes(role, words)
}

// quotes reports whether the words are the role's own, in a message or in a summary that is summarised.
func (t Task) quotes(role memory.Role, words string) bool {
	words = strings.ToLower(strings.Trim(words, " .!?…。！？*_\"“”"))
	if words == "" {
		return true
	}
	for _, l := range t.Lines {
		if l.Role == role && strings.Contains(strings.ToLower(l.Text), words) {
			return true
		}
	}
	before := t.Previous
	for _, p := range t.Parts {
		before += "\n" + p.Text
	}
	for line := range strings.Lines(before) {
		if who, said := SplitLabel(line); roleOf(who) == role && strings.Contains(strings.ToLower(said), words) {
			return true
		}
	}
	return false
}
