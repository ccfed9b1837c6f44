package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is how often a difference is drawn anew.
const Resamples = 10_000

// rounding is what a sum of differences that cancel out may be off by.
const rounding = 1e-12

// Difference says how much a figure changed between two runs over the same questions.
type Difference struct {
	Metric    string
	Questions int     // that have the figure in both runs
	A, B      float64 // the means
	Low, High float64 // of B − A: where the middle 95 % of the resampled means lie
	NotAbove  float64 // the share of the resampled means of B − A that are 0 or less
}

// Compare pairs the questions of two runs by their ids and draws each figure's differences Resamples times with
// replacement (Efron's percentile bootstrap). Questions that are apart count with the others: leave them out before.
// Equal rows give equal results, whatever other figures there are. The second result is how many questions only one of
// the runs has.
func Compare(a, b []Row) (differences []Difference, unpaired int) {
	before := map[string]Scores{}
	for _, r := range a {
		before[r.Question] = r.Scores
	}
	pairs := [][2]Scores{}
	for _, r := range b {
		if s, ok := before[r.Question]; ok {
			pairs = append(pairs, [2]Scores{s, r.Scores})
		}
	}
	for _, m := range Metrics() {
		if d, ok := difference(m, pairs); ok {
			differences = append(differences, d)
		}
	}
	return differences, len(a) + len(b) - 2*len(pairs)
}

func difference(metric string, pairs [][2]Scores) (Difference, bool) {
	d := Difference{Metric: metric}
	var deltas []float64
	for _, p := range pairs {
		x, inA := p[0][metric]
		y, inB := p[1][metric]
		if inA && inB {
			d.A, d.B = d.A+x, d.B+y
			deltas = append(deltas, y-x)
		}
	}
	d.Questions = len(deltas)
	if d.Questions == 0 {
		return d, false
	}
	d.A, d.B = d.A/float64(d.Questions), d.B/float64(d.Questions)
	d.Low, d.High, d.NotAbove = bootstrap(deltas, rand.New(rand.NewPCG(1, 2)))
	return d, true
}

// bootstrap returns between which values the middle 95 % of the resampled means lie, and which share is 0 or less.
func bootstrap(deltas []float64, rng *rand.Rand) (low, high, notAbove float64) {
	means := make([]float64, Resamples)
	below := 0
	for i := range means {
		sum := 0.0
		for range deltas {
			sum += deltas[rng.IntN(len(deltas))]
		}
		means[i] = sum / float64(len(deltas))
		if means[i] <= rounding {
			below++
		}
	}
	slices.Sort(means)
	tail := int(math.Floor(Resamples * 0.025))
	return means[tail], means[Resamples-1-tail], float64(below) / Resamples
}
