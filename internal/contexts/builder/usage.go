package builder

import (
	"context"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// usedEvery is how exact a fact's last use is kept: a write for every context would cost more than it is worth.
const usedEvery = time.Hour

// Usage notes beside the calls when facts were last in a context. What does not fit its queue is not noted: a later
// context notes it again.
type Usage struct {
	store FactToucher
	queue chan used
	log   *slog.Logger
}

// FactToucher is the part of the store that keeps when facts were used.
type FactToucher interface {
	TouchFacts(ctx context.Context, user memory.UserRef, ids []string, at time.Time) error
}

type used struct {
	user  memory.UserRef
	facts []string
	at    time.Time
}

// NewUsage makes a Usage; Run must be called for it to do anything.
func NewUsage(s FactToucher, log *slog.Logger) *Usage {
	return &Usage{store: s, queue: make(chan used, 1024), log: log}
}

// Run writes what is noted until ctx ends, and returns nil then.
func (u *Usage) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-u.queue:
			err := safegroup.Contain(func() error { return u.store.TouchFacts(ctx, n.user, n.facts, n.at) })
			if err != nil && ctx.Err() == nil {
				u.log.WarnContext(ctx, "note when facts were used", "error", err)
			}
		}
	}
}

// note queues the facts in the sections whose last use is an hour ago or more. It never blocks.
func (u *Usage) note(user memory.UserRef, sections []assembly.Section, at time.Time) {
	n := used{user: user, at: at}
	for _, s := range sections {
		for _, item := range s.Items {
			if item.Fact != nil && at.Sub(item.Fact.LastUsedTime) >= usedEvery {
				n.facts = append(n.facts, item.Fact.ID)
			}
		}
	}
	if len(n.facts) == 0 {
		return
	}
	select {
	case u.queue <- n:
	default:
	}
}
