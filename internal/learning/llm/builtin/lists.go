package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// list is a file of lists of one language in internal/language/languagedata. What is read of it is read when it is first needed. A list
// that is not there panics, for an empty expression would match everything.
type list struct {
	language languagedata.Language
	file     string
}

// text is the source of the expression that a list is.
func (l list) text(name string) string {
	source := l.language.Pattern(languagedata.List(l.file + "/" + name))
	if source == "" {
		panic(fmt.Sprintf("%s/%s.txt has no list %s", l.language, l.file, name))
	}
	return source
}

// pattern is the expression that a list is.
func (l list) pattern(name string) *regexp.Regexp {
	return regexp.MustCompileFrom(func() string { return l.text(name) })
}

// marks are lists of languagedata.Marks that an expression takes from all languages, whichever have them. One that no language has
// panics, for an empty expression would match everything.
type marks []string

// pattern is an expression with the alternatives of each list in place of its %s.
func (m marks) pattern(format string) *regexp.Regexp {
	return regexp.MustCompileFrom(func() string {
		sources := make([]any, len(m))
		for i, name := range m {
			source := languagedata.AnyOf(languagedata.List(languagedata.Marks + "/" + name))
			if source == "" {
				panic(fmt.Sprintf("no language has %s/%s", languagedata.Marks, name))
			}
			sources[i] = source
		}
		return fmt.Sprintf(format, sources...)
	})
}

// wordMarks is an expression of whole words, and of what counts anywhere: in languages that do not set words apart.
func wordMarks(name string) *regexp.Regexp {
	return marks{name, name + "-anywhere"}.pattern(`(?i)\b(?:%s)\b|%s`)
}

// entries are the entries of a list.
func (l list) entries(name string) []languagedata.Entry {
	out := l.language.Entries(languagedata.List(l.file + "/" + name))
	if len(out) == 0 {
		panic(fmt.Sprintf("%s/%s.txt has no entries of %s", l.language, l.file, name))
	}
	return out
}

// inOrder are the pairs of a list: a word and what takes its place, with _ for a blank and - for nothing.
func (l list) inOrder(name string) func() [][2]string {
	return sync.OnceValue(func() [][2]string {
		words := languagedata.Blanks(l.language.Words(languagedata.List(l.file + "/" + name)))
		if len(words) == 0 || len(words)%2 != 0 {
			panic(fmt.Sprintf("%s/%s.txt: %s has %d words, which are no pairs", l.language, l.file, name, len(words)))
		}
		var out [][2]string
		for i := 0; i < len(words); i += 2 {
			out = append(out, [2]string{words[i], strings.TrimPrefix(words[i+1], "-")})
		}
		return out
	})
}

// pairs is inOrder, to look words up in.
func (l list) pairs(name string) func() map[string]string {
	inOrder := l.inOrder(name)
	return sync.OnceValue(func() map[string]string {
		out := map[string]string{}
		for _, p := range inOrder() {
			out[p[0]] = p[1]
		}
		return out
	})
}

// words are the words of a list, as a set.
func (l list) words(name string) func() languagedata.Set {
	return sync.OnceValue(func() languagedata.Set {
		out := l.language.Set(languagedata.List(l.file + "/" + name))
		if len(out) == 0 {
			panic(fmt.Sprintf("%s/%s.txt has no words in %s", l.language, l.file, name))
		}
		return out
	})
}

// named is an expression and what it is about: a property, or how a statement begins in the third person; "" where nothing need
// be said.
type named struct {
	name    string
	pattern *regexp.Regexp
}

// named are the entries of a list of which each is about something.
func (l list) named(name string) func() []named {
	return sync.OnceValue(func() []named {
		var out []named
		for _, e := range l.entries(name) {
			out = append(out, named{e.Head, regexp.MustCompile(e.Pattern)})
		}
		return out
	})
}

// inversion turns a clause that takes something back into those that would have stated it: what the rules find in these is
// what does not hold any more.
type inversion struct {
	pattern *regexp.Regexp
	stated  []string // with the groups of the pattern as $1
}

// inversions are the entries of a list of inversions.
func (l list) inversions(name string) func() []inversion {
	return sync.OnceValue(func() []inversion {
		var out []inversion
		for _, e := range l.entries(name) {
			out = append(out, inversion{regexp.MustCompile(e.Pattern), strings.Split(e.Head, " | ")})
		}
		return out
	})
}

// factRule finds one kind of fact in a clause. Pattern's first group is the object; text and attribute may name groups
// as $1, in text as the speaker's words in the third person, in attribute as a name.
type factRule struct {
	category     string
	significance int
	pattern      *regexp.Regexp
	text         string
	attribute    string
	// accepts decides whether the object is one that a lasting fact can have; nil for every object.
	accepts func(object string) bool
	// value is the group, from 1, that a correction puts another object in place of; 0 for the object.
	value int
}

// objects are what rules may ask of their object, by the names that they have in files.
type objects map[string]func(object string) bool

// noRules are those of a language that has none.
func noRules() []factRule { return nil }

// rules are the entries of a list of rules.
func (l list) rules(name string, accept objects) func() []factRule {
	return sync.OnceValue(func() []factRule {
		var out []factRule
		for _, e := range l.entries(name) {
			rule, err := readRule(e, accept)
			if err != nil {
				panic(fmt.Sprintf("%s/%s.txt, a rule of %s: %v", l.language, l.file, name, err)) // the files are a part of the program
			}
			out = append(out, rule)
		}
		return out
	})
}

// readRule reads a rule: category, significance, property, what its object must be and the value's group, with - for none, a colon,
// and the fact.
func readRule(e languagedata.Entry, accept objects) (factRule, error) {
	head, text, _ := strings.Cut(e.Head, ": ")
	f := strings.Fields(head)
	if len(f) != 5 || text == "" {
		return factRule{}, fmt.Errorf("%q does not have five words, a colon and a fact", e.Head)
	}
	significance, err := strconv.Atoi(f[1])
	if err != nil {
		return factRule{}, fmt.Errorf("the significance of %q: %w", e.Head, err)
	}
	value, err := strconv.Atoi(f[4])
	if err != nil {
		return factRule{}, fmt.Errorf("the group of %q: %w", e.Head, err)
	}
	accepts, known := accept[f[3]]
	if !known && f[3] != "-" {
		return factRule{}, fmt.Errorf("%q asks its object to be %s, which nothing decides", e.Head, f[3])
	}
	return factRule{
		category: f[0], significance: significance, pattern: regexp.MustCompile(e.Pattern), text: text,
		attribute: strings.TrimPrefix(f[2], "-"), accepts: accepts, value: value,
	}, nil
}
