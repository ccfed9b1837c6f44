package intent

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// lexicon finds the entries of languages in a text, in one pass, by how an entry begins.
type lexicon struct {
	byPair         map[[2]string][]entry // Latin: by the first two words, or one and the first two letters of a stem,
	byWord, byStem map[string][]entry    // the first word, or its beginning
	byRune         map[rune][]entry      // dense: by the first character
	longestStem    int
}

// entry is a phrase of a lexicon, without its first part where that is the key it is found by.
type entry struct {
	is             feature
	parts          []part
	atStart, atEnd bool
}

type part struct {
	text string
	stem bool // any ending may follow
	gap  bool // something may stand before it
}

func newLexicon(languages ...words) *lexicon {
	l := &lexicon{byPair: map[[2]string][]entry{}, byWord: map[string][]entry{}, byStem: map[string][]entry{}, byRune: map[rune][]entry{}}
	for _, w := range languages {
		for _, is := range slices.Sorted(maps.Keys(w)) {
			var all []string
			for _, written := range strings.Fields(w[is]) {
				all = append(all, alternatives(written)...)
			}
			slices.Sort(all)
			for _, one := range slices.Compact(all) {
				l.add(is, one)
			}
		}
	}
	return l
}

// alternatives are an entry's with each choice in brackets made.
func alternatives(written string) []string {
	end := strings.IndexByte(written, ')')
	if end < 0 {
		return []string{written}
	}
	open := strings.LastIndexByte(written[:end], '(') // the innermost first
	var out []string
	for _, choice := range strings.Split(written[open+1:end], "|") {
		out = append(out, alternatives(written[:open]+choice+written[end+1:])...)
	}
	return out
}

func (l *lexicon) add(is feature, written string) {
	e := entry{is: is, atStart: strings.HasPrefix(written, "^"), atEnd: strings.HasSuffix(written, "$")}
	written = fold(strings.Trim(written, "^$"))
	if strings.ContainsFunc(written, clings) {
		for i, text := range strings.Split(strings.ReplaceAll(written, "_", ""), "..") {
			e.parts = append(e.parts, part{text: text, gap: i > 0})
		}
		first, _ := utf8.DecodeRuneInString(written)
		l.byRune[first] = append(l.byRune[first], e)
		return
	}
	for i, phrase := range strings.Split(written, "..") {
		for j, word := range strings.FieldsFunc(phrase, func(r rune) bool { return r == '_' }) {
			stem := strings.HasSuffix(word, "*")
			e.parts = append(e.parts, part{text: strings.TrimSuffix(word, "*"), stem: stem, gap: i > 0 && j == 0})
		}
	}
	key := e.parts[0].text
	if len(e.parts) > 1 && !e.parts[0].stem && !e.parts[1].stem && !e.parts[1].gap {
		pair := [2]string{key, e.parts[1].text}
		l.byPair[pair] = append(l.byPair[pair], e)
		return
	}
	if len(e.parts) > 1 && !e.parts[0].stem && e.parts[1].stem && !e.parts[1].gap && len(e.parts[1].text) >= 2 {
		pair := [2]string{key, e.parts[1].text[:2] + "*"}
		l.byPair[pair] = append(l.byPair[pair], e)
		return
	}
	if e.parts[0].stem {
		l.byStem[key] = append(l.byStem[key], e)
		l.longestStem = max(l.longestStem, len(key))
		return
	}
	l.byWord[key] = append(l.byWord[key], e)
}

// clings reports whether a letter is of a script whose words are not set apart by blanks, or to which particles cling.
func clings(r rune) bool {
	return unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// scan marks the features that a reading has, and returns how many of its words or dense characters are pleasantries.
func (l *lexicon) scan(r *reading) (covered int) {
	if len(l.byRune) > 0 {
		return l.scanDense(r)
	}
	until := 0
	for at, token := range r.tokens {
		found := func(entries []entry) {
			for i := range entries {
				e := &entries[i]
				if r.has[e.is] && e.is != pleasant {
					continue
				}
				end := e.endInTokens(r.tokens, at)
				if end < 0 {
					continue
				}
				r.has[e.is] = true
				if e.is == pleasant {
					covered += max(0, end-max(at, until))
					until = max(until, end)
				}
			}
		}
		if at+1 < len(r.tokens) {
			next := r.tokens[at+1]
			found(l.byPair[[2]string{token, next}])
			if len(next) >= 2 {
				found(l.byPair[[2]string{token, next[:2] + "*"}])
			}
		}
		found(l.byWord[token])
		for n := 1; n <= min(len(token), l.longestStem); n++ {
			found(l.byStem[token[:n]])
		}
	}
	return covered
}

// endInTokens is where the entry ends that begins at a token, -1 where it does not stand.
func (e *entry) endInTokens(tokens []string, at int) int {
	if e.atStart && at > 0 {
		return -1
	}
	at++ // the first part is how the entry was found
	for _, p := range e.parts[1:] {
		last := at
		if p.gap {
			last = at + maxGapWords
		}
		for ; at <= last && at < len(tokens) && !p.matches(tokens[at]); at++ {
		}
		if at > last || at >= len(tokens) {
			return -1
		}
		at++
	}
	if e.atEnd && at < len(tokens) {
		return -1
	}
	return at
}

func (p part) matches(token string) bool {
	if p.stem {
		return strings.HasPrefix(token, p.text)
	}
	return token == p.text
}

func (l *lexicon) scanDense(r *reading) (covered int) {
	until := 0
	for at, first := range r.dense {
		entries := l.byRune[first]
		for i := range entries {
			e := &entries[i]
			if r.has[e.is] && e.is != pleasant {
				continue
			}
			end := e.endInText(r.dense, at)
			if end < 0 {
				continue
			}
			r.has[e.is] = true
			if e.is == pleasant {
				covered += utf8.RuneCountInString(r.dense[min(end, max(at, until)):end])
				until = max(until, end)
			}
		}
	}
	return covered
}

// endInText is where the entry ends that begins at a byte of a dense text, -1 where it does not stand.
func (e *entry) endInText(text string, at int) int {
	if e.atStart && at > 0 {
		return -1
	}
	for _, p := range e.parts {
		if !p.gap {
			if !strings.HasPrefix(text[at:], p.text) {
				return -1
			}
			at += len(p.text)
			continue
		}
		i := strings.Index(text[at:], p.text)
		if i < 0 || utf8.RuneCountInString(text[at:at+i]) > maxGapRunes {
			return -1
		}
		at += i + len(p.text)
	}
	if e.atEnd && at < len(text) {
		return -1
	}
	return at
}
