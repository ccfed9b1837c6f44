package service

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// originalsPage is how many messages are read at once for their originals.
const originalsPage = 1000

// addOriginals reads what providers gave of the messages that a rendering for Responses passes on as they came, the latest first,
// up to maxTailBytes. Those of earlier messages lack theirs then, and are left out of the rendering.
func (s *ContextBuilder) addOriginals(ctx context.Context, p ContextParams, g *gathered) error {
	if p.Render != assembly.RenderResponses {
		return nil
	}
	want := map[int64]*memory.Message{}
	var first, last int64
	for _, part := range [][]memory.Message{g.head, g.tail} {
		for i := range part {
			if m := &part[i]; !m.Hidden && assembly.OnlyProviderReads(m) {
				want[m.Seq] = m
				if first == 0 {
					first = m.Seq
				}
				last = m.Seq
			}
		}
	}
	room := int64(maxTailBytes)
	for before := last + 1; before > first && room > 0; {
		page, err := s.reads.Messages(ctx, store.MessageQuery{
			Ref: p.Ref, After: first - 1, Before: before, NewestFirst: true, Limit: originalsPage, MaxBytes: room, WithOriginal: true,
		})
		if err != nil {
			return fmt.Errorf("read originals: %w", err)
		}
		if len(page) == 0 {
			return nil // they were erased since
		}
		for _, read := range page {
			before = read.Seq
			if read.Original == nil {
				continue
			}
			room -= int64(len(read.Original.Data))
			if m := want[read.Seq]; m != nil {
				m.Original = read.Original
			}
		}
	}
	return nil
}
