// Package languagedata holds what Strata knows of languages: for each a folder of word lists, and the few decisions about letters,
// numerals and particles that several packages share. It is pure, depends on nothing of Strata, and what is read of the folders
// is read when it is first needed. docs/contribute/new-language.md describes how another language is added.
//
// A folder has a file for each use, such as search.txt. A line that begins with # is a comment, one such as [stop-words] begins
// a list, and what follows up to the next one are its entries. A list is named by both: search/stop-words.
package languagedata

import (
	"embed"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Language is a folder, by the primary tag of BCP 47.
type Language string

// The languages.
const (
	English  Language = "en"
	Spanish  Language = "es"
	Korean   Language = "ko"
	Japanese Language = "ja"
	Chinese  Language = "zh"
	German   Language = "de"
	// Han is what Japanese and Chinese share. Where they are read together, the words of both are added to its own.
	Han Language = "han"
)

// first are the languages whose lists come before those of others where lists are joined.
func first() []Language { return []Language{English, Spanish, Korean, Japanese, Chinese, German} }

// all are the languages that have a folder.
var all = sync.OnceValue(func() []Language {
	out := first()
	folders, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are a part of the program
	}
	for _, f := range folders {
		if l := Language(f.Name()); l != Han && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
})

// All returns the languages, one for each folder, in the order in which their lists are joined: where two expressions match at one
// place, that of the earlier language counts.
func All() []Language { return slices.Clone(all()) }

//go:embed */*.txt
var files embed.FS

// List names a list of a language, by its file and its place there.
type List string

// Words returns the entries of a list that are set apart by white space; none where the language does not have the list.
func (l Language) Words(list List) []string { return strings.Fields(l.text(list)) }

// Lines returns the entries of a list that are a line each, without the blanks around them; none where the language does not
// have the list.
func (l Language) Lines(list List) []string {
	var out []string
	for line := range strings.Lines(l.text(list)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// Spellings returns the first word or words for each value of a list of values, such as the names of months, in order.
func (l Language) Spellings(list List) []string {
	var out []string
	for _, line := range l.Lines(list) {
		_, words, _ := strings.Cut(line, " ")
		first, _, _ := strings.Cut(words, "|")
		out = append(out, first)
	}
	return out
}

// Set returns the Words of a list as a set.
func (l Language) Set(list List) Set { return SetOf(l.Words(list)) }

// Letters returns the characters of a list as a set.
func (l Language) Letters(list List) map[rune]struct{} {
	set := map[rune]struct{}{}
	for _, r := range strings.Join(l.Words(list), "") {
		set[r] = struct{}{}
	}
	return set
}

// Set is a set of words.
type Set map[string]struct{}

// SetOf returns words as a set.
func SetOf(words []string) Set {
	set := make(Set, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}

// Has reports whether a word is in the set.
func (s Set) Has(word string) bool {
	_, ok := s[word]
	return ok
}

// AllWords returns the Words of a list in all languages.
func AllWords(list List) []string {
	var out []string
	for _, l := range All() {
		out = append(out, l.Words(list)...)
	}
	return out
}

// AllLines returns the Lines of a list in all languages.
func AllLines(list List) []string {
	var out []string
	for _, l := range All() {
		out = append(out, l.Lines(list)...)
	}
	return out
}

// AnyOf is the source of a regular expression that matches what any Line of a list does, in any language.
func AnyOf(list List) string { return strings.Join(AllLines(list), "|") }

// wordsOfList is what stands in an expression for any word of another list of its file: {verbs}.
var wordsOfList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([a-z][a-z-]*)\}`) })

// Pattern is the source of a regular expression that matches what any Line of a list does. In a line {verbs} stands for the words
// of the list verbs of the same file, which are expressions themselves and may name other lists.
func (l Language) Pattern(list List) string {
	file, _, _ := strings.Cut(string(list), "/")
	return l.filled(file, strings.Join(l.Lines(list), "|"), map[string]string{})
}

// Entry is one of a list of expressions of which each is about something else.
type Entry struct {
	Head    string // what it is about: the line with * that begins it
	Pattern string // the source, as Language.Pattern has it
}

// Entries returns the entries of a list, each begun by a line with *, in order; none where the language does not have the list.
func (l Language) Entries(list List) []Entry {
	file, _, _ := strings.Cut(string(list), "/")
	var out []Entry
	words := map[string]string{}
	for block := range strings.SplitSeq("\n"+strings.Join(l.Lines(list), "\n"), "\n*") {
		head, lines, _ := strings.Cut(block, "\n")
		if lines != "" {
			out = append(out, Entry{strings.TrimSpace(head), l.filled(file, strings.ReplaceAll(lines, "\n", "|"), words)})
		}
	}
	return out
}

// filled is an expression with the words of the lists that it names, which it keeps for the next one.
func (l Language) filled(file, pattern string, words map[string]string) string {
	return wordsOfList().ReplaceAllStringFunc(pattern, func(name string) string {
		if _, known := words[name]; !known {
			alternatives := strings.Join(Blanks(l.Words(List(file+"/"+strings.Trim(name, "{}")))), "|")
			words[name] = "(?:" + l.filled(file, alternatives, words) + ")"
		}
		return words[name]
	})
}

// Blanks returns words with blanks for _, which stands for one where entries are set apart by white space.
func Blanks(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(w, "_", " ")
	}
	return out
}

// OfScript returns the languages that are written in a script, as language.txt names it.
func OfScript(script string) []Language {
	var out []Language
	for _, l := range All() {
		if strings.Join(l.Words(Script), " ") == script {
			out = append(out, l)
		}
	}
	return out
}

// Lists returns the lists of one file of a language by what names them there, in order; none where there is no such file.
func (l Language) Lists(file string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		content, err := files.ReadFile(string(l) + "/" + file + ".txt")
		if err != nil {
			return // a language need not have every file
		}
		name, text := "", &strings.Builder{}
		for line := range strings.Lines(string(content)) {
			switch begun, is := heading(line); {
			case is:
				if name != "" && !yield(name, text.String()) {
					return
				}
				name, text = begun, &strings.Builder{}
			case !strings.HasPrefix(line, "#"):
				text.WriteString(line)
			}
		}
		if name != "" {
			yield(name, text.String())
		}
	}
}

// heading returns the name that a line such as [stop-words] begins a list with.
func heading(line string) (name string, is bool) {
	line = strings.TrimSpace(line)
	if len(line) < 3 || line[0] != '[' || line[len(line)-1] != ']' {
		return "", false
	}
	name = line[1 : len(line)-1]
	return name, strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
}

// text is a list as it is written.
func (l Language) text(list List) string {
	file, name, ok := strings.Cut(string(list), "/")
	if !ok {
		panic(fmt.Sprintf("%q is not a list: it has no file", list))
	}
	for begun, text := range l.Lists(file) {
		if begun == name {
			return text
		}
	}
	return ""
}
