package rank

import "math"

// accumulators add up, one term after the other, what passages score. Between searches all of it is zero.
type accumulators struct {
	tf      []float64 // by passage: the term at hand
	touched []int32   // passages with a tf; as touch does, there is room for one more than there are passages
	sums    []sum     // by passage
	matched []int32   // passages with a sum, with room for one more than there are
	bestOf  []int32   // by message: its best passage + 1
	found   []int32   // messages with a best passage
}

// sum is what the terms so far add up to in one passage.
type sum struct {
	score float64
	idf   float64
}

func (a *accumulators) grow(passages, messages int) {
	if len(a.tf) < passages {
		room := passages + passages/8
		a.tf, a.sums, a.touched, a.matched = make([]float64, room), make([]sum, room), make([]int32, 0, room+1), make([]int32, 0, room+1)
	}
	if len(a.bestOf) < messages {
		a.bestOf = make([]int32, messages+messages/8)
	}
}

func (a *accumulators) clearSums() {
	for _, p := range a.matched {
		a.sums[p] = sum{}
	}
	a.matched = a.matched[:0]
}

func (a *accumulators) addRange(first, last int32, tf float64) {
	if tf == 0 {
		return
	}
	for p := first; p < last; p++ {
		a.add(p, tf)
	}
}

func (a *accumulators) add(p int32, tf float64) {
	if a.tf[p] == 0 {
		a.touched = append(a.touched, p)
	}
	a.tf[p] += tf
}

// Touch adds to the sum of row p, and returns how many rows have a sum then. The row is written behind the n rows that have one, and
// counted if it is new. The processor cannot predict whether a row is new, so that a branch around the write would cost more.
func Touch(sums []float64, touched []int32, n int, p int32, by float64) int {
	touched[n] = p
	if math.Float64bits(sums[p]) == 0 {
		n++
	}
	sums[p] += by
	return n
}

// addScores adds the term at hand to the sums, and clears it.
func (a *accumulators) addScores(f *bm25, idf float64, of *passages) {
	tf, sums, kind, length := a.tf, a.sums, of.kind, of.length
	matched, n := a.matched[:cap(a.matched)], len(a.matched)
	for _, p := range a.touched {
		to := &sums[p]
		matched[n] = p // as touch does
		if math.Float64bits(to.idf) == 0 {
			n++
		}
		to.score += f.score(kind[p], idf, tf[p], length[p])
		to.idf += idf
		tf[p] = 0
	}
	a.touched, a.matched = a.touched[:0], matched[:n]
}

// choosePassages finds the best passage of each message that has several, the first of equal ones, and calls do with the only one of
// each other message.
func (a *accumulators) choosePassages(of *passages, do func(m, pass int32)) {
	for _, p := range a.matched {
		m := of.message[p]
		if of.single.has(m) {
			do(m, p)
			continue
		}
		best := a.bestOf[m] - 1
		switch {
		case best < 0:
			a.found = append(a.found, m)
			a.bestOf[m] = p + 1
		case a.sums[p].score > a.sums[best].score || a.sums[p].score == a.sums[best].score && p < best:
			a.bestOf[m] = p + 1
		}
	}
}

// clearTerm drops the term at hand.
func (a *accumulators) clearTerm() {
	for _, p := range a.touched {
		a.tf[p] = 0
	}
	a.touched = a.touched[:0]
}
