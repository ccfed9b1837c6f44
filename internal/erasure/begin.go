package erasure

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Begin begins an erasure, or returns the one that has its ID as it is, and follows it up. It sets the UserHash. Where the user or the
// session is gone its error is store.Erasures.BeginErasure's.
func (s *Sweeper) Begin(ctx context.Context, start store.ErasureStart) (memory.Erasure, error) {
	secret, err := s.o.Store.FenceSecret(ctx, nil)
	if err != nil {
		return memory.Erasure{}, fmt.Errorf("read the secret of the store: %w", err)
	}
	start.UserHash = memory.ErasureUserHash(secret, start.User)
	begun, err := s.o.Store.BeginErasure(ctx, start)
	if err != nil {
		return memory.Erasure{}, fmt.Errorf("begin an erasure: %w", err)
	}
	return begun, s.FollowUp(ctx, start.User.Session(start.SessionID), begun)
}

// FollowUp does what must be done after BeginErasure and before its caller gets a reply: it has it noted, takes away what erased
// messages taught, has the summaries looked at that are to be written anew, and wakes the sweeps. ref is what was erased, or what it was
// erased of; it has no SessionID where that is a user or one of their weeks or months. Repeating it is harmless.
func (s *Sweeper) FollowUp(ctx context.Context, ref memory.SessionRef, e memory.Erasure) error {
	if e.IsDone() {
		return nil
	}
	if err := s.TakeFacts(ctx, ref.UserRef, e); err != nil {
		return fmt.Errorf("take away what erased messages taught: %w", err)
	}
	if s.o.Hooks.LookAgain != nil {
		switch e.Kind {
		case memory.EraseSession:
			s.o.Hooks.LookAgain(ref.UserRef, "") // the user's weeks and months
		case memory.EraseMessages, memory.EraseSummary:
			s.o.Hooks.LookAgain(ref.UserRef, ref.SessionID)
		}
	}
	s.Wake()
	return nil
}
