// Command strata-eval replays benchmarks of long conversations through a real server and says how much of each question's evidence comes
// back: by SearchMessages, and inside the contexts that BuildContext renders. The benchmarks are read by path; those of other authors are
// no part of this project. Of labelled chats it says too what a server learns. Nothing is fitted here: what the server ranks with is the
// server's own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
)

const usage = `usage: strata-eval locomo|beam|longmemeval|chats -data PATH [flags] [-- flags of the server]
       strata-eval facts -data PATH [flags] [-- flags of the server]
       strata-eval compare A.json B.json [-type TYPE]
each benchmark tells its flags with -help`

func main() {
	os.Exit(measure.Main("strata-eval", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout) }))
}

// reader reads a benchmark's files.
type reader func(files fs.FS, root string) (eval.Set, error)

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	readers := map[string]reader{"locomo": eval.LoCoMo, "beam": eval.BEAM, "longmemeval": eval.LongMemEval, "chats": eval.Chats}
	switch read, ok := readers[args[0]]; {
	case ok:
		o, err := parse(args[0], args[1:])
		if err != nil {
			return err
		}
		return measureSet(ctx, o, read, out)
	case args[0] == "facts":
		return learnFacts(ctx, args[1:], out)
	case args[0] == "compare":
		return compare(args[1:], out)
	}
	return fmt.Errorf("%q is no benchmark, nor facts or compare:\n%s", args[0], usage)
}

// measureSet reads a benchmark, asks a server and reports.
func measureSet(ctx context.Context, o options, read reader, out io.Writer) error {
	set, err := load(o, read)
	if err != nil {
		return err
	}
	r := &measure.Report{Out: out}
	rows, err := askServer(ctx, o, set, r)
	if err != nil {
		return err
	}
	result := newResult(o, set, rows)
	if o.json != "" {
		if err := result.write(o.json); err != nil {
			return err
		}
	}
	result.print(r, o)
	if len(o.bars) == 0 {
		return nil
	}
	if err := judge(r, result.Groups, o.bars); err != nil {
		return err
	}
	return r.Finish()
}

// load reads what the options choose.
func load(o options, read reader) (eval.Set, error) {
	files, root, closeFiles, err := open(o.data)
	if err != nil {
		return eval.Set{}, err
	}
	set, err := read(files, root)
	if err = errors.Join(err, closeFiles()); err != nil {
		return eval.Set{}, fmt.Errorf("load %s from %s: %w", o.benchmark, o.data, err)
	}
	if !o.apart {
		set = withoutApart(set)
	}
	if set, err = set.OfTypes(o.types); err != nil {
		return eval.Set{}, err
	}
	return set.Select(o.ids, o.limit)
}

func withoutApart(set eval.Set) eval.Set {
	for i := range set.Dialogues {
		var kept []eval.Question
		for _, q := range set.Dialogues[i].Questions {
			if !q.Apart {
				kept = append(kept, q)
			}
		}
		set.Dialogues[i].Questions = kept
	}
	return set
}

// askServer asks the running server of the options, or one that it starts and stops.
func askServer(ctx context.Context, o options, set eval.Set, r *measure.Report) (rows []eval.Row, err error) {
	if o.address == "" {
		stop, addr, err := startServer(ctx, o, set)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		o.address = addr
	}
	r.Note("%s, facts %s, flags of the server: %s. %s", o.benchmark, o.facts, orNone(o.server), measure.Machine())
	for _, n := range set.Notes {
		r.Note("left out: %s", n)
	}
	return replay(ctx, o, set, r)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
