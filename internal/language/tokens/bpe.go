package tokens

import (
	"iter"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// The vocabularies take tens of megabytes and some hundred milliseconds, so each is built when it is first needed and
// never again. Beside them lies a memo of what short pieces cost. They are the only state of this package, and no count
// depends on what was counted before.
var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
	costs  = sync.OnceValue(newMemo)
)

// buildVocabularies builds both side by side: the first message that is counted waits for them.
var buildVocabularies = sync.OnceFunc(func() {
	var second safegroup.Group
	second.Go(func() error {
		cl100k()
		return nil
	})
	o200k()
	_ = second.Wait() // one that cannot be built panics where it is counted by
})

// bpe counts exactly, by a vocabulary of OpenAI's.
type bpe struct {
	name  string
	codec func() *codec.Codec
	field memoField
	ended func() bool // whether nobody waits for a count any more; nil where somebody always does
}

func byO200K() bpe  { return bpe{name: O200K, codec: o200k, field: ofO200K} }
func byCL100K() bpe { return bpe{name: CL100K, codec: cl100k, field: ofCL100K} }

func (b bpe) Name() string { return b.name }
func (b bpe) Per() int64   { return 1 }

// Cost counts the tokens. Special tokens in s are counted as the plain text they are.
func (b bpe) Cost(s string) int64 {
	var cost int64
	looked := 0
	for piece := range pieces(s) {
		if looked++; looked%piecesBetweenLooks == 0 && b.ended != nil && b.ended() {
			return cost
		}
		cost += b.piece(piece)
	}
	return cost
}

// piecesBetweenLooks is after how many pieces it is looked whether somebody still waits for their count.
const piecesBetweenLooks = 2048

// countText counts the tokens of a text by both vocabularies. They split a text the same way and share the memo, so that one walk
// finds both counts of each piece (BenchmarkCountMessage compares it with two walks).
func countText(s string) memory.TokenCounts {
	var n memory.TokenCounts
	first, second, known := byO200K(), byCL100K(), costs()
	for piece := range pieces(s) {
		if len(piece) <= maxMemoBytes {
			entry := known.get(piece)
			if a, b := first.field.of(entry), second.field.of(entry); a > 0 && b > 0 {
				n.O200K, n.CL100K = n.O200K+a-1, n.CL100K+b-1
				continue
			}
		}
		buildVocabularies()
		n.O200K += first.piece(piece)
		n.CL100K += second.piece(piece)
	}
	return n
}

// maxSpaceRun is how much white space is given to the vocabulary at once, in characters. Its splitting expression takes
// quadratic time on long runs that mix blanks and line ends. A longer run is counted in pieces, which may differ by
// some tokens from counting it whole; no text that people write has one.
const maxSpaceRun = 256

// pieces iterates over the pieces of a text, whose counts add up to that of the whole. None is empty.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, run := 0, 0
		for i, r := range s {
			if ' ' < r && r < utf8.RuneSelf || !unicode.IsSpace(r) {
				run = 0
				continue
			}
			run++
			if run == maxSpaceRun {
				if !words(s[start:i], yield) {
					return
				}
				start, run = i, 0
			}
		}
		words(s[start:], yield)
	}
}

// words yields the words of a text and what is between them. A word of lower-case ASCII letters and Hangul syllables with the
// blank before it, behind such a letter and before a blank, full stop or comma, is a match of its own of either vocabulary's
// splitting expression, whatever stands around it: no other match can reach over its ends. Such words are most of what people
// write in Latin letters and in Korean, so their counts are kept (BenchmarkCost prints what that saves). FuzzPieces holds it to the
// vocabulary's own count of the whole. It reports whether yield wants more.
func words(s string, yield func(string) bool) (more bool) {
	start := 0
	for i := 1; i < len(s); i++ {
		end, ok := wordAt(s, i)
		if !ok {
			continue
		}
		if start < i && !yield(s[start:i]) || !yield(s[i:end]) {
			return false
		}
		start, i = end, end-1
	}
	return start == len(s) || yield(s[start:])
}

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
	if len(s) > maxMemoBytes {
		if b.ended != nil && b.ended() {
			return 0
		}
		return b.whole(s)
	}
	known := costs()
	if n := b.field.of(known.get(s)); n > 0 {
		return n - 1
	}
	n := b.whole(s)
	known.put(s, b.field, n)
	return n
}

func (b bpe) whole(s string) int64 {
	n, err := b.codec().Count(s)
	if err != nil {
		return int64(len(s)) // no token is shorter than a byte
	}
	return int64(n)
}
