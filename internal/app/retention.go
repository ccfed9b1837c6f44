package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/retention"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/store"
)

// dueEraser erases what is due as a person has it erased. It implements retention.Eraser.
type dueEraser struct {
	store   store.PrimaryStore
	sweeper *erasure.Sweeper
	facts   *service.FactEditor
}

// EraseSession implements retention.Eraser.
func (e dueEraser) EraseSession(ctx context.Context, ref memory.SessionRef, key memory.SessionKey) error {
	return e.erase(ctx, key, store.ErasureStart{Kind: memory.EraseSession, User: ref.UserRef, SessionID: ref.SessionID})
}

// EraseMessages implements retention.Eraser.
func (e dueEraser) EraseMessages(ctx context.Context, ref memory.SessionRef, key memory.SessionKey, seqs []memory.SeqRange) error {
	return e.erase(ctx, key, store.ErasureStart{Kind: memory.EraseMessages, User: ref.UserRef, SessionID: ref.SessionID, Seqs: seqs})
}

// erase erases what belongs to an incarnation of a session, unless another one has its name by now.
func (e dueEraser) erase(ctx context.Context, key memory.SessionKey, start store.ErasureStart) error {
	now, err := e.store.Session(ctx, start.User.Session(start.SessionID))
	if memory.IsGone(err) || err == nil && now.Key != key {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "retention/%s/%d/%v", key, start.Kind, start.Seqs))
	start.ID, start.Time = hex.EncodeToString(sum[:16]), e.store.Now().UTC().Truncate(time.Microsecond)
	if _, err = e.sweeper.Begin(ctx, start); memory.IsGone(err) {
		return nil
	}
	return err
}

// ForgetFacts implements retention.Eraser.
func (e dueEraser) ForgetFacts(ctx context.Context, user memory.UserRef, ids []string) error {
	for _, id := range ids {
		err := e.facts.DeleteFact(ctx, service.FactRef{User: user, ID: id})
		if err != nil && !memory.IsGone(err) && memory.ReasonOf(err) != memory.ReasonFactNotFound {
			return err
		}
	}
	return nil
}

func (a *App) newKeeper(policies policy.Policies, eraser dueEraser, meter retention.Meter) *retention.Keeper {
	return retention.NewKeeper(retention.Options{
		Store: a.store, Eraser: eraser, Policies: policies, Profile: a.limits.Profile,
		Owner: a.stores.owner, Log: a.log, Meter: meter, Now: a.store.Now,
		Report: a.cfg.Retention == config.RetentionReport, Audit: a.cfg.AuditRetention,
	})
}

// expiry lists what is due. It implements service.Expiry.
type expiry struct {
	keeper func() *retention.Keeper
}

// Expiring implements service.Expiry.
func (e expiry) Expiring(ctx context.Context, q store.UserQuery) (due []service.Expiring, last string, more bool, err error) {
	all, last, more, err := e.keeper().List(ctx, q)
	for _, d := range all {
		one := service.Expiring{Rule: ruleOf[d.Rule], User: d.User, SessionID: d.Session.SessionID, FactID: d.FactID}
		if d.Seqs != nil {
			one.Messages = d.Items()
		}
		due = append(due, one)
	}
	return due, last, more, err
}

var ruleOf = map[retention.Rule]service.RetentionRule{
	retention.RuleSessionAge: service.RetentionSessionAge, retention.RuleMessageAge: service.RetentionMessageAge,
	retention.RuleMaxMessages: service.RetentionMaxMessages, retention.RuleFactAge: service.RetentionFactAge,
	retention.RuleUnused: service.RetentionUnused, retention.RuleMaxFacts: service.RetentionMaxFacts,
}
