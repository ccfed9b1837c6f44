package viewfeed

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// walk compares one view with the primary store, user by user, and then looks for rows of scopes that no user has. It remembers
// how far it came, so that a failure only repeats one user. In memory are the rows of one user without what they say, and
// one key for each user.
type walk struct {
	store  VerifyStore
	target Target
	mode   VerifyMode
	check  ViewCheck

	at       space
	tenants  []string
	tenant   int                      // the index of the one that is compared
	after    string                   // the last user of the tenant that was compared
	scopes   map[memory.ScopeKey]bool // of the users
	users    int64                    // compared so far
	ended    bool                     // all users are compared
	progress func(ViewCheck, int64)   // is called after each user
}

// userPage is how many users are listed at once.
const userPage = 500

// run goes on where it stopped, to the end.
func (w *walk) run(ctx context.Context) error {
	if ready, err := w.locate(ctx); err != nil || !ready {
		return err
	}
	for !w.ended {
		if err := w.nextPage(ctx); err != nil {
			return err
		}
	}
	return w.eraseForeign(ctx)
}

// locate finds out where the rows are. It reports false where the view has nowhere to hold any.
func (w *walk) locate(ctx context.Context) (ready bool, err error) {
	build, err := w.store.ViewBuild(ctx, w.target.view)
	if err != nil {
		return false, fmt.Errorf("read the view's build: %w", err)
	}
	at, known, err := w.target.source.space(ctx, w.store, build)
	if err != nil || !known || at == w.at {
		return known, err
	}
	if w.mode == VerifyRepair {
		if err := w.target.place.prepare(ctx, at); err != nil {
			return false, fmt.Errorf("prepare the view: %w", err)
		}
	}
	if w.tenants == nil {
		if w.tenants, err = w.store.Tenants(ctx); err != nil {
			return false, fmt.Errorf("list tenants: %w", err)
		}
	}
	w.at = at // last: a walk that knows its space knows the tenants
	return true, nil
}

// nextPage compares a page of users, in the space that is in use now: the view may be rebuilt meanwhile.
func (w *walk) nextPage(ctx context.Context) error {
	if w.tenant == len(w.tenants) {
		w.ended = true
		return nil
	}
	if _, err := w.locate(ctx); err != nil {
		return err
	}
	users, err := w.store.ListUsers(ctx, store.UserQuery{Tenant: w.tenants[w.tenant], Limit: userPage, After: w.after})
	if err != nil {
		return fmt.Errorf("list users: %w", err)
	}
	for _, u := range users {
		if err := w.user(ctx, u); err != nil {
			return err
		}
	}
	if len(users) < userPage {
		w.tenant, w.after = w.tenant+1, ""
	}
	return nil
}

// user compares one user. What was counted of one who fails is not kept, for it is compared again.
func (w *walk) user(ctx context.Context, u memory.User) error {
	check, err := w.compare(ctx, u)
	if err != nil && !memory.IsGone(err) {
		return err
	}
	if err == nil {
		w.check = w.check.plus(check)
	}
	w.scopes[u.Scope] = true
	w.after = u.Ref.UserID
	w.users++
	w.progress(w.check, w.users)
	return nil
}

func (w *walk) compare(ctx context.Context, u memory.User) (ViewCheck, error) {
	seen, err := w.compareOnce(ctx, u)
	if err != nil {
		return ViewCheck{}, err
	}
	check := ViewCheck{Checked: int64(len(seen.expected.rows)), Pending: seen.expected.pending}
	if len(seen.odd) == 0 {
		return check, nil
	}
	return w.judge(ctx, u, seen.odd, check)
}

// comparison is a user's rows as the primary store and the view had them, one after the other.
type comparison struct {
	expected expectation
	held     map[rowKey]int64 // the revisions in the view
	odd      []rowKey         // of which they say different things
}

// compareOnce reads the primary store, then the view: a row that was removed before the store said so is not held any more.
func (w *walk) compareOnce(ctx context.Context, u memory.User) (comparison, error) {
	expected, err := w.target.source.expected(ctx, w.store, w.at, u)
	if err != nil {
		return comparison{}, err
	}
	held, err := w.held(ctx, u.Scope)
	return comparison{expected: expected, held: held, odd: expected.differences(held)}, err
}

// held returns the revisions of the rows that the view holds of the scope.
func (w *walk) held(ctx context.Context, scope memory.ScopeKey) (map[rowKey]int64, error) {
	out := map[rowKey]int64{}
	err := w.eachRow(ctx, scope, func(r store.RowState) { out[keyOfRow(r)] = r.Revision })
	return out, err
}

// rowPage is how many rows a view is asked for at once.
const rowPage = 1000

