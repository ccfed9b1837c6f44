package app

import (
	"context"

	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/erasure/retention"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
)

func (b base) newKeeper(p useCaseParts, sweeper *erasure.Sweeper, editor *facts.FactEditor) *retention.Keeper {
	return retention.NewKeeper(retention.Options{
		Store: b.store, Owner: b.stores.owner, Log: b.log, Meter: b.recorder, Now: b.store.Now,
		Limits: retention.Limits{
			Profiles: p.profiles, Profile: p.limits.profile, Report: b.cfg.Retention == config.RetentionReport, Audit: b.cfg.AuditRetention,
		},
		Actions: retention.Actions{
			Begin: sweeper.Begin,
			DeleteFact: func(ctx context.Context, user memory.UserRef, id string) error {
				return editor.DeleteFact(ctx, facts.FactRef{User: user, ID: id})
			},
		},
	})
}

// expiry lists what is due. It implements service.Expiry.
type expiry struct {
	keeper func() *retention.Keeper
}

// Expiring implements service.Expiry.
func (e expiry) Expiring(ctx context.Context, q store.UserQuery) (due []work.Expiring, last string, more bool, err error) {
	all, last, more, err := e.keeper().List(ctx, q)
	for _, d := range all {
		one := work.Expiring{Rule: ruleOf[d.Rule], User: d.User, SessionID: d.Session.SessionID, FactID: d.FactID}
		if d.Seqs != nil {
			one.Messages = d.Items()
		}
		due = append(due, one)
	}
	return due, last, more, err
}

var ruleOf = map[retention.Rule]work.RetentionRule{
	retention.RuleSessionAge: work.RetentionSessionAge, retention.RuleMessageAge: work.RetentionMessageAge,
	retention.RuleMaxMessages: work.RetentionMaxMessages, retention.RuleFactAge: work.RetentionFactAge,
	retention.RuleUnused: work.RetentionUnused, retention.RuleMaxFacts: work.RetentionMaxFacts,
}
