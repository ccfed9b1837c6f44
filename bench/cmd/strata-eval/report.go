package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
)

// result is a run, as its JSON file has it.
type result struct {
	Benchmark string       `json:"benchmark"`
	Facts     factsMode    `json:"facts"`
	Server    []string     `json:"server_flags,omitempty"`
	Skipped   int          `json:"skipped"` // questions without evidence
	Groups    []eval.Group `json:"groups"`
	Rows      []eval.Row   `json:"questions"`
}

func newResult(o options, set eval.Set, rows []eval.Row) result {
	out := result{Benchmark: o.benchmark, Facts: o.facts, Server: o.server, Groups: eval.Groups(rows), Rows: rows}
	for _, d := range set.Dialogues {
		out.Skipped += d.Skipped
	}
	return out
}

func (r result) write(path string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

func readResult(path string) (r result, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s is no result of strata-eval: %w", path, err)
	}
	return r, nil
}

// print writes the means of every group, a table for each kind of figure.
func (r result) print(out *measure.Report, o options) {
	out.Note("\nrecall of evidence turns by SearchMessages; all sessions with evidence among the first 5 and 10")
	var names []string
	for _, k := range eval.Depths() {
		names = append(names, eval.RecallAt(k))
	}
	names = append(names, eval.RecallUser, eval.RecallAssistant)
	for _, k := range eval.SessionDepths() {
		names = append(names, eval.SessionAllAt(k))
	}
	r.table(out, names)
	kinds := [][2]string{
		{eval.Evidence, "evidence turns in the rendered context, in tokens of four characters: the share, and all of them"},
		{eval.Known, "the same, a turn counting too when a fact learnt from it stands there"},
	}
	if o.sections {
		kinds = append(
			kinds,
			[2]string{eval.NoFacts, "without the sections of facts"},
			[2]string{eval.Turns, "without those of facts and summaries"},
		)
	}
	for _, k := range kinds {
		out.Note("\n%s", k[1])
		r.table(out, contextNames(k[0]))
	}
	out.Note("\n%d questions, %d without evidence skipped; with a degraded answer: %s", len(r.Rows), r.Skipped, r.degraded())
}

func contextNames(kind string) (names []string) {
	for _, b := range eval.Budgets() {
		names = append(names, eval.In(kind, b))
	}
	for _, b := range eval.Budgets() {
		names = append(names, eval.AllIn(kind, b))
	}
	return names
}

// table prints the figures that some group has.
func (r result) table(out *measure.Report, names []string) {
	names = slices.DeleteFunc(names, func(n string) bool {
		return !slices.ContainsFunc(r.Groups, func(g eval.Group) bool { _, ok := g.Mean[n]; return ok })
	})
	line := fmt.Sprintf("%-28s %9s", "", "questions")
	for _, n := range names {
		line += fmt.Sprintf(" %*s", width(n), n)
	}
	out.Note("%s", line)
	for _, g := range r.Groups {
		line := fmt.Sprintf("%-28s %9d", g.Name, g.Questions)
		for _, n := range names {
			line += fmt.Sprintf(" %*s", width(n), figure(g.Mean, n))
		}
		out.Note("%s", line)
	}
}

func width(name string) int { return max(8, len(name)) }

// figure is a mean, or a dash where no question of the group has it.
func figure(mean eval.Scores, name string) string {
	v, ok := mean[name]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// degraded counts the questions by tier that could not do its part.
func (r result) degraded() string {
	n := map[string]int{}
	var order []string
	for _, row := range r.Rows {
		for _, tier := range row.Degraded {
			if n[tier]++; n[tier] == 1 {
				order = append(order, tier)
			}
		}
	}
	for i, tier := range order {
		order[i] = fmt.Sprintf("%s %d", tier, n[tier])
	}
	return orNone(order)
}

// bar is the least that a figure's mean over all may be: a number, or another figure.
type bar struct {
	figure string
	least  float64
	other  string // "" for a number
}

func parseBar(written string) (bar, error) {
	name, value, ok := strings.Cut(written, "=")
	if !ok {
		return bar{}, fmt.Errorf("%q is not FIGURE=NUMBER or FIGURE=FIGURE", written)
	}
	least, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return bar{figure: name, other: value}, nil //nolint:nilerr // what is no number names a figure
	}
	return bar{figure: name, least: least}, nil
}

// judge adds the bars to the report. A figure that the run does not have is an error.
func judge(out *measure.Report, groups []eval.Group, bars []bar) error {
	if len(groups) == 0 {
		return fmt.Errorf("no question: nothing to be judged")
	}
	all := groups[len(groups)-1].Mean
	out.Note("")
	for _, b := range bars {
		got, ok := all[b.figure]
		if !ok {
			return fmt.Errorf("this run has no figure %q", b.figure)
		}
		name := b.figure
		if b.other != "" {
			if b.least, ok = all[b.other]; !ok {
				return fmt.Errorf("this run has no figure %q", b.other)
			}
			name += ", no less than " + b.other
		}
		out.AtLeast(name, got, b.least, "")
	}
	return nil
}
