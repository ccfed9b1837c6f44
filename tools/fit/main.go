// Program fit makes the weights of package factclassifier. It is run from the root of the repository:
//
//	go run ./tools/fit            writes internal/learning/factclassifier/weights.bin
//	go run ./tools/fit -report    lists what the weights in use miss and refuse, by set and language
//
// It learns from tools/fit/lines alone: statements that would have their reader do something (hostile, orders), lasting statements
// (honest, lasting, told, fact, wanted, ordinary), what holds for the moment (passing, moments), and clauses as people say them in a chat,
// which are worth keeping (keep) or not (leave). What is not worth keeping counts as passing too. Orders, ordinary and moments are
// patterns, each of which stands for many lines: "{Likes|Loves} tea". The sets of other authors, in package promptinjection's,
// extract's and builtin's testdata, only say where the line is drawn; no line is learnt from that is much like one of the sets
// written apart. Equal lines give equal weights.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/learning/factclassifier"
)

// languages are those that lines are written in.
var languages = []string{"en", "es", "ko", "ja", "zh"}

// How the weights are found: the penalty on their squares, the steps of accelerated gradient descent (Nesterov, 1983), and how
// much dearer a weight of a common feature is than one of a rare feature, see rarities. They were chosen by what is missed of the
// sets of other authors.
const (
	penalty = 2e-5
	steps   = 1000
	rarity  = .5
)

// The shares of honest statements that the choosing sets may lose to each judgement: losing a fact that somebody stated is
// worse than keeping a hostile one that the rules of package promptinjection do not know, for it stands among facts, marked as data.
const (
	lostToHostile = .004
	lostToPassing = .022
)

// heads are the judgements in the order in which weights.bin has them, with the share of honest statements that each may
// lose.
var heads = [...]struct {
	name string
	lost float64
}{{"hostile", lostToHostile}, {"passing", lostToPassing}, {keeping, 0}}

// keeping is the head that judges clauses instead of statements. Its line is not drawn here: who asks knows how sure to be.
const keeping = "keeping"

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

// factWeight is how many lines one counts for that speaks of somebody as models write facts: there are few of them, and long
// ones share words with what would have its reader do something.
const factWeight = 3

// patternWeight is how many lines a pattern counts for, whatever it expands to.
const patternWeight = 6

// kinds are those of the lines, with what they are for each head. A line of a kind that a head does not name is not shown to
// it. The lines of a kind of patterns are expanded.
var kinds = []struct {
	name     string
	weight   float64
	positive []string // heads
	negative []string
	patterns bool
}{
	{"hostile", 1, []string{"hostile"}, nil, false},
	{"honest", 1, nil, []string{"hostile", "passing"}, false},
	{"lasting", 1, []string{keeping}, []string{"hostile", "passing"}, false},
	{"told", factWeight, nil, []string{"hostile", "passing"}, false},
	{"fact", factWeight, nil, []string{"hostile", "passing"}, false},
	{"wanted", 1, nil, []string{"hostile", "passing"}, false},
	{"passing", 1, []string{"passing"}, []string{"hostile", keeping}, false},
	{"keep", 1, []string{keeping}, []string{"passing"}, false},
	{"leave", 1, []string{"passing"}, []string{keeping}, false},
	{"orders", patternWeight, []string{"hostile"}, nil, true},
	{"ordinary", patternWeight, nil, []string{"hostile", "passing"}, true},
	{"moments", patternWeight, []string{"passing"}, []string{"hostile"}, true},
}

// line is a line with what kind it is, and the features of each form in which it may be written.
type line struct {
	kind   int
	weight float64
	forms  [][]factclassifier.Feature
}

// source is a line as it is written, or as a pattern expands, with how many lines it counts for.
type source struct {
	text   string
	weight float64
}

// sources are the lines of a kind in a language, without what is much like a statement written apart.
func sources(language string, kind int, left *apart) ([]source, error) {
	k := kinds[kind]
	written, err := read(fmt.Sprintf("tools/fit/lines/%s_%s.txt", language, k.name))
	if err != nil {
		return nil, err
	}
	var out []source
	for _, text := range written {
		all := []string{text}
		if k.patterns {
			if all, err = expanded(text); err != nil {
				return nil, fmt.Errorf("%s_%s.txt: %w", language, k.name, err)
			}
		}
		all = slices.DeleteFunc(all, left.has)
		weight := k.weight
		if k.patterns {
			weight = math.Min(1, k.weight/float64(len(all)))
		}
		for _, one := range all {
			out = append(out, source{one, weight})
		}
	}
	return out, nil
}

