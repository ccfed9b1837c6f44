package sharding

import "slices"

// Spread is how a total lies over shards.
type Spread []int64

// Mean is what each would have if all had the same.
func (s Spread) Mean() float64 {
	sum := int64(0)
	for _, n := range s {
		sum += n
	}
	return float64(sum) / float64(max(len(s), 1))
}

// Largest is how many times the mean the largest has.
func (s Spread) Largest() float64 {
	if len(s) == 0 || s.Mean() == 0 {
		return 0
	}
	return float64(slices.Max(s)) / s.Mean()
}

// Ranges are what each range of a key space holds, and on which shard it is.
type Ranges struct {
	Holds []int64
	On    []int
}

// Divide puts ranges on shards, neighbours together, each shard as near to its share as whole ranges allow.
func Divide(holds []int64, shards int) Ranges {
	r := Ranges{holds, make([]int, len(holds))}
	total, sum := int64(0), int64(0)
	for _, n := range holds {
		total += n
	}
	for i, n := range holds {
		middle := float64(sum) + float64(n)/2
		r.On[i] = min(int(middle/float64(max(total, 1))*float64(shards)), shards-1)
		sum += n
	}
	return r
}

// Spread is what each of so many shards holds.
func (r Ranges) Spread(shards int) Spread {
	s := make(Spread, shards)
	for i, n := range r.Holds {
		s[r.On[i]] += n
	}
	return s
}

// balancedWithin is how many mean ranges two shards may differ by before MongoDB's balancer moves one.
const balancedWithin = 3

// Rebalance moves ranges as MongoDB's balancer does, from the fullest shard to the emptiest and never so many that the emptiest becomes the
// fuller, until they differ by no more than three ranges, and returns what it moved. A range of one user is moved whole or not at all.
func (r Ranges) Rebalance(shards int) (moved int64) {
	spread, of := r.Spread(shards), make([][]int, shards)
	total := int64(0)
	for i, n := range r.Holds {
		of[r.On[i]] = append(of[r.On[i]], i)
		total += n
	}
	for _, ranges := range of { // the smallest last, where they are taken from
		slices.SortStableFunc(ranges, func(a, b int) int { return int(r.Holds[b] - r.Holds[a]) })
	}
	threshold := balancedWithin * total / int64(max(len(r.Holds), 1))
	for {
		empty := slices.Index(spread, slices.Min(spread))
		full := -1
		for shard, ranges := range of { // one that could only move a range larger than half of the difference has nothing to give
			if n := len(ranges); n > 0 && 2*r.Holds[ranges[n-1]] <= spread[shard]-spread[empty] && (full < 0 || spread[shard] > spread[full]) {
				full = shard
			}
		}
		if full < 0 || spread[full]-spread[empty] <= threshold {
			return moved
		}
		last := len(of[full]) - 1
		i := of[full][last]
		of[full], of[empty] = of[full][:last], append(of[empty], i)
		r.On[i] = empty
		spread[full], spread[empty], moved = spread[full]-r.Holds[i], spread[empty]+r.Holds[i], moved+r.Holds[i]
	}
}
