package retention

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Store is the part of the primary store that a Keeper reads.
type Store interface {
	store.Leases
	Tenants(ctx context.Context) ([]string, error)
	ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error)
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	ListSessions(ctx context.Context, q store.SessionQuery) ([]memory.Session, error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	ExpireAuditEntries(ctx context.Context, before time.Time, limit int) (int, error)
}

// Meter counts what was erased because it was due. It must not block.
type Meter interface {
	Expired(rule string, items int64)
}

// Options are what a Keeper needs.
type Options struct {
	Store   Store
	Limits  Limits
	Actions Actions
	Owner   string // names this process in the lease: of the processes that share a store one looks at a time
	Log     *slog.Logger
	Meter   Meter // nil for none
	Now     func() time.Time
	Every   time.Duration // how long after one look at all users the next begins; an hour when 0
}

// Limits say what a Keeper finds to be due.
type Limits struct {
	Profiles contextprofile.Set
	// Profile returns the default profile of a tenant: what is of no session goes by it. "" for the server's.
	Profile func(ctx context.Context, tenant string) (string, error)
	Report  bool          // whether what is due by Policies is listed only, and never erased
	Audit   time.Duration // how long entries of the audit are kept; 0 for ever
}

// Actions erase what is due.
type Actions struct {
	// Begin must begin an erasure, or return the one that has its ID as it is, and do what has to follow: see erasure.Sweeper.
	Begin func(ctx context.Context, start store.ErasureStart) (memory.Erasure, error)
	// DeleteFact must delete a fact as a person has it deleted; USER_NOT_FOUND or FACT_NOT_FOUND where it is gone.
	DeleteFact func(ctx context.Context, user memory.UserRef, id string) error
}

// Keeper looks at all users in the background and has erased what is due. Where a look was cut short the next one begins again: what is
// due is found by what is stored.
type Keeper struct {
	o     Options
	loop  *workloop.Loop
	lease *workloop.Lease // belongs to Run alone
}

const (
	leaseName   = "retention"
	leaseLength = time.Minute
	firstPause  = 10 * time.Second
	lastPause   = 10 * time.Minute

	// What is read at once.
	pageMessages = 1000
	pageBytes    = 8 << 20

	pageAudit = 1000 // entries of the audit that are deleted at once
)

// NewKeeper makes a Keeper.
func NewKeeper(o Options) *Keeper {
	o.Every = cmp.Or(o.Every, time.Hour)
	k := &Keeper{o: o}
	k.lease = workloop.NewLease(workloop.LeaseOptions{
		Store: o.Store, Name: leaseName, Owner: o.Owner, Length: leaseLength, Now: o.Now, Log: o.Log,
	})
	k.loop = workloop.NewLoop(workloop.LoopOptions{
		Work:    k.work,
		Backoff: retry.Exponential{First: firstPause, Last: lastPause},
		Failed: func(ctx context.Context, f workloop.Failure) {
			if f.InRow == 1 {
				o.Log.WarnContext(ctx, "what is due cannot be erased: it is tried again", "error", f.Err)
			}
		},
	})
	return k
}

// Run looks until ctx ends, and returns nil then. Where nothing is ever due, or it is to be listed only, it does nothing.
func (k *Keeper) Run(ctx context.Context) error {
	if k.keepsMemory() && k.o.Limits.Audit == 0 {
		<-ctx.Done()
		return nil
	}
	defer k.lease.Release(ctx)
	return k.loop.Run(ctx)
}

// keepsMemory reports whether nothing of what is remembered is erased by itself.
func (k *Keeper) keepsMemory() bool { return k.o.Limits.Report || k.o.Limits.Profiles.KeepsAll() }

// work looks at the audit, then at all users of all tenants.
func (k *Keeper) work(ctx context.Context) (rest time.Duration, err error) {
	if err := k.expireAudit(ctx); err != nil || k.keepsMemory() {
		return k.o.Every, err
	}
	tenants, err := k.o.Store.Tenants(ctx)
	if err != nil {
		return 0, fmt.Errorf("list tenants: %w", err)
	}
	for _, tenant := range tenants {
		for u, err := range store.AllUsers(ctx, k.o.Store.ListUsers, tenant) {
			if err != nil {
				return 0, err
			}
			if held, err := k.lease.Hold(ctx); err != nil || !held || ctx.Err() != nil {
				return k.o.Every, err
			}
			if err := k.erase(ctx, u.Ref); err != nil {
				return 0, err
			}
		}
	}
	return k.o.Every, nil
}

