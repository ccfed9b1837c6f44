// Package builtin holds an embedder that needs no model and no network.
package builtin

import (
	"context"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
)

// DefaultModel is the name of the hash embedder of the usual dimension.
const DefaultModel = prefix + "256"

const prefix = "builtin:hash-"

// The dimensions a hash embedder may have.
const (
	MinDimension = 16
	MaxDimension = 4096
)

// IsBuiltin reports whether a model's name is one of this package, right or wrong.
func IsBuiltin(model string) bool { return strings.HasPrefix(model, prefix) }

// ParseModel returns the embedder of a name like builtin:hash-256. Any other name is a memory.Error.
func ParseModel(name string) (Hash, error) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < MinDimension || n > MaxDimension || strconv.Itoa(n) != digits {
		return Hash{}, memory.InvalidField("embedding.model", "no built-in embedder is named %q; use %sN with N from %d to %d, such as %s",
			name, prefix, MinDimension, MaxDimension, DefaultModel)
	}
	return Hash{dimension: n}, nil
}

// Hash embeds by hashing words and pieces of words into dimensions, with signs so that collisions cancel out (feature
// hashing, Weinberger et al. 2009, arXiv 0902.2206). Near vectors mean shared words, not shared meaning. Equal texts
// have equal vectors on every machine. ParseModel makes one.
type Hash struct {
	dimension int
}

// Info implements embed.Embedder.
func (h Hash) Info() embed.Info {
	return embed.Info{Model: prefix + strconv.Itoa(h.dimension), Dimension: h.dimension}
}

// Embed implements embed.Embedder. It never fails.
func (h Hash) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		vectors[i] = h.vector(t)
	}
	return vectors, nil
}

// The weights of a word and of a piece of it: a text with one shared word must be nearer than one with a few shared
// pieces.
const (
	wordWeight  = 1
	pieceWeight = .25
	pieceRunes  = 3
)

func (h Hash) vector(s string) []float32 {
	v := make([]float64, h.dimension)
	for _, term := range text.Terms(s) {
		add(v, "w"+term, wordWeight)
		for _, piece := range pieces(term) {
			add(v, "p"+piece, pieceWeight)
		}
	}
	if isZero(v) { // no words, or words that cancel out: the text itself is the only feature
		add(v, "t"+s, wordWeight)
	}
	return unit(v)
}

// pieces are the runs of three characters of a word with its borders marked.
func pieces(term string) []string {
	runes := []rune("^" + term + "$")
	var out []string
	for i := 0; i+pieceRunes <= len(runes); i++ {
		out = append(out, string(runes[i:i+pieceRunes]))
	}
	return out
}

// add hashes a feature to one dimension and a sign, from different bits.
func add(v []float64, feature string, weight float64) {
	f := fnv.New64a()
	f.Write([]byte(feature))
	sum := mix(f.Sum64())
	if sum>>63 == 1 {
		weight = -weight
	}
	v[sum%uint64(len(v))] += weight
}

// mix spreads the bits of an FNV sum, whose high bits differ little between short features: the finaliser of
// MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func isZero(v []float64) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

func unit(v []float64) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x * x) // the conversion keeps compilers from fusing the two, which would round otherwise on some machines
	}
	n := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / n)
	}
	return out
}
