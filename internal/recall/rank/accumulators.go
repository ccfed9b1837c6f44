package rank

// accumulators add up, one term after the other, what passages score. Between searches all of it is zero.
type accumulators struct {
	tf      []float64 // by passage: the term at hand
	touched []int32   // passages with a tf
	sums    []sum     // by passage
	matched []int32   // passages with a sum
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
		a.tf, a.sums = make([]float64, passages+passages/8), make([]sum, passages+passages/8)
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

// addScores adds the term at hand to the sums, and clears it.
func (a *accumulators) addScores(f *bm25, idf float64, of *passages) {
	for _, p := range a.touched {
		to := &a.sums[p]
		if to.idf == 0 {
			a.matched = append(a.matched, p)
		}
		to.score += f.score(of.kind[p], idf, a.tf[p], of.length[p])
		to.idf += idf
		a.tf[p] = 0
	}
	a.touched = a.touched[:0]
}

// choosePassages finds each message's best passage, the first of equal ones.
func (a *accumulators) choosePassages(of *passages) {
	for _, p := range a.matched {
		m := of.message[p]
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
