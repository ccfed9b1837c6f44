package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Phrase is words that must stand in a text next to each other, in their order, as they are written: it has no stems, no
// stop words and no synonyms. What is compared are units: a word of a script that sets its words apart by blanks, without case
// and accents; a run of Hangul; one character of Han, Hiragana and Katakana; one emoji. Punctuation and blanks between
// units do not count, but characters of Han and Kana that the phrase has side by side must stand side by side. A last word in Hangul
// may go on in the text: particles and endings cling to it.
type Phrase struct {
	units []unit
}

// unit is what phrases are compared by.
type unit struct {
	Span
	word   string
	class  class
	joined bool // nothing stands between it and the unit before
}

// NewPhrase reads a phrase. It reports false where there is neither letter, digit nor emoji in it: such a phrase stands nowhere.
func NewPhrase(s string) (Phrase, bool) {
	p := Phrase{units: unitsOf(s)}
	if len(p.units) > 0 {
		p.units[0].joined = false
	}
	return p, len(p.units) > 0
}

// Written is a text whose phrases are looked for.
type Written struct {
	units []unit
}

// Write reads a text once for several phrases.
func Write(s string) Written { return Written{unitsOf(s)} }

// Find returns where the phrase stands in the text, from left to right, without overlaps.
func (w Written) Find(p Phrase) (found []Span) {
	n := len(p.units)
	for at := 0; n > 0 && at+n <= len(w.units); {
		if !p.standsAt(w.units[at : at+n]) {
			at++
			continue
		}
		found = append(found, Span{w.units[at].Start, w.units[at+n-1].End})
		at += n
	}
	return found
}

func (p Phrase) standsAt(units []unit) bool {
	last := len(p.units) - 1
	for i, u := range p.units {
		v := units[i]
		if u.class != v.class || u.joined && !v.joined {
			return false
		}
		if u.word != v.word && (i < last || u.class != classHangul || !strings.HasPrefix(v.word, u.word)) {
			return false
		}
	}
	return true
}

// unitsOf takes a text apart by the same classes of characters as Terms does.
func unitsOf(s string) (out []unit) {
	a := analysis{}
	a.written = func(u unit) {
		u.joined = len(out) > 0 && u.Start <= out[len(out)-1].End
		out = append(out, u)
	}
	a.run(s)
	return out
}

// writeRun passes on the units of the run that is open.
func (a *analysis) writeRun() {
	switch a.class {
	case classNone, classEmoji, classMark, classIgnored:
	case classWord:
		a.written(unit{Span: Span{a.start, a.end}, word: foldAccents(string(a.word)), class: classWord})
	case classHangul:
		var word strings.Builder
		for _, c := range a.chars {
			word.WriteRune(c.r)
		}
		a.written(unit{Span: Span{a.chars[0].start, a.chars[len(a.chars)-1].end}, word: word.String(), class: classHangul})
	case classHan, classHiragana, classKatakana:
		for _, c := range a.chars {
			a.written(unit{Span: Span{c.start, c.end}, word: string(c.r), class: a.class})
		}
	}
}

// RequiredTerms are terms that every text has in which the phrase stands: of each group at least one. They are taken from what
// Terms makes of a word whatever stands around it, so that a search engine can be asked for all texts that may have the phrase;
// whether one has it Written says. A phrase of little words or endings has no groups: any text may have it. The one exception are
// words that Passages cuts, in stretches of more than PassageTokens without a blank or the end of a sentence: their halves are terms.
func (p Phrase) RequiredTerms() (groups [][]string) {
	add := func(group ...string) {
		slices.Sort(group)
		group = slices.Compact(group)
		known := func(g []string) bool { return slices.Equal(g, group) }
		if len(group) > 0 && !slices.ContainsFunc(groups, known) {
			groups = append(groups, group)
		}
	}
	for i, u := range p.units {
		switch u.class {
		case classNone, classMark, classIgnored, classHiragana: // of Hiragana any may be an ending
		case classWord:
			if _, english := stopSet()[u.word]; !english && !spanishStopped(u.word) {
				add((&analysis{}).term(u.word))
			}
		case classHan:
			r, _ := utf8.DecodeRuneInString(u.word)
			if !isRepeatMark(r) && !weakHan(r) {
				add(u.word)
			}
		case classKatakana:
			if i > 0 && u.joined && p.units[i-1].class == classKatakana {
				add(p.katakanaPairAt(i)...)
			}
		case classHangul:
			if i < len(p.units)-1 {
				for _, t := range hangulTerms(u.word) {
					add(t)
				}
			} else {
				add(hangulBeginnings([]rune(u.word))...)
			}
		case classEmoji:
			if r, _ := utf8.DecodeRuneInString(u.word); !regional(r) {
				add(u.word)
			}
		}
	}
	return groups
}

