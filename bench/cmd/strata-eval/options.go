package main

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	benchmark string
	data      string
	ids       []string
	types     []string
	limit     int
	apart     bool

	address string
	binary  string
	tiers   bool
	server  []string // further flags of the server that is started

	facts    factsMode
	sections bool
	clients  int
	settle   time.Duration

	json string
	bars []bar
}

// factsMode says what a server may learn from what is recorded.
type factsMode string

const (
	factsNone     factsMode = "none"     // nothing: every message is marked so
	factsServer   factsMode = "server"   // what the server learns by itself
	factsReplayed factsMode = "replayed" // what the benchmark's own model learnt, answered by a scripted model
)

// passed are the server's flags that can be given without a --.
func passed() []string {
	return []string{"embedding-base-url", "embedding-model", "embedding-dimension", "embedding-deadline", "embedding-timeout"}
}

func parse(benchmark string, args []string) (options, error) {
	o := options{benchmark: benchmark}
	fs := flag.NewFlagSet("strata-eval "+benchmark, flag.ContinueOnError)
	o.define(fs)
	for _, name := range passed() {
		fs.Func(name, "the server's flag of that name", func(v string) error {
			o.server = append(o.server, "--"+name+"="+v)
			return nil
		})
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.server = append(o.server, fs.Args()...)
	return o, o.check()
}

func (o *options) define(fs *flag.FlagSet) {
	fs.StringVar(&o.data, "data", "", "the benchmark's folder, JSON file or zip")
	fs.Func("ids", "the dialogues to ask about, with commas; all when not given", func(v string) error {
		o.ids = strings.Split(v, ",")
		return nil
	})
	fs.Func("types", "the types of questions to ask, with commas; all when not given", func(v string) error {
		o.types = strings.Split(v, ",")
		return nil
	})
	fs.IntVar(&o.limit, "limit", 0, "at most so many questions in all; 0 for any number")
	fs.BoolVar(&o.apart, "apart", false, "ask the questions that no mean over all counts, too: LoCoMo's adversarial ones")
	fs.StringVar(
		&o.address,
		"address",
		"",
		"HOST:PORT of a running server; one of its own when empty. It should not know the benchmark's users yet",
	)
	fs.StringVar(&o.binary, "binary", "bin/strata", "the program to start")
	fs.BoolVar(
		&o.tiers,
		"tiers",
		false,
		"let the server that is started keep all in MongoDB, Milvus and Elasticsearch, which STRATA_TEST_MONGODB_URI, _MILVUS_ADDR and _ELASTICSEARCH_URL name",
	)
	fs.StringVar(
		(*string)(&o.facts),
		"facts",
		string(factsNone),
		"none, server (what the server learns by itself) or replayed (what the benchmark's own model learnt; LoCoMo)",
	)
	fs.BoolVar(&o.sections, "sections", false, "build each context without facts, and without facts and summaries, too")
	fs.IntVar(&o.clients, "clients", 2, "how many dialogues are told, and questions asked, at once")
	fs.DurationVar(
		&o.settle,
		"settle",
		3*time.Second,
		"how long answers must stay the same before all questions are asked; more than an embedding endpoint takes for one call",
	)
	fs.StringVar(&o.json, "json", "", "a file for every question's figures")
	fs.Func("bar", "FIGURE=NUMBER or FIGURE=FIGURE: the least mean over all; may be given again", func(v string) error {
		b, err := parseBar(v)
		o.bars = append(o.bars, b)
		return err
	})
}

func (o *options) check() error {
	switch {
	case o.data == "":
		return errors.New("no benchmark: name its folder, file or zip with -data")
	case o.facts != factsNone && o.facts != factsServer && o.facts != factsReplayed:
		return fmt.Errorf("-facts is none, server or replayed, not %q", o.facts)
	case o.facts == factsReplayed && o.benchmark != "locomo":
		return fmt.Errorf("%s has no facts to be replayed: -facts is none or server", o.benchmark)
	case o.address != "" && (o.facts == factsReplayed || o.tiers || len(o.server) > 0):
		return errors.New("-facts replayed, -tiers and flags of the server are for a server that is started here: leave -address out")
	case o.clients < 1:
		return fmt.Errorf("-clients is at least 1, not %d", o.clients)
	}
	return nil
}

// open finds the files below a folder, in a zip, or the one file that the path names.
func open(path string) (files fs.FS, root string, closeFiles func() error, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", nil, err
	}
	none := func() error { return nil }
	switch {
	case info.IsDir():
		return os.DirFS(path), ".", none, nil
	case strings.EqualFold(filepath.Ext(path), ".zip"):
		z, err := zip.OpenReader(path)
		if err != nil {
			return nil, "", nil, fmt.Errorf("open %s: %w", path, err)
		}
		return z, ".", z.Close, nil
	}
	return os.DirFS(filepath.Dir(path)), filepath.Base(path), none, nil
}