// expireAudit deletes entries of the audit that are too old, the oldest first.
func (k *Keeper) expireAudit(ctx context.Context) error {
	if k.o.Limits.Audit == 0 {
		return nil
	}
	for {
		if held, err := k.lease.Hold(ctx); err != nil || !held || ctx.Err() != nil {
			return err
		}
		n, err := k.o.Store.ExpireAuditEntries(ctx, k.o.Now().Add(-k.o.Limits.Audit), pageAudit)
		if err != nil {
			return fmt.Errorf("delete what is too old in the audit: %w", err)
		}
		k.count(RuleAuditAge, int64(n))
		if n < pageAudit {
			return nil
		}
	}
}

// List returns what is due of a page of users, by user, and the last user that was looked at; more says whether others follow.
func (k *Keeper) List(ctx context.Context, q store.UserQuery) (due []Due, last string, more bool, err error) {
	limit := q.Limit
	q.Limit++
	users, err := k.o.Store.ListUsers(ctx, q)
	if err != nil {
		return nil, "", false, fmt.Errorf("list users: %w", err)
	}
	if more = len(users) > limit; more {
		users = users[:limit]
	}
	for _, u := range users {
		some, err := k.Due(ctx, u.Ref)
		if err != nil {
			return nil, "", false, err
		}
		due, last = append(due, some...), u.Ref.UserID
	}
	return due, last, more, nil
}

// erase has erased what is due of one user.
func (k *Keeper) erase(ctx context.Context, user memory.UserRef) error {
	due, err := k.Due(ctx, user)
	if err != nil {
		return err
	}
	facts := make(map[Rule][]string)
	for _, d := range due {
		var err error
		switch {
		case d.FactID != "":
			facts[d.Rule] = append(facts[d.Rule], d.FactID)
			continue
		case d.Seqs == nil:
			err = k.eraseSession(ctx, d.Session, d.Key)
		default:
			err = k.eraseMessages(ctx, d.Session, d.Key, d.Seqs)
		}
		if err != nil {
			return fmt.Errorf("erase what is due by %s: %w", d.Rule, err)
		}
		k.count(d.Rule, d.Items())
	}
	for rule, ids := range facts {
		if err := k.forgetFacts(ctx, user, ids); err != nil {
			return fmt.Errorf("delete facts that are due by %s: %w", rule, err)
		}
		k.count(rule, int64(len(ids)))
	}
	return nil
}

func (k *Keeper) count(rule Rule, items int64) {
	if k.o.Meter != nil {
		k.o.Meter.Expired(string(rule), items)
	}
}

// Due is something that is due: a session, messages of one, or a fact.
type Due struct {
	Rule    Rule
	User    memory.UserRef
	Session memory.SessionRef // of a session and of messages
	Key     memory.SessionKey // of Session
	Seqs    []memory.SeqRange // of messages, ascending and apart
	FactID  string            // of a fact
}

// Items is how many messages are due, or 1 for a session or fact.
func (d Due) Items() int64 {
	if len(d.Seqs) == 0 {
		return 1
	}
	var n int64
	for _, r := range d.Seqs {
		n += r.To - r.From + 1
	}
	return n
}

