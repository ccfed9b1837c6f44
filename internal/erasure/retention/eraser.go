package retention

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// eraseSession erases a session, unless another one has its id by now.
func (k *Keeper) eraseSession(ctx context.Context, ref memory.SessionRef, key memory.SessionKey) error {
	return k.begin(ctx, key, store.ErasureStart{Kind: memory.EraseSession, User: ref.UserRef, SessionID: ref.SessionID})
}

// eraseMessages erases messages of a session, unless another one has its id by now.
func (k *Keeper) eraseMessages(ctx context.Context, ref memory.SessionRef, key memory.SessionKey, seqs []memory.SeqRange) error {
	return k.begin(ctx, key, store.ErasureStart{Kind: memory.EraseMessages, User: ref.UserRef, SessionID: ref.SessionID, Seqs: seqs})
}

// begin begins the erasure of what is due, under an id that follows from it: what is found due twice is erased once.
func (k *Keeper) begin(ctx context.Context, key memory.SessionKey, start store.ErasureStart) error {
	now, err := k.o.Store.Session(ctx, start.User.Session(start.SessionID))
	if memory.IsGone(err) || err == nil && now.Key != key {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "retention/%s/%d/%v", key, start.Kind, start.Seqs))
	start.ID, start.Time = hex.EncodeToString(sum[:16]), k.o.Now().UTC().Truncate(time.Microsecond)
	if _, err = k.o.Actions.Begin(ctx, start); memory.IsGone(err) {
		return nil
	}
	return err
}

// forgetFacts deletes facts of which some may be gone.
func (k *Keeper) forgetFacts(ctx context.Context, user memory.UserRef, ids []string) error {
	for _, id := range ids {
		err := k.o.Actions.DeleteFact(ctx, user, id)
		if err != nil && !memory.IsGone(err) && memory.ReasonOf(err) != memory.ReasonFactNotFound {
			return err
		}
	}
	return nil
}
