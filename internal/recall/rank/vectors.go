package rank

import (
	"math"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/segment"
)

// messageVectors are the vectors of an index's messages. A message is compared by its key: the sum of its own vector and
// those around it, each of length 1, by denseWeight. The key itself is not kept: its inner product with a query is the
// sum of its parts' products.
type messageVectors struct {
	version int // 0 without any vector
	dim     int
	chunks  [][]int8  // of rowsPerChunk rows each: no row is ever copied to make room for the next
	units   []float32 // by row: 1 / the length of the vector
	keys    []float32 // by row: 1 / the length of the key
	signs   []uint64  // by row: of the key's numbers, as many words as signWords returns; see SearchVectors
	of      []int32   // by row: its message
	sizes   []int64   // by place: the sum of the sizes of all vectors' numbers
	rows    []int32   // by message: its row; none without a vector
}

const rowsPerChunk = 1024

// denseReach is how many messages around one, on either side, are part of its key.
const denseReach = 2

// denseWeight is what the message so many steps away counts in a key. Source: the weights of Weights.Person's window,
// which lift recall@10 on LoCoMo from .42 to .53 with MiniLM alone; half of them are best with an assistant, on
// BEAM-128K.
func denseWeight(k kindNo, step int) float32 {
	weights := [...]float32{.5, .5, 1, .3, .3}
	w := weights[step+denseReach]
	if k == kindAssistantChat && step != 0 {
		w /= 2
	}
	return w
}

// addVector gives a message its vector, and notes in which session a vector is new. One whose message the index does not have, or that is
// all zero, is passed over. A vector of a higher version than the ones before drops those, one of a lower version is passed over.
func (x *Index) addVector(p memory.Place, v segment.Vector, touched map[*session]struct{}) {
	s, at, ok := x.find(p)
	if !ok || !x.vectors.set(s.messages[at], v) {
		return
	}
	s.touchKeys(at)
	touched[s] = struct{}{}
}

// drop drops all vectors: they are of another model.
func (t *messageVectors) drop() {
	*t = messageVectors{rows: t.rows}
	for m := range t.rows {
		t.rows[m] = none
	}
}

// set keeps a message's vector, and reports whether it does.
func (t *messageVectors) set(m int32, v segment.Vector) bool {
	length := math.Sqrt(float64(squares(v.Values)))
	if length == 0 || v.Version < max(t.version, 1) {
		return false
	}
	if v.Version > t.version {
		t.drop()
		t.version, t.dim, t.sizes = v.Version, len(v.Values), make([]int64, len(v.Values))
	}
	if len(v.Values) != t.dim {
		return false
	}
	if t.rows[m] == none {
		t.rows[m] = t.addRow(m)
	}
	t.countSizes(t.row(t.rows[m]), -1)
	dot.AppendRow(t.row(t.rows[m])[:0], v.Values)
	t.countSizes(t.row(t.rows[m]), 1)
	t.units[t.rows[m]] = float32(1 / length)
	return true
}

// countSizes adds what a row's numbers are, so many times.
func (t *messageVectors) countSizes(row []int8, times int64) {
	for i := range t.sizes {
		size := int64(row[i])
		t.sizes[i] += times * max(size, -size)
	}
}

// addRow makes room for a message's vector. The first chunk grows with its rows; whoever needs a second has many messages, so that
// the others have all of their room from the beginning.
func (t *messageVectors) addRow(m int32) int32 {
	no, width := len(t.units), dot.Padded(t.dim)
	if no%rowsPerChunk == 0 {
		t.chunks = append(t.chunks, make([]int8, 0, min(no, rowsPerChunk)*width))
	}
	last := &t.chunks[len(t.chunks)-1]
	*last = append(*last, make([]int8, width)...)
	t.units, t.keys, t.of = append(t.units, 0), append(t.keys, 0), append(t.of, m)
	t.signs = append(t.signs, make([]uint64, signWords(t.dim))...)
	return int32(no)
}

