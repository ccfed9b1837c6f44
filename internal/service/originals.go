package service

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// originalsPage is how many messages are read at once for their originals.
const originalsPage = 1000

// addOriginals reads what the provider gave of the messages that a rendering for Responses passes on as they came, the latest
// first, up to maxTailBytes. Earlier ones lack theirs then, and are left out of the rendering.
func (s *ContextBuilder) addOriginals(ctx context.Context, p ContextParams, g *gathered) error {
	if p.Render != assembly.RenderResponses {
		return nil
	}
	wanted := passedOn(g)
	if len(wanted) == 0 {
		return nil
	}
	seqs := slices.Sorted(maps.Keys(wanted))
	first, before := seqs[0], seqs[len(seqs)-1]+1
	for room := int64(maxTailBytes); before > first && room > 0; {
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
			if m := wanted[read.Seq]; m != nil {
				m.Original = read.Original
			}
		}
	}
	return nil
}

// passedOn are the gathered messages that nothing but their originals can render, by seq.
func passedOn(g *gathered) map[int64]*memory.Message {
	out := map[int64]*memory.Message{}
	for _, part := range [][]memory.Message{g.head, g.tail} {
		for i := range part {
			if m := &part[i]; !m.Hidden && assembly.OnlyProviderReads(m) {
				out[m.Seq] = m
			}
		}
	}
	return out
}