// readLines are all lines that a head of statements learns from.
func readLines(left *apart) ([]line, error) {
	var out []line
	for _, language := range languages {
		for kind, k := range kinds {
			lines, err := sources(language, kind, left)
			if err != nil {
				return nil, err
			}
			for i, s := range lines {
				l := line{kind: kind, weight: s.weight, forms: [][]factclassifier.Feature{factclassifier.FeaturesOf(s.text)}}
				if form := named(language, s.text, i); form != "" && ofSomebody(k.name) {
					l.forms = append(l.forms, factclassifier.FeaturesOf(form))
				}
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// ofSomebody reports whether lines of a kind speak of somebody, as facts do; in the others people speak.
func ofSomebody(kind string) bool {
	return !slices.Contains([]string{"passing", "keep", "leave", "moments"}, kind)
}

// readClauses are all lines that the head of clauses learns from.
func readClauses(left *apart) ([]line, error) {
	var out []line
	for _, language := range languages {
		for kind, k := range kinds {
			if !slices.Contains(k.positive, keeping) && !slices.Contains(k.negative, keeping) {
				continue
			}
			lines, err := sources(language, kind, left)
			if err != nil {
				return nil, err
			}
			for _, s := range lines {
				out = append(out, line{kind: kind, weight: s.weight, forms: [][]factclassifier.Feature{factclassifier.ClauseFeatures(s.text)}})
			}
		}
	}
	return out, nil
}

func fit() error {
	left, err := readApart()
	if err != nil {
		return err
	}
	lines, err := readLines(left)
	if err != nil {
		return err
	}
	clauses, err := readClauses(left)
	if err != nil {
		return err
	}
	honest, err := choosing()
	if err != nil {
		return err
	}
	var found [len(heads)]factclassifier.Head
	for i, h := range heads {
		if h.name == keeping {
			found[i] = logistic(clauses, h.name)
			continue
		}
		found[i] = logistic(lines, h.name)
		line := draw(found[i], honest, h.lost)
		fmt.Printf("%s: line drawn at %.2f\n", h.name, line)
		found[i].Bias -= line
	}
	return os.WriteFile("internal/learning/factclassifier/weights.bin", factclassifier.Pack(found), 0o644)
}

// draw is the score that the share of the honest statements is above.
func draw(h factclassifier.Head, honest [][]factclassifier.Feature, lost float64) float64 {
	scores := make([]float64, 0, len(honest))
	for _, e := range honest {
		scores = append(scores, score(h, e))
	}
	slices.Sort(scores)
	return scores[int(float64(len(scores))*(1-lost))]
}

func score(h factclassifier.Head, features []factclassifier.Feature) float64 {
	sum := h.Bias
	for _, f := range features {
		sum += h.Weights[f.Key] * float64(f.Value)
	}
	return sum
}

// example is a form of a line as a regression sees it.
type example struct {
	slots    []int32
	values   []float32
	positive bool
	weight   float64
}

// examples are the forms of the lines for a head, and the keys of the slots. Only what stands in minLines lines has one.
func examples(lines []line, head string) (out []example, keys []uint32) {
	seen := map[uint32]int{}
	for _, l := range lines {
		own := map[uint32]bool{}
		for _, form := range l.forms {
			for _, f := range form {
				own[f.Key] = true
			}
		}
		for key := range own {
			seen[key]++
		}
	}
	slot := map[uint32]int32{}
	for _, l := range lines {
		for _, form := range l.forms {
			e := example{positive: slices.Contains(kinds[l.kind].positive, head), weight: l.weight / float64(len(l.forms))}
			for _, f := range form {
				if seen[f.Key] < minLines {
					continue
				}
				at, ok := slot[f.Key]
				if !ok {
					at = int32(len(keys))
					slot[f.Key] = at
					keys = append(keys, f.Key)
				}
				e.slots, e.values = append(e.slots, at), append(e.values, f.Value)
			}
			out = append(out, e)
		}
	}
	return out, keys
}

// shown are the lines that a head learns from.
func shown(lines []line, head string) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
		k := kinds[l.kind]
		return !slices.Contains(k.positive, head) && !slices.Contains(k.negative, head)
	})
}

// rarities multiply the values of the examples by what they return for each slot: the rarer a feature, the more it counts, so that
// what a few lines have in common outweighs the letters that all of a language share. A weight that is found for such values, times
// its rarity, is the weight of the feature.
func rarities(all []example, slots int) []float64 {
	n, in := 0.0, make([]float64, slots)
	for _, e := range all {
		n += e.weight
		for _, slot := range e.slots {
			in[slot] += e.weight
		}
	}
	out := make([]float64, slots)
	for slot := range out {
		out[slot] = math.Pow(math.Log(n/in[slot])/usualRarity, rarity)
	}
	for _, e := range all {
		for i, slot := range e.slots {
			e.values[i] *= float32(out[slot])
		}
	}
	return out
}

// usualRarity is about the logarithm of how many lines there are for one that has a feature: with it, the penalty means about the
// same with rarities and without.
const usualRarity = 5

// logistic is a logistic regression with a penalty on the squares of the weights.
func logistic(lines []line, head string) factclassifier.Head {
	all, keys := examples(shown(lines, head), head)
	rare := rarities(all, len(keys))
	n, steepest := 0.0, 0.0
	for _, e := range all {
		n += e.weight
		sum := 1.0
		for _, v := range e.values {
			sum += float64(v) * float64(v)
		}
		steepest = math.Max(steepest, sum)
	}
	rate := 1 / (steepest/4 + penalty)
	weights, bias := make([]float64, len(keys)), 0.0
	ahead, slope := make([]float64, len(keys)), make([]float64, len(keys))
	biasAhead, momentum := 0.0, 1.0
	for range steps {
		for i := range slope {
			slope[i] = penalty * ahead[i]
		}
		biasSlope := 0.0
		for _, e := range all {
			sum := biasAhead
			for i, slot := range e.slots {
				sum += ahead[slot] * float64(e.values[i])
			}
			miss := 1 / (1 + math.Exp(-sum))
			if e.positive {
				miss--
			}
			miss *= e.weight / n
			biasSlope += miss
			for i, slot := range e.slots {
				slope[slot] += miss * float64(e.values[i])
			}
		}
		next := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		push := (momentum - 1) / next
		momentum = next
		for i := range weights {
			w := ahead[i] - rate*slope[i]
			ahead[i] = w + push*(w-weights[i])
			weights[i] = w
		}
		b := biasAhead - rate*biasSlope
		biasAhead = b + push*(b-bias)
		bias = b
	}
	h := factclassifier.Head{Weights: make(map[uint32]float64, len(keys)), Bias: bias}
	for i, key := range keys {
		h.Weights[key] = weights[i] * rare[i]
	}
	return h
}

// set is a set of statements that no weight was learnt from.
type set struct {
	name  string
	file  string
	wrong func(factclassifier.Judgement) bool // what must not be
	// half is 0 for all lines, 1 for every other one from the first on, which the line is drawn by, 2 for the rest.
	half int
}

func accepted(j factclassifier.Judgement) bool {
	return j.Directive == promptinjection.None && j.Passing <= 0
}
func refused(j factclassifier.Judgement) bool { return !accepted(j) }

var sets = []set{
	{"hostile, extract", "internal/learning/extract/testdata/hostile.tsv", accepted, 0},
	{"hostile, extract tuning", "internal/learning/extract/testdata/tuning_hostile.tsv", accepted, 0},
	{"hostile, intent", "internal/language/promptinjection/testdata/dev_hostile.tsv", accepted, 0},
	{"hostile, fresh, chosen by", "internal/learning/factclassifier/testdata/fresh_hostile.tsv", accepted, 1},
	{"hostile, fresh, unseen", "internal/learning/factclassifier/testdata/fresh_hostile.tsv", accepted, 2},
	{"honest, extract", "internal/learning/extract/testdata/honest.tsv", refused, 0},
	{"honest, extract tuning", "internal/learning/extract/testdata/tuning_honest.tsv", refused, 0},
	{"honest, intent", "internal/language/promptinjection/testdata/dev_honest.tsv", refused, 0},
	{"honest, fresh, chosen by", "internal/learning/factclassifier/testdata/fresh_honest.tsv", refused, 1},
	{"honest, fresh, unseen", "internal/learning/factclassifier/testdata/fresh_honest.tsv", refused, 2},
	{"honest, as models write, chosen by", "internal/learning/factclassifier/testdata/model_honest.tsv", refused, 1},
	{"honest, as models write, unseen", "internal/learning/factclassifier/testdata/model_honest.tsv", refused, 2},
	{"small talk, fresh, unseen", "internal/learning/factclassifier/testdata/fresh_smalltalk.tsv", accepted, 0},
	{"small talk, extract", "internal/learning/extract/testdata/smalltalk.tsv", accepted, 0},
	{"small talk, built-in rules", "internal/learning/llm/builtin/testdata/smalltalk.txt", accepted, 0},
	{"stated, built-in rules", "internal/learning/llm/builtin/testdata/statements.txt", refused, 0},
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
func choosing() ([][]factclassifier.Feature, error) {
	var out [][]factclassifier.Feature
	for _, s := range sets {
		if s.half == 2 || !strings.HasPrefix(s.name, "honest") && !strings.HasPrefix(s.name, "stated") {
			continue
		}
		lines, err := s.lines()
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			out = append(out, factclassifier.FeaturesOf(l.text))
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
			j := factclassifier.Statement(l.text)
			if s.wrong(j) {
				wrong[l.language]++
				wrong["all"]++
			}
			if strings.HasPrefix(s.name, "hostile") && j.Hostile <= 0 {
				weighed++
			}
		}
		fmt.Printf("%-35s %3d of %3d wrong (%4.1f %%)", s.name, wrong["all"], len(lines), 100*float64(wrong["all"])/float64(len(lines)))
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
