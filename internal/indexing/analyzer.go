package indexing

import (
	"context"
	"log/slog"

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
	docs, versions := make([]rank.Doc, len(messages)), map[int]bool{}
	version := 0
	for i, m := range messages {
		err := safegroup.Contain(func() error {
			one, v, err := a.Analyzer.Analyze(ctx, messages[i:i+1])
			if err == nil {
				docs[i], version, versions[v] = one[0], v, true
			}
			return err
		})
		switch {
		case safegroup.IsPanic(err):
			a.Log.ErrorContext(ctx, "a message cannot be taken apart: it is kept and shown, but not found by its words",
				"session", m.Session, "seq", m.Seq, "error", err)
			docs[i] = rank.Doc{Place: m.Place, Role: m.Message.Role, CreateMillis: m.Message.CreateTime.UnixMilli()}
		case err != nil:
			return nil, 0, err
		}
	}
	if len(versions) > 1 { // another became active meanwhile: those that lack its vectors are given them later
		version = 0
		for i := range docs {
			docs[i].Vector = rank.Vector{}
		}
	}
	return docs, version, nil
}
