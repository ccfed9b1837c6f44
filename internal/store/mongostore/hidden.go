package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Hidden implements store.Transcript.
func (s *transcript) Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error) {
	u, err := s.scope(ctx, user)
	if memory.IsGone(err) {
		return memory.Hidden{}, nil
	}
	if err != nil {
		return memory.Hidden{}, err
	}
	var out memory.Hidden
	both, reading := safegroup.WithContext(ctx)
	both.Go(func() (err error) {
		out.Starts, err = s.contextStarts(reading, u.Scope)
		return err
	})
	err = both.WaitWith(func() (err error) {
		out.Messages, err = s.hiddenMessages(reading, u.Scope)
		return err
	})
	return out, err
}

func (s *transcript) contextStarts(ctx context.Context, scope memory.ScopeKey) (map[memory.SessionKey]int64, error) {
	filter := eq("scope", scope, "context_start", bson.D{{Key: "$gt", Value: 0}})
	docs, err := readAll[sessionDoc](ctx, s.conversations, filter, options.Find().SetProjection(eq("context_start", 1)))
	if err != nil || len(docs) == 0 {
		return nil, s.failed("read where contexts start", err)
	}
	starts := make(map[memory.SessionKey]int64, len(docs))
	for _, d := range docs {
		starts[d.Key] = d.ContextStart
	}
	return starts, nil
}

func (s *transcript) hiddenMessages(ctx context.Context, scope memory.ScopeKey) (map[memory.SessionKey][]int64, error) {
	o := options.Find().SetProjection(eq("session", 1, "messages.seq", 1, "messages.hidden", 1))
	docs, err := readAll[turnDoc](ctx, s.turns, eq("scope", scope, "messages.hidden", true), o)
	if err != nil || len(docs) == 0 {
		return nil, s.failed("read hidden messages", err)
	}
	hidden := map[memory.SessionKey][]int64{}
	for _, d := range docs {
		for _, m := range d.Messages {
			if m.Hidden {
				hidden[d.Session] = append(hidden[d.Session], m.Seq)
			}
		}
	}
	for _, seqs := range hidden {
		slices.Sort(seqs)
	}
	return hidden, nil
}
