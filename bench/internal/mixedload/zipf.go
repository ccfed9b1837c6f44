// Package mixedload decides what a load of many users calls and when, keeps what they were promised, and judges what came of it. It
// makes no call and reads no clock.
package mixedload

import (
	"math"
	"sort"
)

// Zipf draws users by how active they are: the one of rank r, from 0, has a weight of 1/(r+1)^s.
type Zipf struct{ cumulative []float64 }

// NewZipf makes the law for n users, at least one. The exponent is at least 0, with which all are equal.
func NewZipf(n int, exponent float64) Zipf {
	z := Zipf{make([]float64, n)}
	sum := 0.0
	for r := range z.cumulative {
		sum += math.Pow(float64(r+1), -exponent)
		z.cumulative[r] = sum
	}
	return z
}

// Users is how many there are.
func (z Zipf) Users() int { return len(z.cumulative) }

// Rank is the user at x of [0, 1) of all activity.
func (z Zipf) Rank(x float64) int {
	n := len(z.cumulative)
	return min(sort.SearchFloat64s(z.cumulative, x*z.cumulative[n-1]), n-1)
}

// Weight is the share of all activity that a user has.
func (z Zipf) Weight(rank int) float64 {
	w := z.cumulative[rank]
	if rank > 0 {
		w -= z.cumulative[rank-1]
	}
	return w / z.cumulative[len(z.cumulative)-1]
}

// Shares divides a total by activity; nobody gets more than most, so that the others get what the most active would have beyond it.
// Everybody gets one at least, and the sum differs from the total by no more than one a user.
func (z Zipf) Shares(total, most int) []int {
	shares := make([]int, z.Users())
	fill := func(scale float64) (sum int) {
		for r := range shares {
			shares[r] = min(most, max(1, int(scale*z.Weight(r))))
			sum += shares[r]
		}
		return sum
	}
	low, high := 0.0, float64(total)
	for fill(high) < min(total, most*z.Users()) {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; fill(mid) < total {
			low = mid
		} else {
			high = mid
		}
	}
	fill(high)
	return shares
}
