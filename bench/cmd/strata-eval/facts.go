package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/measure"
)

// learnFacts records labelled chats and prints what the server learnt of them.
func learnFacts(ctx context.Context, args []string, out io.Writer) (err error) {
	o := options{benchmark: "facts", facts: factsServer, clients: 1}
	fs := flag.NewFlagSet("strata-eval facts", flag.ContinueOnError)
	fs.StringVar(&o.data, "data", "", "the folder, file or zip of chats, as strata-eval chats reads them")
	fs.StringVar(
		&o.address,
		"address",
		"",
		"HOST:PORT of a running server; one of its own when empty. It should not know the chats' users yet",
	)
	fs.StringVar(&o.binary, "binary", "bin/strata", "the program to start")
	fs.StringVar(&o.json, "json", "", "a file for the figures")
	list := fs.Bool("list", false, "print the messages that no fact was learnt from, the facts without reason and the outdated ones")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o.server = fs.Args()
	if err := o.check(); err != nil {
		return err
	}
	set, err := load(o, eval.Chats)
	if err != nil {
		return err
	}
	if o.address == "" {
		stop, addr, err := startServer(ctx, o, set)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		o.address = addr
	}
	learnt, err := learnAll(ctx, o, set)
	if err != nil {
		return err
	}
	r := &measure.Report{Out: out}
	printLearnt(r, set, learnt, *list)
	if o.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(learnt, "", " ")
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return os.WriteFile(o.json, append(b, '\n'), 0o600)
}

// learnAll records the dialogues one after another and judges what the server learnt of each.
func learnAll(ctx context.Context, o options, set eval.Set) ([]eval.Learnt, error) {
	conn, err := measure.Dial(o.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var out []eval.Learnt
	for _, d := range set.Dialogues {
		p := &player{options: o, conn: conn, memory: memoryv1.NewMemoryServiceClient(conn), dialogue: d, index: d.Index()}
		if err := p.replay(ctx); err != nil {
			return nil, fmt.Errorf("dialogue %s: %w", d.Name, err)
		}
		facts, err := p.listFacts(ctx)
		if err != nil {
			return nil, fmt.Errorf("dialogue %s: %w", d.Name, err)
		}
		out = append(out, d.Judge(facts))
	}
	return out, nil
}

// listFacts lists all facts of the player's user, those that do not hold any more too.
func (p *player) listFacts(ctx context.Context) ([]eval.LearntFact, error) {
	var out []eval.LearntFact
	client := memoryv1.NewFactServiceClient(p.conn)
	for token := ""; ; {
		r, err := client.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: p.user(), IncludePast: true, PageSize: 500, PageToken: token})
		if err != nil {
			return nil, fmt.Errorf("list facts: %w", err)
		}
		for _, f := range r.GetFacts() {
			fact := eval.LearntFact{Text: f.GetText(), Current: f.GetValidTo() == nil && f.GetSupersededBy() == ""}
			for _, e := range f.GetEvidence() {
				if !e.GetEnds() {
					fact.Turns = append(fact.Turns, e.GetMessageId())
				}
			}
			out = append(out, fact)
		}
		if token = r.GetNextPageToken(); token == "" {
			return out, nil
		}
	}
}

// printLearnt prints the figures by dialogue, then by language.
func printLearnt(r *measure.Report, set eval.Set, learnt []eval.Learnt, list bool) {
	var languages []*eval.Learnt
	r.Note("%-24s %16s %8s %18s %10s %22s", "", "lasting learnt", "share", "junk of other", "per 1,000", "replaced known stale")
	line := func(name string, l eval.Learnt) {
		r.Note("%-24s %8d of %4d %8.3f %10d of %4d %10.1f %8d %6d %6d",
			name, l.Found, l.Lasting, l.Recall(), l.Junk, l.Other, l.JunkPerThousand(), l.Replaced, l.Known, l.Stale)
	}
	for i, l := range learnt {
		line(l.Name, l)
		language := cmp.Or(set.Dialogues[i].Language, "unknown")
		at := slices.IndexFunc(languages, func(x *eval.Learnt) bool { return x.Name == language })
		if at < 0 {
			at, languages = len(languages), append(languages, &eval.Learnt{Name: language})
		}
		languages[at].Add(l)
	}
	r.Note("")
	for _, l := range languages {
		line("language "+l.Name, *l)
	}
	if !list {
		return
	}
	for _, l := range learnt {
		for _, kind := range []struct {
			name  string
			lines []string
		}{{"missed", l.Missed}, {"without reason", l.Unfounded}, {"outdated", l.Outdated}} {
			for _, words := range kind.lines {
				r.Note("%s: %s: %s", l.Name, kind.name, words)
			}
		}
	}
}
