package eval_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
)

// run makes a run of the given recalls.
func run(recall ...float64) (rows []eval.Row) {
	for i, v := range recall {
		rows = append(rows, eval.Row{Question: fmt.Sprint(i), Scores: eval.Scores{"recall_5": v}})
	}
	return rows
}

func TestCompare(t *testing.T) {
	t.Run("a constant gain has no interval", func(t *testing.T) {
		got, unpaired := eval.Compare(run(0, .25, .5), run(.5, .75, 1))
		want := []eval.Difference{{Metric: "recall_5", Questions: 3, A: .25, B: .75, Low: .5, High: .5}}
		if diff := cmp.Diff(want, got); diff != "" || unpaired != 0 {
			t.Error(diff, unpaired)
		}
	})
	t.Run("equal runs are never above", func(t *testing.T) {
		got, _ := eval.Compare(run(0, 1, 1./3), run(0, 1, 1./3))
		want := []eval.Difference{{Metric: "recall_5", Questions: 3, A: 4. / 9, B: 4. / 9, NotAbove: 1}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	// Of four draws from +1, 0, 0, 0 none hits the gain with (3/4)^4 = .316; the mean of four is 1 or more with 1/256.
	t.Run("the share at or below zero, and the interval, are those of the binomial", func(t *testing.T) {
		got, _ := eval.Compare(run(0, 0, 0, 0), run(1, 0, 0, 0))
		if d := got[0]; math.Abs(d.NotAbove-.316) > .015 || d.Low != 0 || d.High != .75 {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("the same runs give the same figures, whatever else they hold", func(t *testing.T) {
		a, b := run(0, .5, 1, 0, .5), run(1, .5, .5, 0, 1)
		once, _ := eval.Compare(a, b)
		for i := range a {
			a[i].Scores["recall_10"], b[i].Scores["recall_10"] = float64(i), 0
		}
		again, _ := eval.Compare(a, b)
		if diff := cmp.Diff(once[0], again[0]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("only questions that both runs have, and have the figure of, are paired", func(t *testing.T) {
		a, b := run(0, 0, 1), run(1, 1)
		b[1].Scores = eval.Scores{"recall_10": 1}
		got, unpaired := eval.Compare(a, b)
		want := []eval.Difference{{Metric: "recall_5", Questions: 1, A: 0, B: 1, Low: 1, High: 1}}
		if diff := cmp.Diff(want, got); diff != "" || unpaired != 1 {
			t.Error(diff, unpaired)
		}
	})
}
