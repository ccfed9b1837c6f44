package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stratamem/strata/bench/internal/eval"
)

// compare prints how much each figure differs between two runs.
func compare(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("strata-eval compare", flag.ContinueOnError)
	kind := fs.String("type", "", "only questions of this type; all that are not apart when empty")
	var paths []string
	for len(args) > 0 { // flags may stand before and after the files
		if err := fs.Parse(args); err != nil {
			return err
		}
		if args = fs.Args(); len(args) > 0 {
			paths, args = append(paths, args[0]), args[1:]
		}
	}
	if len(paths) != 2 {
		return errors.New(usage)
	}
	a, err := readResult(paths[0])
	if err != nil {
		return err
	}
	b, err := readResult(paths[1])
	if err != nil {
		return err
	}
	return printDifferences(out, ofType(a.Rows, *kind), ofType(b.Rows, *kind))
}

func ofType(rows []eval.Row, kind string) []eval.Row {
	var kept []eval.Row
	for _, r := range rows {
		if r.Type == kind || kind == "" && !r.Apart {
			kept = append(kept, r)
		}
	}
	return kept
}

func printDifferences(out io.Writer, a, b []eval.Row) error {
	differences, unpaired := eval.Compare(a, b)
	if len(differences) == 0 {
		return errors.New("the two runs share no question")
	}
	fmt.Fprintf(out, "paired bootstrap over questions, %d resamples; %d questions stand in one run alone\n", eval.Resamples, unpaired)
	fmt.Fprintf(out, "%-18s %9s %7s %7s %8s   %-18s %s\n", "", "questions", "A", "B", "B - A", "95 %", "share <= 0")
	for _, d := range differences {
		fmt.Fprintf(out, "%-18s %9d %7.3f %7.3f %+8.4f   [%+.4f, %+.4f] %10.4f\n",
			d.Metric, d.Questions, d.A, d.B, d.B-d.A, d.Low, d.High, d.NotAbove)
	}
	return nil
}
