package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/text"
)

// Fit makes a text take at most room by count, which must not fall when a text grows. It leaves out whole sentences,
// never a part of one: repeated ones first, then those without anchors, then those with few for their length, of
// equal ones the earliest. What stays keeps its order and wording. shortened reports whether anything was left out.
func Fit(s string, room int64, count func(string) int64) (fitted string, shortened bool) {
	if count(s) <= room {
		return s, false
	}
	return TakeApart(s, count).Fit(room, count)
}

// Apart is a text taken apart, to be fitted into one room after another. Taking it apart is nearly all that fitting
// costs. It never changes, so it may be used concurrently.
type Apart struct {
	text   string
	size   int64 // of the whole text
	pieces []text.Span
	sizes  []int64 // of the pieces
	ranked []int   // the pieces in the order in which they deserve a place
}

// TakeApart ranks and counts the sentences of a text.
func TakeApart(s string, count func(string) int64) *Apart {
	a := &Apart{text: s, size: count(s), pieces: text.SentenceSpans(s)}
	a.ranked = ranking(s, a.pieces)
	for _, p := range a.pieces {
		a.sizes = append(a.sizes, count(p.Of(s)))
	}
	return a
}

// Fit does what the function Fit does. The count must be that of TakeApart, or one that counts the same.
func (a *Apart) Fit(room int64, count func(string) int64) (fitted string, shortened bool) {
	fitted, _, shortened = a.Measure(room, count)
	return fitted, shortened
}

// Measure does what Fit does, and also returns the size of the fitted text.
func (a *Apart) Measure(room int64, count func(string) int64) (fitted string, size int64, shortened bool) {
	if a.size <= room {
		return a.text, a.size, false
	}
	keep := make([]bool, len(a.pieces))
	var taken []int
	for _, i := range a.ranked {
		if size+a.sizes[i] > room {
			continue
		}
		keep[i], size = true, size+a.sizes[i]
		taken = append(taken, i)
	}
	fitted = join(a.text, a.pieces, keep)
	for size = count(fitted); len(taken) > 0 && size > room; size = count(fitted) {
		keep[taken[len(taken)-1]] = false
		taken = taken[:len(taken)-1]
		fitted = join(a.text, a.pieces, keep)
	}
	return fitted, size, true
}

// ranking is the order in which sentences deserve a place.
func ranking(s string, pieces []text.Span) []int {
	worth := make([]float64, len(pieces))
	seen, known := map[string]bool{}, map[string]bool{}
	for i, p := range slices.Backward(pieces) {
		key := strings.Join(text.Terms(p.Of(s)), " ")
		switch {
		case seen[key] && key != "":
			worth[i] = -1
		default:
			worth[i] = density(p.Of(s), known)
		}
		seen[key] = true
	}
	order := make([]int, len(pieces))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(b, a))
	})
	return order
}

// density is the weight of a sentence's anchors for its length; anchors that are known already count a quarter. Known
// takes them up.
func density(sentence string, known map[string]bool) float64 {
	var sum float64
	for _, a := range Anchors(sentence) {
		w := weights[a.Kind]
		if known[a.key()] {
			w /= 4
		}
		known[a.key()] = true
		sum += w
	}
	return sum / float64(lengthFloor+text.EstimateTokens(sentence))
}

// lengthFloor keeps very short sentences from looking denser than they are.
const lengthFloor = 4

func join(s string, pieces []text.Span, keep []bool) string {
	var b strings.Builder
	for i, p := range pieces {
		if keep[i] {
			b.WriteString(p.Of(s))
		}
	}
	return strings.TrimSpace(b.String())
}