// Due returns what is due of a user now: sessions, then messages, then facts. An unknown user has nothing.
func (k *Keeper) Due(ctx context.Context, user memory.UserRef) ([]Due, error) {
	now := k.o.Now()
	sessions, err := k.sessions(ctx, user)
	if err != nil {
		return nil, err
	}
	state, err := k.o.Store.FactsSince(ctx, user, 0)
	if err != nil && !memory.IsGone(err) {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	taught := taughtPinned(state.Facts)
	var due []Due
	var kept []keptSession
	for _, s := range sessions {
		rule, whole, old, err := k.tooOld(ctx, s, taught, now)
		if err != nil {
			return nil, err
		}
		if whole || len(old) > 0 {
			due = append(due, Due{Rule: rule, User: user, Session: s.Ref, Key: s.Key, Seqs: old})
		}
		if !whole {
			kept = append(kept, keptSession{Session: s, due: old})
		}
	}
	profile, err := k.o.Limits.Profile(ctx, user.Tenant)
	if err != nil {
		return nil, fmt.Errorf("read the default profile of a tenant: %w", err)
	}
	own := k.o.Limits.Profiles.RetentionOf(profile)
	over, err := k.overMost(ctx, own, user, kept, taught)
	if err != nil {
		return nil, err
	}
	due = append(due, over...)
	for _, f := range dueFacts(own, state.Facts, now) {
		due = append(due, Due{Rule: f.Rule, User: user, FactID: f.ID})
	}
	return due, nil
}

// tooOld returns what of a session is too old, and by which rule: the session as a whole, or messages of it.
func (k *Keeper) tooOld(
	ctx context.Context, s memory.Session, taught places, now time.Time,
) (rule Rule, whole bool, old []memory.SeqRange, err error) {
	p := k.o.Limits.Profiles.RetentionOf(s.Profile)
	switch {
	case isSessionDue(p, s, now):
		whole, old, err = k.unpinned(ctx, s, taught)
		return RuleSessionAge, whole, old, err
	case p.Messages > 0:
		old, err = k.old(ctx, p, s, taught, now)
	}
	return RuleMessageAge, false, old, err
}

// keptSession is a session that is kept, with those of its messages that are too old.
type keptSession struct {
	memory.Session
	due []memory.SeqRange
}

func (k *Keeper) sessions(ctx context.Context, user memory.UserRef) ([]memory.Session, error) {
	var all []memory.Session
	for session, err := range store.AllSessions(ctx, k.o.Store.ListSessions, user) {
		if err != nil {
			return nil, err
		}
		all = append(all, session)
	}
	return all, nil
}

// old are the session's messages that are too old.
func (k *Keeper) old(
	ctx context.Context, p contextprofile.Retention, s memory.Session, taught places, now time.Time,
) (due []memory.SeqRange, err error) {
	err = k.pages(ctx, s, taught, func(messages []memory.Message) bool {
		some, end := oldMessages(p, messages, now)
		due = memory.Union(due, some)
		return !end
	})
	return due, err
}

// unpinned reports whether no message of the session is pinned, so that it is due as a whole; else it returns the others.
func (k *Keeper) unpinned(ctx context.Context, s memory.Session, taught places) (whole bool, due []memory.SeqRange, err error) {
	whole = true
	err = k.pages(ctx, s, taught, func(messages []memory.Message) bool {
		whole = whole && !slices.ContainsFunc(messages, func(m memory.Message) bool { return m.Pinned })
		some, _ := firstMessages(messages, int64(len(messages)))
		due = memory.Union(due, some)
		return true
	})
	if whole {
		due = nil
	}
	return whole, due, err
}

// pages calls each with the session's messages in order, until it returns false. What taught a pinned fact counts as pinned.
func (k *Keeper) pages(ctx context.Context, s memory.Session, taught places, each func([]memory.Message) bool) error {
	for after := int64(0); ; {
		some, err := k.o.Store.Messages(ctx, store.MessageQuery{Ref: s.Ref, After: after, Limit: pageMessages, MaxBytes: pageBytes})
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		if len(some) == 0 || !each(taught.pin(s.Key, some)) {
			return nil
		}
		after = some[len(some)-1].Seq
	}
}

// overMost are messages above the greatest number that a user may have: the first ones of the sessions that were spoken in longest ago.
func (k *Keeper) overMost(
	ctx context.Context, p contextprofile.Retention, user memory.UserRef, sessions []keptSession, taught places,
) ([]Due, error) {
	if p.MaxMessages == 0 {
		return nil, nil
	}
	var ever int64
	for _, s := range sessions {
		ever += s.LastSeq
	}
	if ever <= p.MaxMessages { // whatever was deleted of them
		return nil, nil
	}
	counts, all := make([]int64, len(sessions)), int64(0)
	for i, s := range sessions {
		if err := k.pages(ctx, s.Session, taught, func(messages []memory.Message) bool {
			for _, m := range messages {
				if !m.Deleted && !memory.Overlap(s.due, memory.SeqRange{From: m.Seq, To: m.Seq}) {
					counts[i]++
				}
			}
			return true
		}); err != nil {
			return nil, err
		}
		all += counts[i]
	}
	var due []Due
	for i := len(sessions) - 1; i >= 0 && all > p.MaxMessages; i-- { // the latest stands first
		s := sessions[i]
		var seqs []memory.SeqRange
		over := min(all-p.MaxMessages, counts[i])
		if err := k.pages(ctx, s.Session, taught, func(messages []memory.Message) bool {
			some, taken := firstMessages(without(messages, s.due), over)
			seqs = memory.Union(seqs, some)
			over, all = over-taken, all-taken
			return over > 0
		}); err != nil {
			return nil, err
		}
		if len(seqs) > 0 {
			due = append(due, Due{Rule: RuleMaxMessages, User: user, Session: s.Ref, Key: s.Key, Seqs: seqs})
		}
	}
	return due, nil
}

// without are the messages whose seqs are in none of the ranges.
func without(messages []memory.Message, ranges []memory.SeqRange) []memory.Message {
	var out []memory.Message
	for _, m := range messages {
		if !memory.Overlap(ranges, memory.SeqRange{From: m.Seq, To: m.Seq}) {
			out = append(out, m)
		}
	}
	return out
}
