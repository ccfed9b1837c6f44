// Package static holds a semantic embedder of English that needs no model and no network: a vector for every piece of a
// vocabulary, and their weighted mean for a text.
package static

import (
	"context"
	_ "embed" // the table below
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/builtin"
)

// Model is the name of the one table there is. Another table must have another name, for vectors of two tables mean
// nothing to each other.
const Model = "builtin:static-256"

// Dimension is that of its vectors.
const Dimension = 256

// The table, as tools/semantics makes it: a piece a line; and for each piece in the same order a scale (float32, little
// endian), then for each piece Dimension values (int8) that the scale multiplies. Weights of rare and frequent pieces
// are part of the scale.
var (
	//go:embed vocabulary.txt
	vocabularyFile string
	//go:embed vectors.bin
	vectorsFile string
)

// Embedder turns a text into the mean of its pieces' vectors: the recipe of model2vec (Minish, 2024) on the weights of
// all-MiniLM-L6-v2. It knows words, not their order, and English ones only: of texts in other languages it has fragments
// and punctuation, which make all of them near to each other. So a text that it does not know gets the vector that
// builtin.Hash makes of it: near to texts with the same words, and to others no more than by chance. Open makes an
// Embedder; all its methods may be called at the same time.
type Embedder struct {
	pieces  vocabulary
	scales  []float32
	values  string // int8, Dimension of them for each scale
	unknown builtin.Hash
}

// Open reads the table inside the binary: callers keep it, for it takes some 2 ms of a processor and, beside the table
// itself, .6 MB of memory.
func Open() (*Embedder, error) { return read(vocabularyFile, vectorsFile) }

func read(pieces, vectors string) (*Embedder, error) {
	unknown, err := builtin.ParseModel("builtin:hash-" + strconv.Itoa(Dimension))
	if err != nil {
		return nil, fmt.Errorf("embedder of texts that are not known: %w", err)
	}
	v, err := newVocabulary(pieces)
	if err != nil {
		return nil, fmt.Errorf("vocabulary of %s: %w", Model, err)
	}
	scales, values, err := parseVectors(vectors, int(v.pieces.size()))
	if err != nil {
		return nil, fmt.Errorf("vectors of %s: %w", Model, err)
	}
	return &Embedder{pieces: v, scales: scales, values: values, unknown: unknown}, nil
}

const scaleBytes = 4

func parseVectors(data string, pieces int) (scales []float32, values string, err error) {
	if len(data) != pieces*(scaleBytes+Dimension) {
		return nil, "", fmt.Errorf("%d bytes for %d pieces, want %d", len(data), pieces, pieces*(scaleBytes+Dimension))
	}
	scales = make([]float32, pieces)
	if _, err := binary.Decode([]byte(data[:pieces*scaleBytes]), binary.LittleEndian, scales); err != nil {
		return nil, "", fmt.Errorf("read scales: %w", err)
	}
	for _, s := range scales {
		if !(s > 0 && s < math.MaxFloat32) {
			return nil, "", errors.New("a scale is no positive number")
		}
	}
	return scales, data[pieces*scaleBytes:], nil
}

// Info implements embed.Embedder.
func (e *Embedder) Info() embed.Info {
	return embed.Info{Model: Model, Dimension: Dimension, Semantic: true, Unrelated: unrelated}
}

// unrelated costs no recall and no evidence on LoCoMo 26, 30 and 41 when what is no nearer is not found; .4 costs .003 of
// recall@10 and .005 of the evidence in 4,000 tokens.
const unrelated = .3

// Embed implements embed.Embedder. A sentence of 18 words takes some 10 µs.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		v, ok := e.vector(t)
		if !ok {
			hashed, err := e.unknown.Embed(ctx, []string{t})
			if err != nil {
				return nil, fmt.Errorf("embed a text that is not known: %w", err)
			}
			v = hashed[0]
		}
		vectors[i] = v
	}
	return vectors, nil
}

// Knows implements embed.Selective: most of the text must be in English words.
func (e *Embedder) Knows(text string) bool {
	var room [64]int32
	_, known := e.pieces.split(room[:0], text)
	return known.most()
}

// vector is the mean of the pieces of a text, normalised; false where the text is not known, or they cancel out.
func (e *Embedder) vector(text string) (v []float32, ok bool) {
	var room [64]int32 // enough for a sentence
	pieces, known := e.pieces.split(room[:0], text)
	if !known.most() {
		return nil, false
	}
	v = e.sum(pieces)
	return v, normalise(v)
}

func (e *Embedder) sum(pieces []int32) []float32 {
	v := make([]float32, Dimension)
	for _, piece := range pieces {
		e.add(v, int(piece))
	}
	return v
}

// add adds a piece's vector. The conversion keeps compilers from fusing the product with the sum, which would round
// otherwise on some machines.
func (e *Embedder) add(v []float32, piece int) {
	scale := e.scales[piece]
	row := e.values[piece*Dimension:][:len(v)]
	for i := range v {
		v[i] += float32(scale * float32(int8(row[i])))
	}
}

func normalise(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x)) // not fused, as above
	}
	if sum == 0 {
		return false
	}
	length := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= length
	}
	return true
}
