package factclassifier

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// subject is a way in which a statement names the person it is about, as it stands in Reading.Words: what begins a statement, with
// what takes its place. A fact is the same whoever it is said of, and however: "The user works in Leeds", "User works in Leeds",
// "I work in Leeds", "Works in Leeds". What they have in common says nothing about what the statement would have its reader do,
// and is taken off before it is judged.
type subject struct{ begin, instead string }

var subjects = sync.OnceValue(func() (all []subject) {
	for _, line := range languagedata.AllLines(languagedata.SubjectBegins) {
		begin, instead, _ := strings.Cut(line, ": ")
		all = append(all, subject{begin, instead})
	}
	return all
})

// denseSubjects are those of scripts in which words are not set apart from what clings to them.
var denseSubjects = sync.OnceValue(func() []string { return languagedata.AllWords(languagedata.SubjectClings) })

// ofSubject replaces ways of naming the person within a statement.
var ofSubject = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, line := range languagedata.AllLines(languagedata.SubjectWithin) {
		words, instead, _ := strings.Cut(line, " ")
		pairs = append(pairs, languagedata.Blanks([]string{words, instead})...)
	}
	return strings.NewReplacer(pairs...)
})

// withoutSubject is a statement as Reading.Words has it without whom it is about.
func withoutSubject(words string) string {
	for _, s := range denseSubjects() {
		if rest, ok := strings.CutPrefix(words, s); ok {
			return strings.TrimLeft(rest, " 、,")
		}
	}
	for _, s := range subjects() {
		rest, ok := strings.CutPrefix(words, s.begin)
		if !ok {
			continue
		}
		rest, possessive := strings.CutPrefix(rest, "'s ")
		if possessive {
			words = rest
			break
		}
		if rest, ok = strings.CutPrefix(rest, " "); ok {
			words = rest
			if s.instead != "" {
				words = s.instead + " " + rest
			}
			break
		}
	}
	return ofSubject().Replace(words)
}
