package rank

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/stratamem/strata/internal/memory"
)

// TurnVector is the vector of one message. Only its direction counts: values are multiples of any step.
type TurnVector struct {
	memory.Place
	Values []int8
}

// turnVectors are the vectors of an index's messages. A message is compared by its key: the sum of its own vector and
// those around it, each of length 1, by denseWeight. The key itself is not kept: its inner product with a query is the
// sum of its parts' products.
type turnVectors struct {
	dim    int       // 0 without any vector
	values []int8    // a row for each vector
	units  []float32 // by row: 1 / the length of the vector
	keys   []float32 // by row: 1 / the length of the key
	rows   []int32   // by message: its row; none without a vector
}

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

// SetVectors gives messages their vectors. One whose message the index does not have, or that is all zero, is passed
// over. A vector of another dimension than the ones before drops those: they are of another model. It must not run
// beside any other call.
func (x *Index) SetVectors(vectors ...TurnVector) {
	touched := map[*session]struct{}{}
	for _, v := range vectors {
		s := x.sessions[v.Session]
		if s == nil {
			continue
		}
		at, ok := x.position(s, v.Seq)
		if !ok || !x.setVector(s.messages[at], v.Values) {
			continue
		}
		s.touchKeys(at)
		touched[s] = struct{}{}
	}
	x.settle(touched)
}

// touchKeys notes that the vector of the message at a position is new.
func (s *session) touchKeys(at int) {
	from, to := max(at-denseReach, 0), min(at+denseReach+1, len(s.messages))
	if s.dirty {
		from, to = min(from, s.from), max(to, s.to)
	}
	s.dirty, s.from, s.to = true, from, to
}

// DropVectors takes all vectors out: they are of another model.
func (x *Index) DropVectors() {
	x.turns = turnVectors{rows: x.turns.rows}
	for m := range x.turns.rows {
		x.turns.rows[m] = none
	}
}

// HasVector reports whether the message at the place has a vector.
func (x *Index) HasVector(p memory.Place) bool {
	s := x.sessions[p.Session]
	if s == nil {
		return false
	}
	at, ok := x.position(s, p.Seq)
	return ok && x.turns.rows[s.messages[at]] != none
}

// setVector keeps a message's vector, and reports whether it has a direction.
func (x *Index) setVector(m int32, values []int8) bool {
	length := math.Sqrt(float64(squares(values)))
	if length == 0 {
		return false
	}
	if len(values) != x.turns.dim {
		x.DropVectors()
		x.turns.dim = len(values)
	}
	t := &x.turns
	if t.rows[m] == none {
		t.rows[m] = int32(len(t.units))
		t.values = append(t.values, values...)
		t.units, t.keys = append(t.units, 0), append(t.keys, 0)
	}
	copy(t.row(t.rows[m]), values)
	t.units[t.rows[m]] = float32(1 / length)
	return true
}

func squares(values []int8) (sum int64) {
	for _, v := range values {
		sum += int64(v) * int64(v)
	}
	return sum
}

// row is a vector's values.
func (t *turnVectors) row(no int32) []int8 { return t.values[int(no)*t.dim : int(no+1)*t.dim] }

func (t *turnVectors) bytes() int64 {
	return int64(cap(t.values)) + 4*int64(cap(t.units)+cap(t.keys)+cap(t.rows))
}

// settleKeys works out the lengths of the keys of messages whose neighbours changed.
func (x *Index) settleKeys(s *session) {
	if len(x.turns.units) == 0 {
		return
	}
	key := make([]float32, x.turns.dim)
	for at := s.from; at < s.to; at++ {
		if row := x.turns.rows[s.messages[at]]; row != none {
			x.turns.keys[row] = float32(1 / x.keyLength(s, at, key))
		}
	}
}

// keyLength adds up a message's key, in room, and answers its length.
func (x *Index) keyLength(s *session, at int, room []float32) float64 {
	clear(room)
	var parts [2*denseReach + 1]keyPart
	for _, p := range x.keyParts(parts[:0], s, at) {
		weight := p.weight * x.turns.units[p.row]
		for i, v := range x.turns.row(p.row) {
			room[i] += weight * float32(v)
		}
	}
	return max(math.Sqrt(float64(Dot(room, room))), minKey)
}

// minKey keeps a key whose parts cancel each other out, as they nearly never do, from counting without bounds.
const minKey = 1e-3

// keyPart is one vector of a key.
type keyPart struct {
	row    int32
	weight float32
}

// keyParts appends the parts of a message's key.
func (x *Index) keyParts(parts []keyPart, s *session, at int) []keyPart {
	kind := x.messages[s.messages[at]].kind
	for to := max(at-denseReach, 0); to <= min(at+denseReach, len(s.messages)-1); to++ {
		if row := x.turns.rows[s.messages[to]]; row != none {
			parts = append(parts, keyPart{row, denseWeight(kind, to-at)})
		}
	}
	return parts
}