// squares adds up the squares of what dot.AppendRow keeps.
func squares(values []int8) (sum int64) {
	for _, v := range values {
		kept := int64(max(v, -math.MaxInt8))
		sum += kept * kept
	}
	return sum
}

// row is a vector's values.
func (t *messageVectors) row(no int32) []int8 {
	width := dot.Padded(t.dim)
	from := int(no%rowsPerChunk) * width
	return t.chunks[no/rowsPerChunk][from : from+width]
}

func (t *messageVectors) bytes() int64 {
	sum := 4*int64(cap(t.units)+cap(t.keys)+cap(t.of)+cap(t.rows)) + 8*int64(cap(t.signs)+cap(t.sizes))
	for _, c := range t.chunks {
		sum += int64(cap(c))
	}
	return sum
}

// setKeys works out the lengths and the signs of the keys of a session's messages whose neighbours changed.
func (t *messageVectors) setKeys(s *session, messages []message) {
	if len(t.units) == 0 {
		return
	}
	key := make([]float32, dot.Padded(t.dim))
	for at := s.from; at < s.to; at++ {
		no := s.messages[at]
		if row := t.rows[no]; row != none {
			t.keys[row] = float32(1 / t.keyLength(s, at, messages[no].kind, key))
			setSigns(t.signsOf(row), key[:t.dim])
		}
	}
}

// keyLength adds up the key of the message at a position, in room, and returns its length.
func (t *messageVectors) keyLength(s *session, at int, kind kindNo, room []float32) float64 {
	clear(room)
	var parts [2*denseReach + 1]keyPart
	for _, p := range t.keyParts(parts[:0], s, at, kind) {
		weight := p.weight * t.units[p.row]
		row := t.row(p.row)
		for i := range room[:len(row)] {
			room[i] += weight * float32(row[i])
		}
	}
	return max(math.Sqrt(float64(dot.Float32(room, room))), minKey)
}

// minKey keeps a key whose parts cancel each other out, as they nearly never do, from counting without bounds.
const minKey = 1e-3

// keyPart is one vector of a key.
type keyPart struct {
	row    int32
	step   int // from the message of the key
	weight float32
}

// keyParts appends the parts of the key of the message at a position.
func (t *messageVectors) keyParts(parts []keyPart, s *session, at int, kind kindNo) []keyPart {
	for to := max(at-denseReach, 0); to <= min(at+denseReach, len(s.messages)-1); to++ {
		if row := t.rows[s.messages[to]]; row != none {
			parts = append(parts, keyPart{row, to - at, denseWeight(kind, to-at)})
		}
	}
	return parts
}

// QueryVector is an embedded query, of length 1; the zero one where words alone must do.
type QueryVector struct {
	Version   int // of the embeddings
	Values    []float32
	Unrelated float64 // what is no nearer is not found: see embed.Info
}

// SearchVectors returns the messages whose keys are nearest to a vector by cosine, times their factors, in the order of
// Search, as many as are fused. The query's terms only name speakers here; its Limit and MinRelevance do not count.
// There are none when the query's vector is of another version than those of the messages. Once Query.Done is closed the
// result is cut short and means nothing.
func (x *Index) SearchVectors(v QueryVector, q Query) []Match {
	if len(x.vectors.units) == 0 || v.Version != x.vectors.version || len(v.Values) != x.vectors.dim {
		return nil
	}
	q.Limit = FuseDepth
	s := x.scratch.Get().(*scratch)
	r := x.newRanking(s, &q)
	if len(x.vectors.units) <= x.limits.rows || !r.offerLikely(v) {
		r.offerAll(v)
	}
	out := r.matches()
	s.clear()
	x.scratch.Put(s)
	return out
}

// offerAll offers the messages nearest to a vector after comparing all.
func (r *ranking) offerAll(v QueryVector) {
	x, s := r.x, r.s
	s.heap, r.least = s.heap[:0], math.Inf(-1)
	s.cosines = slices.Grow(s.cosines[:0], len(x.vectors.units))[:len(x.vectors.units)]
	r.compareAll(v.Values)
	factors := r.classFactors()
	for _, in := range x.bySession {
		if r.stopped() {
			return
		}
		if r.q.Sessions == nil || r.q.Sessions[in.key] {
			r.offerSession(in, v.Unrelated, &factors)
		}
	}
}

