package tokens

import (
	"sync"

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

// Cost counts the tokens. Special tokens in s are counted as the plain text they are.
func (b bpe) Cost(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := b.codec().Count(s)
	if err != nil {
		return int64(len(s)) // no token is shorter than a byte
	}
	return int64(n)
}
