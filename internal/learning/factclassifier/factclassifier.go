// Package factclassifier judges statements that shall be remembered: how likely one would have its reader do something, and
// how likely it holds for the moment only. It is pure and keeps no state. A judgement is a sum of weights, one for each
// feature that a statement has (logistic regression); the weights are data, and program fit makes them from lines that
// people wrote in English, Spanish, Korean, Japanese and Chinese:
//
//	go run ./tools/fit
package factclassifier

import (
	_ "embed"
	"math"

	"github.com/stratamem/strata/internal/language/promptinjection"
)

// Judgement is what a statement is taken for.
type Judgement struct {
	// Directive is what the rules of package promptinjection read, promptinjection.Order where only the weights say that the statement would
	// have its reader do something, promptinjection.None for an ordinary statement.
	Directive promptinjection.Directive
	// SmallTalk: it is a question, or nothing but greetings, thanks and answers to such.
	SmallTalk bool
	// Hostile is how much the statement reads like one that would have its reader do something, and Passing how much like one
	// that holds for the moment only: small talk, a reaction, a question, a request, a state of today. Above 0 it is taken for
	// one. Both are logits, moved so.
	Hostile, Passing float64
}

// Statement judges a statement of any language. Of a long one the beginning counts.
func Statement(statement string) Judgement {
	r := promptinjection.Read(statement)
	scores := weights.scores(featuresOf(statement, r))
	j := Judgement{Directive: r.Directive, SmallTalk: r.SmallTalk, Hostile: scores[hostile], Passing: scores[passing]}
	line := 0.0
	if r.Wish {
		line = wishLine
	}
	if j.Directive == promptinjection.None && j.Hostile > line {
		j.Directive = promptinjection.Order
	}
	if r.Pleasantries {
		j.Passing = math.Max(j.Passing, certain)
	}
	return j
}

// wishLine is the logit from which on a wish about how to answer is taken for an order: such a wish says to its reader what
// to do, and yet is what memory is for.
const wishLine = 1

// certain is the logit of what needs no weights.
const certain = 5

// The heads, in the order in which weights.bin has them. heads is how many there are.
const (
	hostile = iota
	passing
	keeping
	heads
)

//go:embed weights.bin
var weights table

// table is the weights as weights.bin has them: what a weight of 1 counts and the bias of each head as 32-bit floats; for
// each bucket where its entries begin, and where the last one's end; and the entries, a fingerprint of 16 bits and a signed
// byte for each head. The first 16 bits of a feature's key are its bucket, the others its fingerprint. A feature that the
// fit did not see thus weighs nothing: a word of no language is not taken for one that happens to share its place.
type table string

const (
	bucketBits = 16
	buckets    = 1 << bucketBits
	headBytes  = 4 + 4
	entryBytes = 2 + heads
	startsAt   = heads * headBytes
	entriesAt  = startsAt + 4*(buckets+1)
)

func (t table) uint32(at int) uint32 {
	_ = t[at+3]
	return uint32(t[at]) | uint32(t[at+1])<<8 | uint32(t[at+2])<<16 | uint32(t[at+3])<<24
}

func (t table) float(at int) float64 { return float64(math.Float32frombits(t.uint32(at))) }

// scores are each head's sum for the features.
func (t table) scores(features []Feature) (out [heads]float64) {
	for _, f := range features {
		at := startsAt + 4*int(f.Key>>(32-bucketBits))
		entries := t[entriesAt+entryBytes*int(t.uint32(at)) : entriesAt+entryBytes*int(t.uint32(at+4))]
		for ; entries != ""; entries = entries[entryBytes:] {
			if uint16(entries[0])|uint16(entries[1])<<8 == uint16(f.Key) {
				for i := range out {
					out[i] += float64(int8(entries[2+i])) * float64(f.Value)
				}
				break
			}
		}
	}
	for i := range out {
		out[i] = out[i]*t.float(i*headBytes) + t.float(i*headBytes+4)
	}
	return out
}
