// Package lazyregexp holds regular expressions that are compiled when a text first needs it. A server has several hundred, of six
// languages, and may never need most: compiled ones take ten times the room of their source. Most texts have none of the words
// without which an expression does not match: these are looked for first, at a small part of the cost (BenchmarkMatchString). It is a
// drop-in for the part of package regexp that Strata uses, as internal/language/lazyregexp is within the Go project.
package lazyregexp

import (
	"regexp"
	"sync"
	"testing"
)

// Regexp is a regular expression. Its methods do what those of regexp.Regexp do, and may be called at the same time.
type Regexp struct {
	source   func() string
	filter   func() *prefilter
	compiled func() *regexp.Regexp
}

// MustCompile is the expression of a source in RE2 syntax. A source that is none panics at its first use; in tests at once,
// so that none such is released.
func MustCompile(source string) *Regexp { return MustCompileFrom(func() string { return source }) }

// MustCompileFrom is MustCompile of a source that is put together when it is first needed, as from lists that are read.
func MustCompileFrom(source func() string) *Regexp {
	re := &Regexp{
		source:   source,
		filter:   sync.OnceValue(func() *prefilter { return newPrefilter(required(source())) }),
		compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source()) }),
	}
	if testing.Testing() {
		re.compiled()
	}
	return re
}

// String is the source.
func (re *Regexp) String() string { return re.source() }

// mayMatch reports whether s has what every match has.
func (re *Regexp) mayMatch(s string) bool { return re.filter().passes(s) }

// Split is as regexp.Regexp has it.
func (re *Regexp) Split(s string, n int) []string {
	if n != 0 && !re.mayMatch(s) {
		return []string{s}
	}
	return re.compiled().Split(s, n)
}

// MatchString is as regexp.Regexp has it.
func (re *Regexp) MatchString(s string) bool { return re.mayMatch(s) && re.compiled().MatchString(s) }

// FindString is as regexp.Regexp has it.
func (re *Regexp) FindString(s string) string {
	if !re.mayMatch(s) {
		return ""
	}
	return re.compiled().FindString(s)
}

// FindStringIndex is as regexp.Regexp has it.
func (re *Regexp) FindStringIndex(s string) []int {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindStringIndex(s)
}

// FindStringSubmatch is as regexp.Regexp has it.
func (re *Regexp) FindStringSubmatch(s string) []string {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindStringSubmatch(s)
}

// FindStringSubmatchIndex is as regexp.Regexp has it.
func (re *Regexp) FindStringSubmatchIndex(s string) []int {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindStringSubmatchIndex(s)
}

// FindAllString is as regexp.Regexp has it.
func (re *Regexp) FindAllString(s string, n int) []string {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindAllString(s, n)
}

// FindAllStringIndex is as regexp.Regexp has it.
func (re *Regexp) FindAllStringIndex(s string, n int) [][]int {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is as regexp.Regexp has it.
func (re *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is as regexp.Regexp has it.
func (re *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if !re.mayMatch(s) {
		return nil
	}
	return re.compiled().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString is as regexp.Regexp has it.
func (re *Regexp) ReplaceAllString(s, instead string) string {
	if !re.mayMatch(s) {
		return s
	}
	return re.compiled().ReplaceAllString(s, instead)
}

// ReplaceAllStringFunc is as regexp.Regexp has it.
func (re *Regexp) ReplaceAllStringFunc(s string, instead func(string) string) string {
	if !re.mayMatch(s) {
		return s
	}
	return re.compiled().ReplaceAllStringFunc(s, instead)
}

// SubexpIndex is as regexp.Regexp has it.
func (re *Regexp) SubexpIndex(name string) int { return re.compiled().SubexpIndex(name) }
