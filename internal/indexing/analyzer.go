package indexing

import (
	"context"
	"log/slog"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/safegroup"
)

// Contained is an Analyzer for which no message makes the analysis of the others panic. A message whose analysis panics gets
// a document without words: it is shown and read like any other, but not found, until another version of the analyzer has it
// indexed again. Without that it would be tried at each look, and keep its user's other messages from being found.
type Contained struct {
	Analyzer
	Log *slog.Logger
}

// Analyze implements Analyzer.
func (a Contained) Analyze(ctx context.Context, messages []memory.PlacedMessage) (docs []rank.Doc, version int, err error) {
	err = safegroup.Contain(func() (err error) {
		docs, version, err = a.Analyzer.Analyze(ctx, messages)
		return err
	})
	if !safegroup.IsPanic(err) {
		return docs, version, err
	}
	return a.alone(ctx, messages)
}

// alone analyses each message by itself.
func (a Contained) alone(ctx context.Context, messages []memory.PlacedMessage) ([]rank.Doc, int, error) {
	var all documents
	for i, m := range messages {
		err := safegroup.Contain(func() error {
			one, version, err := a.Analyzer.Analyze(ctx, messages[i:i+1])
			if err == nil {
				all.add(one, version)
			}
			return err
		})
		switch {
		case safegroup.IsPanic(err):
			a.Log.ErrorContext(ctx, "a message cannot be taken apart: it is kept and shown, but not found by its words",
				"session", m.Session, "seq", m.Seq, "error", err)
			all.docs = append(all.docs, rank.Doc{Place: m.Place, Role: m.Message.Role, CreateMillis: m.Message.CreateTime.UnixMilli()})
		case err != nil:
			return nil, 0, err
		}
	}
	docs, version := all.together()
	return docs, version, nil
}

// documents are those of several calls of Analyze, each with a version of its vectors.
type documents struct {
	docs     []rank.Doc
	versions []int // those that differ
}

func (d *documents) add(docs []rank.Doc, version int) {
	d.docs = append(d.docs, docs...)
	if !slices.Contains(d.versions, version) {
		d.versions = append(d.versions, version)
	}
}

// together returns the documents and the version of all their vectors. Where another version became active meanwhile, none has a
// vector: they are given them later.
func (d *documents) together() (docs []rank.Doc, version int) {
	switch len(d.versions) {
	case 0:
		return d.docs, 0
	case 1:
		return d.docs, d.versions[0]
	}
	for i := range d.docs {
		d.docs[i].Vector = rank.Vector{}
	}
	return d.docs, 0
}
