package tokens

import (
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The vocabularies take tens of megabytes and some hundred milliseconds, so each is built when it is first needed and
// never again. They are the only state of this package, and nobody can change them.
var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
)

// bpe counts exactly, by a vocabulary of OpenAI's.
type bpe struct {
	name  string
	codec func() *codec.Codec
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
			start, run = i, 0
		}
	}
	return cost + b.count(s[start:])
}

func (b bpe) count(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := b.codec().Count(s)
	if err != nil {
		return int64(len(s)) // no token is shorter than a byte
	}
	return int64(n)
}