// offerSession offers the messages of a session with a vector that are nearer than unrelated.
func (r *ranking) offerSession(in *session, unrelated float64, factors *classFactors) {
	t := &r.x.vectors
	cosines := r.s.around(r.x, in)
	for at, no := range in.messages {
		row := t.rows[no]
		if row == none {
			continue
		}
		m := &r.x.messages[no]
		score := t.keyScore(row, m.kind, (*[2*denseReach + 1]float32)(cosines[at:]))
		if score <= unrelated {
			continue
		}
		if c := (candidate{score: score * factors.of(no), message: no}); c.score >= r.least && r.admits(m) {
			r.offer(c)
		}
	}
}

// keyScore is the inner product of the query and a key: the sum of its parts' products. The cosines are those of the
// messages around it, zero where there is none.
func (t *messageVectors) keyScore(row int32, k kindNo, c *[2*denseReach + 1]float32) float64 {
	sum := c[2] + denseWeight(k, -2)*c[0] + denseWeight(k, -1)*c[1] + denseWeight(k, 1)*c[3] + denseWeight(k, 2)*c[4]
	return float64(sum * t.keys[row])
}

// around are the cosines of a session's messages in their order, with denseReach zeros before and after them; zero
// where a message has no vector.
func (s *scratch) around(x *Index, in *session) []float32 {
	n := len(in.messages) + 2*denseReach
	s.ordered = slices.Grow(s.ordered[:0], n)[:n]
	clear(s.ordered)
	for at, no := range in.messages {
		if row := x.vectors.rows[no]; row != none {
			s.ordered[at+denseReach] = s.cosines[row]
		}
	}
	return s.ordered
}

// Weigh returns those of the matches that the query admits and the index has, their scores times their factors, in the
// order of Search: what another index found, under this one's rules.
func (x *Index) Weigh(q Query, matches []Match) []Match {
	q.Limit = 0
	s := x.scratch.Get().(*scratch)
	r := x.newRanking(s, &q)
	for _, m := range matches {
		if in, at, ok := x.find(m.Place); ok && r.admits(&x.messages[in.messages[at]]) {
			no := in.messages[at]
			r.offer(candidate{score: m.Score * r.factor(&x.messages[no]), message: no})
		}
	}
	out := r.matches()
	s.clear()
	x.scratch.Put(s)
	return out
}

// matches are the candidates that were kept, in order.
func (r *ranking) matches() []Match {
	slices.SortFunc(r.s.heap, r.compare)
	out := make([]Match, len(r.s.heap))
	for i, c := range r.s.heap {
		m := &r.x.messages[c.message]
		out[i] = Match{Place: memory.Place{Session: r.sessionOf(m), Seq: m.seq}, Score: c.score, Kind: m.kind.kind()}
		if r.q.Explain {
			out[i].Factors = r.factors(m)
		}
	}
	return out
}

// messageSteps is into how many steps the largest component of a query is divided: more than those of a message's vector, and few
// enough that no product overflows at any dimension (see dot.MostSteps).
const messageSteps = 255

// compareAll sets the cosine of each row with the query. The processors share them.
func (r *ranking) compareAll(query []float32) {
	t := &r.x.vectors
	q := dot.Stepped(query, messageSteps)
	dot.StartScan(len(t.units), func(from, to int) {
		if r.stopped() {
			return
		}
		for row := from; row < to; row++ {
			r.s.cosines[row] = t.cosine(&q, int32(row))
		}
	}).Finish()
}

// cosine is that of a row's own vector with the query.
func (t *messageVectors) cosine(q *dot.SteppedQuery, row int32) float32 {
	return float32(dot.Int8(t.row(row), q.Steps)) * q.Unit * t.units[row]
}
