package service

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/text/when"
)

// understand notes what the ranking takes from the words of a search beside their terms: the words near to these, whether
// when is asked, and the times that are named, in the user's timezone.
func (s *Service) understand(ctx context.Context, q *LexiconSearch, now time.Time) error {
	q.Near, q.AsksWhen = s.related, when.Asks(q.Words)
	named := when.Read(q.Words)
	if named.None() {
		return nil // as for most words: spare the read
	}
	user, err := s.store.User(ctx, q.Ref.UserRef)
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("read the user's timezone: %w", err)
	}
	q.Times = named.At(now.In(user.Location()))
	return nil
}
