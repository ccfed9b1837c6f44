// Command strata-locomo replays LoCoMo dialogues through a real server and says how much of each question's evidence
// comes back: by SearchMessages, and inside the context that BuildContext renders. The dialogues are read by path;
// none are part of this project.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/measure"
)

// The bars, for lexical recall over dialogues 26, 30 and 41.
const barRecall10 = 0.77

var barRendered = [3]float64{0.80, 0.86, 0.90}

type options struct {
	data, server, binary string
	json                 bool
	out                  io.Writer
}

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.data, "data", "", "the folder of LoCoMo dialogues (*.json)")
	flag.StringVar(&o.server, "server", "", "HOST:PORT of a running server; a server of its own when empty")
	flag.StringVar(&o.binary, "binary", "bin/strata", "the program to start")
	flag.BoolVar(&o.json, "json", false, "print every question's shares as JSON instead of tables")
	flag.Parse()
	os.Exit(measure.Main("strata-locomo", func(ctx context.Context) error { return run(ctx, o) }))
}

func run(ctx context.Context, o options) (err error) {
	if o.data == "" {
		return errors.New("no dialogues: name their folder with -data")
	}
	dialogues, err := readDialogues(o.data)
	if err != nil {
		return err
	}
	if o.server == "" {
		stop, addr, e := ownServer(ctx, o.binary)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, stop()) }()
		o.server = addr
	}
	answers, err := askAll(ctx, o, dialogues)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(answers)
	}
	return report(o.out, answers)
}

// ownServer starts a server over a temporary file.
func ownServer(ctx context.Context, binary string) (stop func() error, addr string, err error) {
	dir, err := os.MkdirTemp("", "strata-locomo-")
	if err != nil {
		return nil, "", fmt.Errorf("make a temporary folder: %w", err)
	}
	s, err := measure.StartServer(ctx, measure.ServerOptions{Binary: binary, Data: filepath.Join(dir, "locomo.db")})
	if err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(dir))
	}
	return func() error { return errors.Join(s.Stop(), os.RemoveAll(dir)) }, s.Addr, nil
}

func askAll(ctx context.Context, o options, dialogues []dialogue) ([]answer, error) {
	conn, err := measure.Dial(o.server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := memoryv1.NewMemoryServiceClient(conn)
	var answers []answer
	for _, d := range dialogues {
		if err := prepare(ctx, c, d); err != nil {
			return nil, err
		}
		for _, q := range d.questions {
			a, err := ask(ctx, c, d, q)
			if err != nil {
				return nil, fmt.Errorf("question of dialogue %s: %w", d.name, err)
			}
			answers = append(answers, a)
		}
	}
	return answers, nil
}

func prepare(ctx context.Context, c memoryv1.MemoryServiceClient, d dialogue) error {
	if err := replay(ctx, c, d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return waitIndexed(ctx, c, d)
}

// report prints the means per dialogue, per category and over all, and judges the last.
func report(out io.Writer, answers []answer) error {
	r := &measure.Report{Out: out}
	r.Note("LoCoMo, categories 1-4, lexical only, no facts; shares of evidence turns. %s", measure.Machine())
	r.Note("%-14s %9s %7s %7s %7s | rendered in %6s %6s %6s tokens of 4 characters", "", "questions", "r@5", "r@10", "r@20", "1k", "2k", "4k")
	for _, g := range groups(answers) {
		m := g.mean
		r.Note("%-14s %9d %7.3f %7.3f %7.3f |             %6.3f %6.3f %6.3f", g.name, g.n, m.Recall5, m.Recall10, m.Recall20,
			m.Rendered[0], m.Rendered[1], m.Rendered[2])
	}
	r.Note("")
	all := mean(answers)
	r.AtLeast("LoCoMo recall@10", all.Recall10, barRecall10, "")
	for i, b := range budgets {
		r.AtLeast(fmt.Sprintf("LoCoMo evidence in the rendered context at %d tokens", b), all.Rendered[i], barRendered[i], "")
	}
	return r.Finish()
}

type group struct {
	name string
	n    int
	mean answer
}

// groups are the dialogues in their order, the categories, and all.
func groups(answers []answer) []group {
	var out []group
	add := func(name string, keep func(answer) bool) {
		var in []answer
		for _, a := range answers {
			if keep(a) {
				in = append(in, a)
			}
		}
		if len(in) > 0 {
			out = append(out, group{name, len(in), mean(in)})
		}
	}
	seen := map[string]bool{}
	for _, a := range answers {
		if !seen[a.Dialogue] {
			seen[a.Dialogue] = true
			add("dialogue "+a.Dialogue, func(b answer) bool { return b.Dialogue == a.Dialogue })
		}
	}
	for c := 1; c <= 4; c++ {
		add(fmt.Sprintf("category %d", c), func(a answer) bool { return a.Category == c })
	}
	add("all", func(answer) bool { return true })
	return out
}

func mean(answers []answer) answer {
	var m answer
	n := float64(max(1, len(answers)))
	for _, a := range answers {
		m.Recall5 += a.Recall5 / n
		m.Recall10 += a.Recall10 / n
		m.Recall20 += a.Recall20 / n
		for i := range m.Rendered {
			m.Rendered[i] += a.Rendered[i] / n
		}
	}
	return m
}
