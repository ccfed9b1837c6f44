package promptinjection

import (
	"maps"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// words are the entries of a language for each feature, set apart by white space. In an entry
//
//	_      is a blank
//	*      ends a word of Latin letters with any ending
//	..     is a gap of up to maxGapWords words, in dense scripts of up to maxGapRunes characters
//	(a|b|) is one of a, b or nothing
//	^ $    are the beginning and the end of the statement
//
// An entry in Latin letters is whole words; one in Hangul, Han or Kana may stand anywhere.
type words map[feature]string

const (
	maxGapWords = 3
	maxGapRunes = 8
)

// phraseIndex finds the entries of languages in a text, in one pass, by how an entry begins. Entries are kept as they are
// written, not as the phrases that their choices make: those are a hundred thousand.
type phraseIndex struct {
	entries []entry
	// byBegin are the entries by the letters that one may begin with, up to beginRunes of them. A stem or a choice may make
	// a beginning shorter.
	byBegin map[begin][]int32
	dense   bool // an entry may stand anywhere, not only at words
}

// begin is the first letters of a phrase, 0 beyond its end.
type begin [beginRunes]rune

const beginRunes = 3

// entry is a phrase with its choices.
type entry struct {
	is    feature
	steps []step
}

// step is one letter of an entry, or a sign.
type step struct {
	kind stepKind
	r    rune
	// next are the places of the steps that may follow: one, or of a choice many.
	next []int32
}

type stepKind uint8

const (
	letter stepKind = iota
	blank           // between words; nothing where a word begins anyway
	stem            // the rest of a word
	gap             // up to maxGapWords words, or maxGapRunes characters
	atStart
	atEnd
	choice // nothing by itself
	done
)

func newPhraseIndex(languages ...words) *phraseIndex {
	l := &phraseIndex{byBegin: map[begin][]int32{}}
	for _, w := range languages {
		for _, is := range slices.Sorted(maps.Keys(w)) {
			for _, written := range strings.Fields(fold(w[is])) {
				l.add(is, written)
			}
		}
	}
	return l
}

func (l *phraseIndex) add(is feature, written string) {
	dense := strings.ContainsFunc(written, languagedata.Clings)
	l.dense = l.dense || dense
	c := compiler{written: []rune(written), dense: dense}
	first := c.sequence()
	c.link(c.open, c.emit(step{kind: done}))
	e := entry{is: is, steps: c.steps}
	e.steps = append(e.steps, step{kind: choice, next: first})
	n := int32(len(l.entries))
	l.entries = append(l.entries, e)
	begins := map[begin]bool{}
	e.begins(int32(len(e.steps)-1), 0, begin{}, begins)
	for b := range begins {
		l.byBegin[b] = append(l.byBegin[b], n)
	}
}

// compiler makes the steps of an entry.
type compiler struct {
	written []rune
	at      int
	dense   bool
	steps   []step
	open    []int32 // steps whose successors are not known yet; -1 for the beginning
	first   []int32 // what the entry may begin with
}

func (c *compiler) emit(s step) int32 {
	c.steps = append(c.steps, s)
	return int32(len(c.steps) - 1)
}

// link makes a step follow the open ones.
func (c *compiler) link(open []int32, to int32) {
	for _, from := range open {
		if from < 0 {
			c.first = append(c.first, to)
			continue
		}
		c.steps[from].next = append(c.steps[from].next, to)
	}
}

func (c *compiler) then(s step) {
	n := c.emit(s)
	c.link(c.open, n)
	c.open = []int32{n}
}

// sequence compiles the whole entry and returns what it may begin with.
func (c *compiler) sequence() []int32 {
	c.open = []int32{-1}
	c.part()
	n := int32(len(c.steps)) // the step for the end comes next
	for _, from := range c.open {
		if from < 0 {
			c.first = append(c.first, n)
		}
	}
	return c.first
}

// part compiles up to the end or the end of a choice.
func (c *compiler) part() {
	for c.at < len(c.written) {
		r := c.written[c.at]
		switch {
		case r == ')' || r == '|':
			return
		case r == '(':
			c.choices()
			continue
		case r == '_':
			if !c.dense {
				c.then(step{kind: blank})
			}
		case r == '*':
			c.then(step{kind: stem})
		case r == '^':
			c.then(step{kind: atStart})
		case r == '$':
			c.then(step{kind: atEnd})
		case r == '.' && c.at+1 < len(c.written) && c.written[c.at+1] == '.':
			c.then(step{kind: gap})
			c.at++
		default:
			c.then(step{kind: letter, r: r})
		}
		c.at++
	}
}

func (c *compiler) choices() {
	before := c.open
	var after []int32
	for c.at < len(c.written) && c.written[c.at] != ')' {
		c.at++ // the bracket or the bar
		c.open = slices.Clone(before)
		c.part()
		after = append(after, c.open...)
	}
	c.at++
	slices.Sort(after)
	c.open = slices.Compact(after)
}

// begins collects how an entry may begin from a step on.
func (e *entry) begins(at int32, n int, b begin, all map[begin]bool) {
	s := &e.steps[at]
	switch s.kind {
	case letter:
		b[n] = s.r
		n++
	case blank:
		if n == 0 {
			break
		}
		b[n] = ' '
		n++
	case stem, gap, atEnd, done:
		all[b] = true
		return
	}
	if n == beginRunes {
		all[b] = true
		return
	}
	for _, next := range s.next {
		e.begins(next, n, b, all)
	}
}

// scan marks the features that a reading has, and returns how many of its words or dense characters are pleasantries.
func (l *phraseIndex) scan(r *reading) (covered int) {
	m := matcher{text: r.plain, dense: l.dense}
	if l.dense {
		m.text = r.denseRunes
	}
	until := 0
	for at := range m.text {
		if !l.dense && !m.wordBegins(at) {
			continue
		}
		var b begin
		for n := 0; ; n++ {
			for _, i := range l.byBegin[b] {
				e := &l.entries[i]
				if r.has[e.is] && e.is != pleasant {
					continue
				}
				m.steps = e.steps
				end := m.longest(int32(len(e.steps)-1), at)
				if end < 0 {
					continue
				}
				r.has[e.is] = true
				if e.is == pleasant && end > until {
					covered += m.size(max(at, until), end)
					until = end
				}
			}
			if n == beginRunes || at+n >= len(m.text) {
				break
			}
			b[n] = m.text[at+n]
		}
	}
	return covered
}

// matcher looks whether an entry stands at a place of a text. The text of words has one blank after each.
type matcher struct {
	text  []rune
	dense bool
	steps []step
}

func (m *matcher) wordBegins(at int) bool { return at == 0 || m.text[at-1] == ' ' }

// size is how many words, or dense characters, stand between two places.
func (m *matcher) size(from, to int) int {
	if m.dense {
		return to - from
	}
	n := 0
	for _, r := range m.text[from:to] {
		if r == ' ' {
			n++
		}
	}
	if to > from && m.text[to-1] != ' ' {
		n++
	}
	return n
}

// longest is the farthest place where the entry may end that goes on with a step at a place, -1 where it does not stand.
func (m *matcher) longest(step int32, at int) int {
	s := &m.steps[step]
	switch s.kind {
	case done:
		if !m.dense && at < len(m.text) && m.text[at] != ' ' && !m.wordBegins(at) {
			return -1
		}
		return at
	case letter:
		if at >= len(m.text) || m.text[at] != s.r {
			return -1
		}
		at++
	case blank:
		if !m.wordBegins(at) {
			if at >= len(m.text) || m.text[at] != ' ' {
				return -1
			}
			at++
		}
	case stem:
		for !m.dense && at < len(m.text) && m.text[at] != ' ' {
			at++
		}
	case atStart:
		if at != 0 {
			return -1
		}
	case atEnd:
		if at < len(m.text) && (m.dense || at < len(m.text)-1) {
			return -1
		}
	case gap:
		return m.afterGap(s, at)
	}
	return m.after(s, at)
}

func (m *matcher) after(s *step, at int) int {
	end := -1
	for _, next := range s.next {
		end = max(end, m.longest(next, at))
	}
	return end
}

func (m *matcher) afterGap(s *step, at int) int {
	if m.dense {
		for n := 0; n <= maxGapRunes && at+n <= len(m.text); n++ {
			if end := m.after(s, at+n); end >= 0 {
				return end
			}
		}
		return -1
	}
	if !m.wordBegins(at) {
		if at >= len(m.text) || m.text[at] != ' ' {
			return -1
		}
		at++
	}
	for n := 0; n <= maxGapWords && at < len(m.text); n++ {
		if end := m.after(s, at); end >= 0 {
			return end
		}
		for at < len(m.text) && m.text[at] != ' ' {
			at++
		}
		at++
	}
	return -1
}
