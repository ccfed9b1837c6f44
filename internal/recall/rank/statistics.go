package rank

import "math"

// statistics are those of all passages of an index, by kind.
type statistics struct {
	lengths [2]float64 // sums of the lengths of their fields
	counts  [2]int     // how many
}

func (s *statistics) add(k kindNo, length float64) {
	s.lengths[k] += length
	s.counts[k]++
}

func (s *statistics) remove(k kindNo, length float64) {
	s.lengths[k] -= length
	s.counts[k]--
}

// idf is the inverse document frequency of a term that so many fields hold.
func (s *statistics) idf(df int) float64 {
	return math.Log1p((float64(s.counts[0]+s.counts[1]-df) + .5) / (float64(df) + .5))
}

// bm25 are the constants of one search: by kind, a term counts tf·top / (tf + flat + slope·length).
type bm25 struct {
	top, flat, slope [2]float64
}

// bm25 returns the constants by the weights of each kind.
func (s *statistics) bm25(weights *[2]KindWeights) bm25 {
	var f bm25
	for k := range weights {
		w := &weights[k]
		f.top[k], f.flat[k] = w.K1+1, w.K1*(1-w.B)
		if s.lengths[k] > 0 {
			f.slope[k] = w.K1 * w.B * float64(s.counts[k]) / s.lengths[k]
		}
	}
	return f
}

func (f *bm25) score(k kindNo, idf, tf, length float64) float64 {
	return idf * (tf * f.top[k] / (tf + f.flat[k] + f.slope[k]*length))
}