// SearchTurns returns the messages whose keys are nearest to a vector by cosine, times their factors, in the order of
// Search, as many as are fused. The query's terms only name speakers here; its Limit and MinRelevance do not count.
// There are none when the vector is of another dimension than those of the messages.
func (x *Index) SearchTurns(vector []float32, q Query) []Match {
	if len(x.turns.units) == 0 || len(vector) != x.turns.dim {
		return nil
	}
	q.Limit = FuseDepth
	s := x.scratch.Get().(*scratch)
	s.cosines = slices.Grow(s.cosines[:0], len(x.turns.units))[:len(x.turns.units)]
	x.turns.compare(vector, s.cosines)
	r := x.newRanking(s, &q)
	for _, in := range x.sessions {
		if q.Sessions == nil || q.Sessions[in.key] {
			r.offerTurns(in)
		}
	}
	out := r.matches()
	s.clear()
	x.scratch.Put(s)
	return out
}

// offerTurns offers the messages of a session with a vector.
func (r *ranking) offerTurns(in *session) {
	t := &r.x.turns
	for at, no := range in.messages {
		row := t.rows[no]
		if row == none {
			continue
		}
		score := float64(r.x.keyProduct(r.s.cosines, in, at) * t.keys[row])
		if m := &r.x.messages[no]; score > 0 && r.admits(m) {
			r.offer(candidate{score: score * r.factor(m), message: no})
		}
	}
}

// keyProduct is the inner product of the query and a message's key.
func (x *Index) keyProduct(cosines []float32, s *session, at int) float32 {
	sum := float32(0)
	var parts [2*denseReach + 1]keyPart
	for _, p := range x.keyParts(parts[:0], s, at) {
		sum += p.weight * cosines[p.row]
	}
	return sum
}

// Weigh returns those of the matches that the query admits and the index has, their scores times their factors, in the
// order of Search: what another index found, under this one's rules.
func (x *Index) Weigh(q Query, matches []Match) []Match {
	q.Limit = 0
	s := x.scratch.Get().(*scratch)
	r := x.newRanking(s, &q)
	for _, m := range matches {
		in := x.sessions[m.Session]
		if in == nil {
			continue
		}
		if at, ok := x.position(in, m.Seq); ok && r.admits(&x.messages[in.messages[at]]) {
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
		out[i] = Match{Place: memory.Place{Session: m.session.key, Seq: m.seq}, Score: c.score, Kind: m.kind.kind()}
		if r.q.Explain {
			out[i].Factors = r.factors(m)
		}
	}
	return out
}

// querySteps is into how many steps the largest component of a query is divided: integers are compared with integers.
const querySteps = 1 << 14

// compare sets the cosine of each row with the query. The processors share them.
func (t *turnVectors) compare(query, cosines []float32) {
	steps, unit := quantized(query)
	n := len(t.units)
	share := max(minShare, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for from := share; from < n; from += share {
		wg.Go(func() { t.compareRows(steps, unit, cosines, from, min(from+share, n)) })
	}
	t.compareRows(steps, unit, cosines, 0, min(share, n))
	wg.Wait()
}

// quantized is a vector in integers, and 1 / their length.
func quantized(v []float32) (steps []int64, unit float32) {
	largest := float32(0)
	for _, c := range v {
		largest = max(largest, c, -c)
	}
	steps = make([]int64, len(v))
	if largest == 0 {
		return steps, 0
	}
	sum := 0.0
	for i, c := range v {
		steps[i] = int64(math.Round(float64(c) / float64(largest) * querySteps))
		sum += float64(steps[i]) * float64(steps[i])
	}
	return steps, float32(1 / math.Sqrt(sum))
}

func (t *turnVectors) compareRows(steps []int64, unit float32, cosines []float32, from, to int) {
	for row := from; row < to; row++ {
		cosines[row] = float32(dot8(steps, t.row(int32(row)))) * unit * t.units[row]
	}
}

// dot8 is the inner product of two lists of one length, four sums side by side as Dot.
func dot8(a []int64, b []int8) int64 {
	var s0, s1, s2, s3 int64
	n := len(a) - len(a)%4
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		x, y := (*[4]int64)(a[i:]), (*[4]int8)(b[i:])
		s0 += x[0] * int64(y[0])
		s1 += x[1] * int64(y[1])
		s2 += x[2] * int64(y[2])
		s3 += x[3] * int64(y[3])
	}
	for i := n; i < len(a); i++ {
		s0 += a[i] * int64(b[i])
	}
	return s0 + s1 + s2 + s3
}
