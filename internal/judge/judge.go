// Package judge judges statements that shall be remembered: how likely one would have its reader do something, and
// how likely it holds for the moment only. It is pure and keeps no state. A judgement is a sum of weights, one for each
// feature that a statement has (logistic regression); the weights are data, and program fit makes them from lines that
// people wrote in English, Spanish, Korean, Japanese and Chinese:
//
//	go run ./internal/judge/fit
package judge

import (
	_ "embed"
	"encoding/binary"
	"math"

	"github.com/stratamem/strata/internal/intent"
)

// Judgement is what a statement is taken for.
type Judgement struct {
	// Directive is what the rules of package intent read, intent.Order where only the weights tell that the statement would
	// have its reader do something, intent.None for an ordinary statement.
	Directive intent.Directive
	// Hostile is how much the statement reads like one that would have its reader do something, and Passing how much like one
	// that holds for the moment only: small talk, a reaction, a question, a request, a state of today. Above 0 it is taken for
	// one. Both are logits, moved so.
	Hostile, Passing float64
}

// Statement judges a statement of any language. Of a long one the beginning counts.
func Statement(statement string) Judgement {
	r := intent.Read(statement)
	features := featuresOf(statement, r)
	j := Judgement{Directive: r.Directive, Hostile: headOf(hostile).score(features), Passing: headOf(passing).score(features)}
	line := 0.0
	if r.Wish {
		line = wishLine
	}
	if j.Directive == intent.None && j.Hostile > line {
		j.Directive = intent.Order
	}
	if r.Pleasantries {
		j.Passing = math.Max(j.Passing, certain)
	}
	return j
}

// wishLine is the logit from which on a wish about how to answer is taken for an order: such a wish tells its reader what
// to do, and yet is what memory is for.
const wishLine = 1

// certain is the logit of what needs no weights to tell.
const certain = 5

// The heads, in the order in which weights.bin has them.
const (
	hostile = iota
	passing
)

// head is one judgement's weights, as weights.bin has them: what a weight of 1 counts and the bias as 32-bit floats, and
// a signed byte for each slot.
type head string

const headBytes = 4 + 4 + slots

//go:embed weights.bin
var weights string

func headOf(i int) head { return head(weights[i*headBytes : (i+1)*headBytes]) }

func (h head) float(at int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32([]byte(h[at : at+4]))))
}

func (h head) score(features []feature) float64 {
	sum := 0.0
	for _, f := range features {
		sum += float64(int8(h[8+f.slot])) * float64(f.value)
	}
	return h.float(0)*sum + h.float(4)
}