func (w *walk) eachRow(ctx context.Context, scope memory.ScopeKey, each func(store.RowState)) error {
	q := store.RowQuery[space]{Space: w.at, Scope: scope, Limit: rowPage}
	for {
		rows, err := w.target.place.rows(ctx, q)
		if err != nil {
			return fmt.Errorf("list the view's rows: %w", err)
		}
		for _, r := range rows {
			each(r)
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.After = rows[len(rows)-1].Cursor
	}
}

// judgement is about rows of a user that looked wrong.
type judgement struct {
	comparison
	stored map[rowKey]row // what the view must say of them
	check  ViewCheck
	rows   []row            // to put
	wrong  []store.RowState // to remove
}

// judge looks at odd rows once more: users write, and the view is fed, while it is verified. What changed since the first
// look is the feeder's; what is still wrong is counted, and repaired where that is asked for.
func (w *walk) judge(ctx context.Context, u memory.User, odd []rowKey, check ViewCheck) (ViewCheck, error) {
	again, err := w.compareOnce(ctx, u)
	if err != nil {
		return ViewCheck{}, err
	}
	before := make(map[rowKey]bool, len(odd))
	for _, k := range odd {
		before[k] = true
	}
	again.odd = slices.DeleteFunc(again.odd, func(k rowKey) bool { return !before[k] })
	loaded, err := w.target.source.load(ctx, w.store, w.at, u, again.odd)
	if err != nil {
		return ViewCheck{}, err
	}
	j := judgement{comparison: again, check: check, stored: make(map[rowKey]row, len(loaded))}
	for _, r := range loaded {
		j.stored[keyOfRow(r.RowState)] = r
	}
	for _, k := range again.odd {
		j.decide(u.Scope, k)
	}
	if w.mode == VerifyDryRun {
		return j.check, nil
	}
	if err := w.repair(ctx, u.Scope, j); err != nil {
		return ViewCheck{}, err
	}
	j.check.Repaired = j.check.Wrong()
	return j.check, nil
}

// decide says what is wrong with a row, if anything is.
func (j *judgement) decide(scope memory.ScopeKey, k rowKey) {
	got, has := j.held[k]
	want, exists := j.stored[k]
	fed, wasFed := j.expected.rows[k]
	gone := store.RowState{Scope: scope, FactID: k.fact, Place: k.place}
	switch {
	case !exists && has && !wasFed:
		j.check.Orphan++
		j.wrong = append(j.wrong, gone)
	case !exists || !wasFed || want.Revision != fed: // it changed since: the feeder puts it
	case !has:
		j.check.Missing++
		j.rows = append(j.rows, want)
	case got != want.Revision:
		j.check.Stale++
		j.wrong = append(j.wrong, gone) // a view may pass over a row of a lower revision
		j.rows = append(j.rows, want)
	}
}

// repair removes what is wrong, then puts what is right.
func (w *walk) repair(ctx context.Context, scope memory.ScopeKey, j judgement) error {
	for chunk := range slices.Chunk(j.wrong, putRows) {
		if err := w.target.place.remove(ctx, w.at, scope, chunk); err != nil {
			return fmt.Errorf("remove wrong rows: %w", err)
		}
	}
	for chunk := range slices.Chunk(j.rows, putRows) {
		if err := w.target.place.put(ctx, w.at, chunk); err != nil {
			return fmt.Errorf("put missing rows: %w", err)
		}
	}
	return nil
}

// eraseForeign counts and erases rows of scopes that no user has. Scopes that look foreign are looked up once more, for
// users are created meanwhile.
func (w *walk) eraseForeign(ctx context.Context) error {
	foreign := map[memory.ScopeKey]int64{}
	err := w.eachRow(ctx, "", func(r store.RowState) {
		if !w.scopes[r.Scope] {
			foreign[r.Scope]++
		}
	})
	if err != nil || len(foreign) == 0 {
		return err
	}
	if err := w.eachScope(ctx, func(s memory.ScopeKey) { delete(foreign, s) }); err != nil {
		return err
	}
	for scope, rows := range foreign {
		if w.mode == VerifyRepair {
			if err := w.target.place.eraseScope(ctx, scope); err != nil {
				return fmt.Errorf("erase a foreign scope: %w", err)
			}
			w.check.Repaired += rows
		}
		w.check.Orphan += rows
	}
	w.progress(w.check, w.users)
	return nil
}

func (w *walk) eachScope(ctx context.Context, each func(memory.ScopeKey)) error {
	tenants, err := w.store.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("list tenants: %w", err)
	}
	for _, tenant := range tenants {
		for u, err := range store.AllUsers(ctx, w.store.ListUsers, tenant) {
			if err != nil {
				return err
			}
			each(u.Scope)
		}
	}
	return nil
}
