package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The vocabularies take tens of megabytes and some hundred milliseconds, so each is built when it is first needed and
// never again. Beside each lies a memo of what short pieces cost. They are the only state of this package, and no count
// depends on what was counted before.
var (
	o200k      = sync.OnceValue(codec.NewO200kBase)
	cl100k     = sync.OnceValue(codec.NewCl100kBase)
	o200kMemo  = sync.OnceValue(newMemo)
	cl100kMemo = sync.OnceValue(newMemo)
)

// bpe counts exactly, by a vocabulary of OpenAI's.
type bpe struct {
	name  string
	codec func() *codec.Codec
	memo  func() *memo
	ended func() bool // whether nobody waits for a count any more; nil where somebody always does
}

func (b bpe) Name() string { return b.name }
func (b bpe) Per() int64   { return 1 }

// maxSpaceRun is how much white space is given to the vocabulary at once, in characters. Its splitting expression takes
// quadratic time on long runs that mix blanks and line ends. A longer run is counted in pieces, which may differ by
// some tokens from counting it whole; no text that people write has one.
const maxSpaceRun = 256

// Cost counts the tokens. Special tokens in s are counted as the plain text they are.
func (b bpe) Cost(s string) int64 {
	var cost int64
	start, run := 0, 0
	for i, r := range s {
		if !unicode.IsSpace(r) {
			run = 0
			continue
		}
		run++
		if run == maxSpaceRun {
			cost += b.count(s[start:i])
			if b.ended != nil && b.ended() {
				return cost
			}
			start, run = i, 0
		}
	}
	return cost + b.count(s[start:])
}

// count adds up pieces. A word of lower-case ASCII letters and Hangul syllables with the blank before it, behind such a letter
// and before a blank, full stop or comma, is a match of its own of either vocabulary's splitting expression, whatever stands
// around it: no other match can reach over its ends. Such words are most of what people write in Latin letters and in Korean,
// so their counts are kept (BenchmarkCost prints what that saves). FuzzPieces holds it to the vocabulary's own count of the whole.
func (b bpe) count(s string) int64 {
	var cost int64
	start, words := 0, 0
	for i := 1; i < len(s); i++ {
		end, ok := wordAt(s, i)
		if !ok {
			continue
		}
		if words++; words%wordsBetweenLooks == 0 && b.ended != nil && b.ended() {
			return cost
		}
		cost += b.piece(s[start:i]) + b.piece(s[i:end])
		start, i = end, end-1
	}
	return cost + b.piece(s[start:])
}

// wordsBetweenLooks is after how many words it is looked whether somebody still waits for their count.
const wordsBetweenLooks = 1024

// wordAt returns the end of the word whose blank is at i, false when there is none.
func wordAt(s string, i int) (end int, ok bool) {
	if s[i] != ' ' || !isLower(s[i-1]) && !isHangul(utf8.DecodeLastRuneInString(s[:i])) {
		return 0, false
	}
	end = i + 1
	for end < len(s) {
		if isLower(s[end]) {
			end++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[end:])
		if !isHangul(r, size) {
			break
		}
		end += size
	}
	return end, end > i+1 && (end == len(s) || s[end] == ' ' || s[end] == '.' || s[end] == ',')
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// isHangul reports whether a character, of so many bytes, is a whole syllable.
func isHangul(r rune, _ int) bool { return '가' <= r && r <= '힣' }

// piece counts a piece, by the memo where it is short.
func (b bpe) piece(s string) int64 {
	if s == "" || len(s) > maxMemoBytes && b.ended != nil && b.ended() {
		return 0
	}
	if len(s) > maxMemoBytes {
		return b.whole(s)
	}
	m := b.memo()
	if n, ok := m.get(s); ok {
		return n
	}
	n := b.whole(s)
	m.put(s, n)
	return n
}

func (b bpe) whole(s string) int64 {
	n, err := b.codec().Count(s)
	if err != nil {
		return int64(len(s)) // no token is shorter than a byte
	}
	return int64(n)
}