func isRepeatMark(r rune) bool { return strings.ContainsRune("々ゝゞヽヾ", r) }

// weakHan reports whether a character is no term by itself in Chinese or in Japanese texts.
func weakHan(r rune) bool {
	_, chinese := chineseLists().weak[r]
	_, japanese := japaneseLists().weak[r]
	return chinese || japanese
}

// mayEndAt reports whether the run of Katakana may end with this unit in a text.
func (p Phrase) mayEndAt(i int) bool {
	return i == len(p.units)-1 || !p.units[i+1].joined || p.units[i+1].class != classKatakana
}

// katakanaPairAt is the term of a unit and the one before it, nil where a text may lack it: the mark that prolongs the end of a word is
// left out.
func (p Phrase) katakanaPairAt(i int) []string {
	first, _ := utf8.DecodeRuneInString(p.units[i-1].word)
	second, _ := utf8.DecodeRuneInString(p.units[i].word)
	if isRepeatMark(first) || isRepeatMark(second) || second == 'ー' && p.mayEndAt(i) {
		return nil
	}
	return []string{string([]rune{asHiragana(first), asHiragana(second)})}
}

// hangulTerms are the terms of a whole word.
func hangulTerms(word string) (out []string) {
	a := analysis{emit: func(t Token) { out = append(out, t.Term) }}
	a.addHangul(chars(word))
	return out
}

func chars(word string) (out []char) {
	for _, r := range word {
		out = append(out, char{r: r})
	}
	return out
}

// hangulBeginnings are terms of which any word has one that begins with these syllables: its root begins with the first of
// them, which changes only where the root has no other. nil where a word that begins so may have no terms.
func hangulBeginnings(syllables []rune) []string {
	if len(syllables) < 2 || len(syllables) > longestHangul || mayBeHollow(syllables) {
		return nil
	}
	return append(changed(syllables[0]), string(syllables[:2])) // of the longest words only pairs are terms
}

// mayBeHollow reports whether the root of a word that begins with the syllables may be one that says nothing.
func mayBeHollow(syllables []rune) bool {
	for _, list := range []map[string]struct{}{korean().stopWords, korean().hollowRoots} {
		for entry := range list {
			if mayBecome(syllables, []rune(entry)) {
				return true
			}
		}
	}
	return false
}

// mayBecome reports whether the root is a beginning of the syllables, or they of it, but for its last syllable, which may be changed.
func mayBecome(syllables, root []rune) bool {
	for i, r := range root {
		switch {
		case i == len(syllables):
			return true
		case i < len(root)-1 && r != syllables[i]:
			return false
		case i == len(root)-1 && !slices.Contains(changed(syllables[i]), string(r)):
			return false
		}
	}
	return true
}

// changed are what the last syllable of a root may be made of a syllable: itself, or one without a final, with another vowel.
func changed(r rune) (out []string) {
	for _, before := range []rune{r, r - finalOf(r)} {
		out = append(out, string(before))
		for range 2 {
			c := char{r: before}
			uncontract(&c)
			out = append(out, string(c.r))
			before = c.r
		}
	}
	return out
}

// asHiragana is the character of Hiragana of one of Katakana.
func asHiragana(r rune) rune {
	if r >= 'ァ' && r <= 'ヶ' {
		return r - ('ァ' - 'ぁ')
	}
	return r
}
