// Program fit makes the weights of package judge. It is run from the root of the repository:
//
//	go run ./internal/judge/fit            writes internal/judge/weights.bin
//	go run ./internal/judge/fit -report    tells what the weights in use miss and refuse, by set and language
//
// It learns from fit/lines alone: statements that would have their reader do something (hostile), lasting statements
// (honest, lasting, told, wanted), and what holds for the moment (passing). The sets of other authors, in package intent's,
// extract's and builtin's testdata, only say where the line is drawn. Equal lines give equal weights.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/intent"
	"github.com/stratamem/strata/internal/judge"
)

// languages are those that lines are written in.
var languages = []string{"en", "es", "ko", "ja", "zh"}

// How the weights are found: the penalty on their squares, and the steps of accelerated gradient descent (Nesterov, 1983).
// Both were chosen by what is missed of the sets of other authors.
const (
	penalty = 2e-5
	steps   = 400
)

// The shares of honest statements that the choosing sets may lose to each judgement. They are short; of the observations
// of real dialogues (LoCoMo's, not part of this repository) three in a hundred are lost at the first.
const (
	lostToHostile = .008
	lostToPassing = .012
)

// minLines is in how many lines a feature must stand to get a weight.
const minLines = 2

func main() {
	report := flag.Bool("report", false, "tell what the weights in use miss and refuse")
	flag.Parse()
	run := fit
	if *report {
		run = tell
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// toldWeight is how many lines one counts for that tells of somebody at length, as models write facts: there are few of
// them, and long ones share words with what would have its reader do something.
const toldWeight = 8

// example is a line with what it is, and how many lines it counts for.
type example struct {
	judge.Example
	positive bool
	weight   float64
}

func fit() error {
	var hostile, passing []example
	for _, language := range languages {
		for _, kind := range []string{"hostile", "honest", "lasting", "told", "wanted", "passing"} {
			lines, err := read(fmt.Sprintf("internal/judge/fit/lines/%s_%s.txt", language, kind))
			if err != nil {
				return err
			}
			weight := 1.0
			if kind == "told" {
				weight = toldWeight
			}
			for _, line := range lines {
				e := judge.ExampleOf(line)
				if kind != "passing" {
					hostile = append(hostile, example{e, kind == "hostile", weight})
				}
				if kind != "hostile" {
					passing = append(passing, example{e, kind == "passing", weight})
				}
			}
		}
	}
	honest, err := choosing()
	if err != nil {
		return err
	}
	out := append(head("hostile", hostile, honest, lostToHostile), head("passing", passing, honest, lostToPassing)...)
	return os.WriteFile("internal/judge/weights.bin", out, 0o644)
}

// head fits a head, and draws its line where it refuses the share of the honest statements.
func head(name string, examples []example, honest []judge.Example, lost float64) []byte {
	weights, bias := logistic(examples)
	scores := make([]float64, 0, len(honest))
	for _, e := range honest {
		scores = append(scores, score(weights, bias, e))
	}
	slices.Sort(scores)
	line := scores[int(float64(len(scores))*(1-lost))]
	fmt.Printf("%s: %d lines, line drawn at %.2f\n", name, len(examples), line)
	return judge.Pack(weights, bias-line)
}

func score(weights []float64, bias float64, e judge.Example) float64 {
	for i, slot := range e.Slots {
		bias += weights[slot] * float64(e.Values[i])
	}
	return bias
}

// logistic is a logistic regression with a penalty on the squares of the weights.
func logistic(examples []example) (weights []float64, bias float64) {
	n := float64(len(examples))
	seen := make([]int, judge.Slots)
	steepest := 0.0
	for _, e := range examples {
		sum := 1.0
		for i, slot := range e.Slots {
			seen[slot]++
			sum += float64(e.Values[i]) * float64(e.Values[i])
		}
		steepest = math.Max(steepest, sum)
	}
	rate := 1 / (steepest/4 + penalty)
	weights = make([]float64, judge.Slots)
	ahead, slope := make([]float64, judge.Slots), make([]float64, judge.Slots)
	biasAhead, momentum := 0.0, 1.0
	for range steps {
		for i := range slope {
			slope[i] = penalty * ahead[i]
		}
		biasSlope := 0.0
		for _, e := range examples {
			miss := 1 / (1 + math.Exp(-score(ahead, biasAhead, e.Example)))
			if e.positive {
				miss--
			}
			miss *= e.weight / n
			biasSlope += miss
			for i, slot := range e.Slots {
				slope[slot] += miss * float64(e.Values[i])
			}
		}
		next := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		push := (momentum - 1) / next
		momentum = next
		for i := range weights {
			if seen[i] < minLines {
				continue
			}
			w := ahead[i] - rate*slope[i]
			ahead[i] = w + push*(w-weights[i])
			weights[i] = w
		}
		b := biasAhead - rate*biasSlope
		biasAhead = b + push*(b-bias)
		bias = b
	}
	return weights, bias
}

// set is a set of statements that no weight was learnt from.
type set struct {
	name  string
	file  string
	wrong func(judge.Judgement) bool // what must not be
	// half is 0 for all lines, 1 for every other one from the first on, which the line is drawn by, 2 for the rest.
	half int
}

func accepted(j judge.Judgement) bool { return j.Directive == intent.None && j.Passing <= 0 }
func refused(j judge.Judgement) bool  { return !accepted(j) }

var sets = []set{
	{"hostile, extract", "internal/extract/testdata/hostile.tsv", accepted, 0},
	{"hostile, extract tuning", "internal/extract/testdata/tuning_hostile.tsv", accepted, 0},
	{"hostile, intent", "internal/intent/testdata/dev_hostile.tsv", accepted, 0},
	{"hostile, fresh, chosen by", "internal/judge/testdata/fresh_hostile.tsv", accepted, 1},
	{"hostile, fresh, unseen", "internal/judge/testdata/fresh_hostile.tsv", accepted, 2},
	{"honest, extract", "internal/extract/testdata/honest.tsv", refused, 0},
	{"honest, extract tuning", "internal/extract/testdata/tuning_honest.tsv", refused, 0},
	{"honest, intent", "internal/intent/testdata/dev_honest.tsv", refused, 0},
	{"honest, fresh, chosen by", "internal/judge/testdata/fresh_honest.tsv", refused, 1},
	{"honest, fresh, unseen", "internal/judge/testdata/fresh_honest.tsv", refused, 2},
	{"small talk, fresh, unseen", "internal/judge/testdata/fresh_smalltalk.tsv", accepted, 0},
	{"small talk, extract", "internal/extract/testdata/smalltalk.tsv", accepted, 0},
	{"small talk, built-in rules", "internal/llm/builtin/testdata/smalltalk.txt", accepted, 0},
	{"stated, built-in rules", "internal/llm/builtin/testdata/statements.txt", refused, 0},
}

// labelled is a line of a set with its language; "" where the set does not tell.
type labelled struct{ language, text string }

func (s set) lines() ([]labelled, error) {
	lines, err := read(s.file)
	if err != nil {
		return nil, err
	}
	var out []labelled
	for i, line := range lines {
		if s.half == 1 && i%2 == 1 || s.half == 2 && i%2 == 0 {
			continue
		}
		fields := strings.Split(line, "\t")
		switch {
		case len(fields) == 3:
			out = append(out, labelled{fields[0], fields[2]})
		case len(fields) == 2 && fields[1] == "-": // states nothing
		default:
			out = append(out, labelled{"", fields[0]})
		}
	}
	return out, nil
}

// choosing are the honest statements of other authors that the lines are drawn by.
func choosing() ([]judge.Example, error) {
	var out []judge.Example
	for _, s := range sets {
		if s.half == 2 || !strings.HasPrefix(s.name, "honest") && !strings.HasPrefix(s.name, "stated") {
			continue
		}
		lines, err := s.lines()
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			out = append(out, judge.ExampleOf(l.text))
		}
	}
	return out, nil
}

func tell() error {
	for _, s := range sets {
		lines, err := s.lines()
		if err != nil {
			return err
		}
		wrong, weighed := map[string]int{}, 0
		for _, l := range lines {
			j := judge.Statement(l.text)
			if s.wrong(j) {
				wrong[l.language]++
				wrong["all"]++
			}
			if strings.HasPrefix(s.name, "hostile") && j.Hostile <= 0 {
				weighed++
			}
		}
		fmt.Printf("%-28s %3d of %3d wrong (%4.1f %%)", s.name, wrong["all"], len(lines), 100*float64(wrong["all"])/float64(len(lines)))
		for _, language := range languages {
			fmt.Printf("  %s %d", language, wrong[language])
		}
		if strings.HasPrefix(s.name, "hostile") {
			fmt.Printf("  by the weights alone %d", weighed)
		}
		fmt.Println()
	}
	return nil
}

// read is the lines of a file.
func read(name string) ([]string, error) {
	raw, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n"), nil
}
