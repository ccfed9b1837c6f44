package indexing

import (
	"context"
	"log/slog"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/segment"
)

// Contained is an Analyzer for which no message makes the analysis of the others panic. A message whose analysis panics gets
// a document without words, or without a vector where its words are known: it is shown and read like any other, but not found by
// them, until Indexer.Retry can analyse it. Without that it would be tried at each look,
// and keep its user's other messages from being found.
type Contained struct {
	Analyzer
	Log *slog.Logger
}

// Analyze implements Analyzer.
func (a Contained) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]segment.Doc, int, error) {
	all, err := a.documents(ctx, messages)
	if err != nil {
		return nil, 0, err
	}
	docs, version := all.together()
	return docs, version, nil
}

// documents makes those of the messages, and names the messages whose analysis panicked.
func (a Contained) documents(ctx context.Context, messages []memory.PlacedMessage) (all documents, err error) {
	err = safegroup.Contain(func() error {
		docs, version, err := a.Analyzer.Analyze(ctx, messages)
		if err == nil {
			all.add(documents{docs: docs, versions: []int{version}})
		}
		return err
	})
	if safegroup.IsPanic(err) {
		return a.alone(ctx, messages)
	}
	return all, err
}

// alone analyses each message by itself.
func (a Contained) alone(ctx context.Context, messages []memory.PlacedMessage) (documents, error) {
	var all documents
	for i, m := range messages {
		var one documents
		err := safegroup.Contain(func() error {
			docs, version, err := a.Analyzer.Analyze(ctx, messages[i:i+1])
			if len(docs) == 1 {
				one = documents{docs: docs, versions: []int{version}}
			}
			return err
		})
		lost := "meaning"
		if len(one.docs) == 0 {
			lost = "words"
			one.docs = []segment.Doc{{Place: m.Place, Role: m.Message.Role, CreateMillis: m.Message.CreateTime.UnixMilli()}}
		}
		switch {
		case err == nil:
			all.add(one)
		case safegroup.IsPanic(err):
			a.Log.ErrorContext(ctx, "a message cannot be indexed whole: it is kept and shown, but not found by what is lost",
				"session", m.Session, "seq", m.Seq, "lost", lost, "error", err)
			one.without = []memory.Place{m.Place}
			all.add(one)
		default:
			return documents{}, err
		}
	}
	return all, nil
}

// documents are those of several calls of Analyze, each with a version of its vectors.
type documents struct {
	docs     []segment.Doc
	versions []int          // those that differ
	without  []memory.Place // of messages whose analysis panicked: their documents are without words, or without a vector
}

func (d *documents) add(more documents) {
	d.docs = append(d.docs, more.docs...)
	d.without = append(d.without, more.without...)
	for _, v := range more.versions {
		if !slices.Contains(d.versions, v) {
			d.versions = append(d.versions, v)
		}
	}
}

// together returns the documents and the version of all their vectors. Where another version became active meanwhile, none has a
// vector: they are given them later.
func (d *documents) together() (docs []segment.Doc, version int) {
	switch len(d.versions) {
	case 0:
		return d.docs, 0
	case 1:
		return d.docs, d.versions[0]
	}
	for i := range d.docs {
		d.docs[i].Vector = segment.Vector{}
	}
	return d.docs, 0
}
