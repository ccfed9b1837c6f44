package static

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// vocabulary cuts texts into the WordPieces of BERT uncased (Devlin et al. 2018, arXiv 1810.04805): lower case, without
// accents, every punctuation mark and Chinese character a word of its own, and of each word the longest known beginning,
// then the longest known piece that goes on, until its end. A word that cannot be cut so has no pieces at all.
type vocabulary struct {
	pieces  pieceTable
	longest int // bytes of the longest piece
}

const (
	// restMark stands before a piece that goes on. No word has it: a punctuation mark is a word of its own.
	restMark = "##"
	// wordRunes is the length from which a word is unknown, in characters: BERT's own limit.
	wordRunes = 100
)

// newVocabulary reads a piece a line, the number of the line being the number of the piece.
func newVocabulary(list string) (vocabulary, error) {
	pieces, err := newPieceTable(list)
	if err != nil {
		return vocabulary{}, err
	}
	v := vocabulary{pieces: pieces}
	for n := range pieces.size() {
		v.longest = max(v.longest, len(pieces.text(n)))
	}
	return v, nil
}

// coverage is how much of a text the vocabulary has as whole words: it has most words of English, a few of other languages,
// and fragments of any word in Latin letters.
type coverage struct{ letters, whole int } // all of them, and those of words that are one piece

// most reports whether 60 % of the letters are those of whole words. Measured on LoCoMo's dialogues 26, 30 and 41, it
// holds of 99.8 % of 2,625 English turns, questions and facts; on 192 other sentences in five languages, of none that are
// Korean, Japanese or Chinese, and of 14 of the 192 in Spanish, short questions with names.
func (c coverage) most() bool { return c.letters > 0 && 5*c.whole >= 3*c.letters }

// split appends the pieces of a text.
func (v vocabulary) split(pieces []int32, s string) ([]int32, coverage) {
	if !languagedata.IsASCII(s) {
		s = norm.NFD.String(s)
	}
	var room [64]byte // enough for nearly every word
	word := room[:0]
	var known coverage
	for _, r := range s {
		switch c := classOf(r); {
		case c == inWord:
			word = utf8.AppendRune(word, unicode.ToLower(r))
		case c != dropped:
			pieces = v.cutWord(pieces, word, &known)
			word = word[:0]
			if c == alone {
				pieces = v.cutWord(pieces, utf8.AppendRune(word, r), &known)
			}
		}
	}
	return v.cutWord(pieces, word, &known), known
}

// cutWord appends the pieces of a word and counts its letters. Letters of other scripts never count as a whole word, though
// the vocabulary has some: their pieces carry hardly any meaning.
func (v vocabulary) cutWord(pieces []int32, word []byte, known *coverage) []int32 {
	before := len(pieces)
	pieces = v.cut(pieces, word)
	letters, latin := lettersOf(word)
	known.letters += letters
	if latin && len(pieces) == before+1 {
		known.whole += letters
	}
	return pieces
}

// lettersOf counts the letters of a word, and reports whether all are of a to z.
func lettersOf(word []byte) (n int, latin bool) {
	latin = true
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		i += size
		if unicode.IsLetter(r) {
			n++
			latin = latin && r < utf8.RuneSelf
		}
	}
	return n, latin
}

// cut appends the pieces of a word, if it can be cut.
func (v vocabulary) cut(pieces []int32, word []byte) []int32 {
	if len(word) > wordRunes && utf8.RuneCount(word) > wordRunes {
		return pieces
	}
	before := len(pieces)
	mark := ""
	for len(word) > 0 {
		piece, n := v.longestOf(mark, word)
		if n == 0 {
			return pieces[:before]
		}
		pieces, word, mark = append(pieces, piece), word[n:], restMark
	}
	return pieces
}

// longestOf finds the longest beginning of a word that is a piece behind the mark; n is its length, 0 when there is none.
func (v vocabulary) longestOf(mark string, word []byte) (piece int32, n int) {
	for n = min(len(word), v.longest); n > 0; n-- {
		if piece, ok := v.pieces.find(mark, word[:n]); ok {
			return piece, n
		}
	}
	return 0, 0
}

// class is the part that a character plays in words.
type class uint8

const (
	inWord class = iota
	space        // ends a word
	alone        // is a word
	dropped
)

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClass(byte(r))
	}
	switch {
	case unicode.IsLetter(r) && !isChinese(r):
		return inWord
	case isChinese(r) || unicode.IsPunct(r):
		return alone
	case r == utf8.RuneError || unicode.In(r, unicode.Mn, unicode.Cc, unicode.Cf, unicode.Co):
		return dropped
	case unicode.IsSpace(r):
		return space
	}
	return inWord
}

func asciiClass(b byte) class {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return inWord
	case b == ' ', b == '\t', b == '\n', b == '\r':
		return space
	case b < ' ', b == 0x7f:
		return dropped
	}
	return alone
}

// isChinese reports whether a character is of the blocks that BERT sets apart: Han, neither Hangul nor Kana.
func isChinese(r rune) bool {
	return r >= 0x3400 && r <= 0x4dbf || r >= 0x4e00 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}
