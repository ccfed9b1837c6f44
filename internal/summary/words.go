package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of a string by bytes.
type span struct{ start, end int }

func (s span) of(text string) string { return text[s.start:s.end] }

// sentences cuts a text into its sentences, each with the white space that follows it, so that they add up to the
// text. A line is a sentence of its own.
func sentences(text string) []span {
	var out []span
	for start := 0; start < len(text); {
		end := start + sentenceEnd(text[start:])
		end += leadingSpace(text[end:])
		out = append(out, span{start, end})
		start = end
	}
	return out
}

// Sentences are the sentences of a text, without the white space around them. A line is a sentence of its own; a full
// stop of an abbreviation or an initial ends none.
func Sentences(text string) []string {
	var out []string
	for _, s := range sentences(text) {
		if sentence := strings.TrimSpace(s.of(text)); sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

func leadingSpace(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) }

// sentenceEnd is where the first sentence of s ends: at a line break, after a full stop of a script without spaces, or
// after a stop with its closing brackets that a space follows.
func sentenceEnd(s string) int {
	stop, begun := false, false
	for i, r := range s {
		begun = begun || !unicode.IsSpace(r)
		switch {
		case r == '\n' && begun:
			return i
		case strings.ContainsRune("。！？｡", r):
			return i + utf8.RuneLen(r)
		case strings.ContainsRune(".!?…", r):
			stop = r != '.' || !abbreviates(s[:i], s[i+1:])
		case stop && unicode.IsSpace(r):
			return i
		default:
			stop = stop && strings.ContainsRune(`"')]”’»`, r)
		}
	}
	return len(s)
}

// abbreviations end with a full stop that ends no sentence.
var abbreviations = wordSet("mr mrs ms dr prof st jr sr vs etc e.g i.e no approx dept inc ltd co fig al")

// longestAbbreviation is more bytes than any of them has, so that a long run without spaces is not read again and again.
const longestAbbreviation = 16

// abbreviates reports whether the full stop between before and after belongs to a short form such as Dr. or J.; one
// before a small letter ends no sentence either.
func abbreviates(before, after string) bool {
	before = before[max(0, len(before)-longestAbbreviation):]
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, unicode.IsSpace))
	if unicode.IsLower(next) {
		return true
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) && r != 'I' {
		return true
	}
	return abbreviations[strings.ToLower(word)]
}

// mask marks bytes of a text as read.
type mask []bool

func (m mask) take(s span) {
	for i := s.start; i < s.end; i++ {
		m[i] = true
	}
}

// has reports whether some byte of s is read.
func (m mask) has(s span) bool { return slices.Contains(m[s.start:s.end], true) }

// word is a run of letters, digits and what binds them, such as the stop of 3.5 and the hyphen of A-12.
type word struct {
	span
	text  string
	lower string // without a possessive ending
	first bool   // it begins a sentence, a quotation or what follows a colon: a capital says nothing
}

// wordsOf are the words of a text in order.
func wordsOf(text string) []word {
	var out []word
	for _, s := range sentences(text) {
		out = appendWords(out, text, s)
	}
	return out
}

func appendWords(out []word, text string, s span) []word {
	first := true
	for i := s.start; i < s.end; {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !inWord(r) {
			first = first || strings.ContainsRune("\"“‘:*([", r)
			i += n
			continue
		}
		end := i + wordLength(text[i:s.end])
		w := text[i:end]
		out = append(out, word{span: span{i, end}, text: w, lower: bare(w), first: first})
		first = false
		i = end
	}
	return out
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// longestWord is the most bytes of a word. A longer run is read as several: no name is that long.
const longestWord = 96

// wordLength is how far a word goes: binding characters count when a letter or digit follows them.
func wordLength(s string) int {
	end := 0
	for i, r := range s {
		if i > longestWord {
			break
		}
		if inWord(r) || r == '+' && i > 0 {
			end = i + utf8.RuneLen(r)
			continue
		}
		if i > end || !strings.ContainsRune(`'’-_.,:/@&#`, r) || !binds(s[:i], s[i:], r) {
			break
		}
	}
	return end
}

// binds reports whether a mark belongs to a word: commas and colons only between digits.
func binds(before, rest string, r rune) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(r):])
	if r == ',' || r == ':' {
		return unicode.IsDigit(last) && unicode.IsDigit(next)
	}
	return inWord(next)
}

// bare is a word in lower case without a possessive ending.
func bare(w string) string {
	w = strings.ReplaceAll(strings.ToLower(w), "’", "'")
	w = strings.TrimSuffix(w, "'s")
	return strings.TrimSuffix(w, "'")
}

func isUpperFirst(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

func hasDigit(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) }

func hasLetter(w string) bool { return strings.ContainsFunc(w, unicode.IsLetter) }

func isHangul(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.Is(unicode.Hangul, r)
}

// wordSet makes a set of the words of a list.
func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}
