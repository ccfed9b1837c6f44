package factrank

import (
	"math"

	"github.com/stratamem/strata/internal/recall/dot"
)

// factVectors are vectors in two bytes a number: a number is step · (high + low / lowSteps), high and low from -127 to 127, where step
// is a 127th of the vector's largest component. The high halves alone are what a first pass compares, with half of the bytes to read.
// Vectors of fewNumbers or less are kept whole instead: the fewer numbers, the more each counts, and the less room they take.
type factVectors struct {
	dim    int // 0 without any
	chunks []factChunk
	whole  []float32 // where the vectors have few numbers: the rows
	steps  []float32 // by row
	lows   []float32 // by row: the length of what the low halves add to the vector
	low    float32   // the longest of them, since the index has vectors
	owners []int32   // by row: the number of its fact; none for a free row
	free   []int32   // rows
}

// chunkRows is how many rows a chunk holds.
const chunkRows = 1024

// factChunk holds chunkRows rows: no row is ever copied to make room for many.
type factChunk struct{ high, low []int8 }

// fewNumbers is up to how many numbers vectors are kept whole.
const fewNumbers = 64

func (t *factVectors) areWhole() bool { return t.dim <= fewNumbers }

// lowSteps is how many steps of a low half are one of a high half: high is rounded, so that half of them are left to either side.
const lowSteps = 254

// addRow makes room for the vector of a fact. The last chunk grows until it is full.
func (t *factVectors) addRow(owner int32) int32 {
	if last := len(t.free) - 1; last >= 0 {
		row := t.free[last]
		t.free, t.owners[row] = t.free[:last], owner
		return row
	}
	row := len(t.owners)
	t.owners = append(t.owners, owner)
	if t.areWhole() {
		t.whole = append(t.whole, make([]float32, t.dim)...)
		return int32(row)
	}
	if row%chunkRows == 0 {
		t.chunks = append(t.chunks, factChunk{})
	}
	chunk, zeros := &t.chunks[len(t.chunks)-1], make([]int8, dot.Padded(t.dim))
	chunk.high, chunk.low = append(chunk.high, zeros...), append(chunk.low, zeros...)
	t.steps, t.lows = append(t.steps, 0), append(t.lows, 0)
	return int32(row)
}

func (t *factVectors) freeRow(row int32) {
	t.owners[row] = noRow
	t.free = append(t.free, row)
}

// set keeps a vector in a row.
func (t *factVectors) set(row int32, v []float32) {
	if t.areWhole() {
		copy(t.wholeRow(row), v)
		return
	}
	high, low := t.row(row)
	step := float64(dot.Largest(v)) / math.MaxInt8
	squares := 0.0
	for i, c := range v {
		high[i], low[i] = 0, 0
		if step == 0 {
			continue
		}
		whole := math.Round(float64(c) / step)
		rest := math.Round((float64(c)/step - whole) * lowSteps)
		high[i], low[i] = int8(whole), int8(rest)
		squares += rest * rest
	}
	t.steps[row], t.lows[row] = float32(step), float32(step*math.Sqrt(squares)/lowSteps)
	t.low = max(t.low, t.lows[row])
}

func (t *factVectors) wholeRow(no int32) []float32 { return t.whole[int(no)*t.dim : (int(no)+1)*t.dim] }

func (t *factVectors) row(no int32) (high, low []int8) {
	width := dot.Padded(t.dim)
	from := int(no%chunkRows) * width
	chunk := &t.chunks[no/chunkRows]
	return chunk.high[from : from+width], chunk.low[from : from+width]
}

// factQuery divides a vector into as many steps as can be.
func factQuery(v []float32) dot.SteppedQuery {
	q := dot.Stepped(v, dot.MostSteps(dot.Padded(len(v))))
	q.Whole = v
	return q
}

// likely is the inner product with a row but for its low halves, and that of the high halves in steps, from which cosine goes on.
func (t *factVectors) likely(q *dot.SteppedQuery, row int32) (cosine float32, high int32) {
	if t.areWhole() {
		return dot.Float32(q.Whole, t.wholeRow(row)), 0
	}
	width := dot.Padded(t.dim)
	from := int(row%chunkRows) * width
	high = dot.Int8(t.chunks[row/chunkRows].high[from:from+width], q.Steps)
	return float32(high) * q.Step * t.steps[row], high
}

// slack is by how much likely can differ from cosine: no more than the product of the lengths of the query and of what the low halves
// add, and what rounding of either does.
func (t *factVectors) slack(q *dot.SteppedQuery, row int32) float64 {
	if q.Unit == 0 || t.areWhole() {
		return 0
	}
	return float64(t.lows[row])*float64(q.Step/q.Unit) + cosineSlack
}

// mostSlack is at least the slack of every row.
func (t *factVectors) mostSlack(q *dot.SteppedQuery) float64 {
	if q.Unit == 0 || t.areWhole() {
		return 0
	}
	return float64(t.low)*float64(q.Step/q.Unit) + cosineSlack
}

// cosineSlack is far more than single precision takes from a product of vectors of length 1.
const cosineSlack = 1e-5

// cosine is the inner product with a row: for vectors of length 1 their cosine. high is what likely returned for both.
func (t *factVectors) cosine(q *dot.SteppedQuery, row, high int32) float32 {
	if t.areWhole() {
		return dot.Float32(q.Whole, t.wholeRow(row))
	}
	_, lows := t.row(row)
	low := dot.Int8(lows, q.Steps)
	return float32((float64(high) + float64(low)/lowSteps) * float64(q.Step) * float64(t.steps[row]))
}

func (t *factVectors) bytes() int64 {
	sum := 4 * int64(cap(t.steps)+cap(t.lows)+cap(t.owners)+cap(t.free)+cap(t.whole))
	for _, c := range t.chunks {
		sum += int64(cap(c.high) + cap(c.low))
	}
	return sum
}
