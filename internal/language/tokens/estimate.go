package tokens

import (
	"unicode"
	"unicode/utf8"
)

// estimate guesses by script, for vocabularies that are not embedded. It is meant to count at least as much as any
// vocabulary in use on any text that people write. The tests hold it to that on samples in 19 scripts and forms, against
// o200k_base and cl100k_base, and against what was measured by Claude 2's vocabulary and by Mistral's of 32,768 and of
// 131,072 tokens.
//
// Vocabularies split a text into words with at most one blank before them, digits, runs of punctuation, and runs of white
// space. So a word costs a fixed part and a part for each letter, by its script; a digit costs a token, since many
// vocabularies have no longer numbers; a punctuation mark costs a token; and white space costs one token a run, but
// nothing as the single blank before a word.
type estimate struct{}

// estimatePer is how many units make a token.
const estimatePer = 20

func (estimate) Name() string { return Estimate }
func (estimate) Per() int64   { return estimatePer }

// The costs, in units.
const (
	costWord     = 12 // of a word of Latin letters after white space, beside its letters
	costInner    = 20 // of Latin letters after anything else: names in code, hexadecimal, base64
	costLetter   = 3  // of an ASCII letter among the first shortWord of a word
	costLate     = 13 // of an ASCII letter beyond them: long words are rare ones
	shortWord    = 6
	costAccented = 14 // of a Latin letter beyond ASCII
	costCyrillic = 14 // of a Cyrillic or Greek letter
	costAlphabet = 18 // of a letter of another script that takes two bytes, such as Arabic
	costHangul   = 32
	costHan      = 34
	costKana     = 24
	costThree    = 36 // of any other character that takes three bytes
	costFour     = 70 // of any character that takes four bytes, such as most emoji
	costToken    = estimatePer
)

// runKind is what the character before belongs to.
type runKind int

const (
	runNone runKind = iota
	runLower
	runUpper
	runBlank // a single blank, which costs nothing before a word
	runSpace
	runMark
)

func (estimate) Cost(s string) int64 {
	var cost int64
	letters := 0
	run := runNone
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		if r >= '0' && r <= '9' {
			if run == runBlank {
				cost += costToken
			}
			cost += costToken
			letters, run = 0, runNone
			continue
		}
		if letters = letters + 1; !isLetter(r) && !isAccented(r, n) {
			letters = 0
		}
		if letters > shortWord {
			cost += costLate - costLetter
		}
		c, next := step(r, n, run)
		cost += c
		run = next
	}
	if run == runBlank {
		cost += costToken
	}
	return cost
}

// step is what one character costs after a run, and the run it leaves.
func step(r rune, n int, run runKind) (int64, runKind) {
	switch {
	case r == ' ':
		if run == runBlank || run == runSpace {
			return blank(run), runSpace
		}
		return 0, runBlank
	case r == '\n' || r == '\r' || r == '\t':
		if run == runSpace {
			return 0, runSpace
		}
		return costToken, runSpace
	case r >= 'a' && r <= 'z':
		if run == runLower || run == runUpper {
			return costLetter, runLower
		}
		return word(run) + costLetter, runLower
	case r >= 'A' && r <= 'Z':
		if run == runUpper {
			return costLetter * 2, runUpper
		}
		return word(run) + costLetter, runUpper
	case r < utf8.RuneSelf:
		return blank(run) + costToken, runMark
	}
	return wide(r, n, run)
}

// word is what the beginning of a Latin word costs.
func word(run runKind) int64 {
	if run == runBlank || run == runSpace {
		return costWord
	}
	return costInner
}

func isLetter(r rune) bool {
	return r|0x20 >= 'a' && r|0x20 <= 'z'
}

// isAccented reports whether a character of n bytes is a Latin letter beyond ASCII.
func isAccented(r rune, n int) bool { return n == 2 && unicode.Is(unicode.Latin, r) }

// blank is the cost of a single blank once it turns out not to precede a word.
func blank(run runKind) int64 {
	if run == runBlank {
		return costToken
	}
	return 0
}

// wide is what a character beyond ASCII costs. n is its length in bytes.
func wide(r rune, n int, run runKind) (int64, runKind) {
	switch {
	case isAccented(r, n):
		if run == runLower || run == runUpper {
			return costAccented, runLower
		}
		return word(run) + costAccented, runLower
	case n == 2 && unicode.In(r, unicode.Cyrillic, unicode.Greek):
		return costCyrillic + blank(run), runMark
	case n == 2 && unicode.IsLetter(r):
		return costAlphabet + blank(run), runMark
	case n <= 2:
		return 2*costToken + blank(run), runMark
	case r >= 0xAC00 && r <= 0xD7A3:
		return costHangul, runMark
	case r >= 0x3040 && r <= 0x30FF:
		return costKana + blank(run), runMark
	case n == 4:
		return costFour + blank(run), runMark
	case unicode.Is(unicode.Han, r):
		return costHan + blank(run), runMark
	}
	return costThree + blank(run), runMark
}
