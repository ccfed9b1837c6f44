package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/stratamem/strata/internal/memory"
)

// pageSize is how many items of a list are read at once.
const pageSize = 500

// lists reads a page of a list. Methods of the stores are such functions.
type lists[Q, T any] func(ctx context.Context, q Q) ([]T, error)

// CutPage cuts a page that was read with one more than its limit, and returns whether others follow.
func CutPage[T any](page []T, limit int) (cut []T, more bool) {
	if len(page) > limit {
		return page[:limit], true
	}
	return page, false
}

// AllUsers returns all users of a tenant. A page of them is read when the loop comes to it, so that the loop may take long and may write
// meanwhile. An error comes without a user and is the last item.
func AllUsers(ctx context.Context, list lists[UserQuery, memory.User], tenant string) iter.Seq2[memory.User, error] {
	return all(ctx, "users", list, UserQuery{Tenant: tenant, Limit: pageSize}, func(q *UserQuery, last memory.User) {
		q.After = last.Ref.UserID
	})
}

// AllTenants is AllUsers for the tenants of the store.
func AllTenants(ctx context.Context, list lists[TenantQuery, Tenant]) iter.Seq2[Tenant, error] {
	return all(ctx, "tenants", list, TenantQuery{Limit: pageSize}, func(q *TenantQuery, last Tenant) {
		q.After = last.ID
	})
}

// AllKeys is AllUsers for the API keys of a tenant.
func AllKeys(ctx context.Context, list lists[KeyQuery, Key], tenant string) iter.Seq2[Key, error] {
	return all(ctx, "keys", list, KeyQuery{Tenant: tenant, Limit: pageSize}, func(q *KeyQuery, last Key) {
		q.After = last.ID
	})
}

// AllSessions is AllUsers for the sessions of a user. One that is written to meanwhile may slip between two pages.
func AllSessions(ctx context.Context, list lists[SessionQuery, memory.Session], user memory.UserRef) iter.Seq2[memory.Session, error] {
	return all(ctx, "sessions", list, SessionQuery{User: user, Limit: pageSize}, func(q *SessionQuery, last memory.Session) {
		q.After = &SessionCursor{Time: last.LastMessageTime, SessionID: last.Ref.SessionID}
	})
}

// AllJobs is AllUsers for the jobs that q asks for, whatever its Limit, the latest first.
func AllJobs(ctx context.Context, list lists[JobQuery, memory.Job], q JobQuery) iter.Seq2[memory.Job, error] {
	q.Limit = pageSize
	return all(ctx, "jobs", list, q, func(q *JobQuery, last memory.Job) {
		q.After = &JobCursor{CreateTime: last.CreateTime, ID: last.ID()}
	})
}

// AllErasures is AllUsers for the erasures that q asks for, whatever its Limit, the latest first.
func AllErasures(ctx context.Context, list lists[ErasureQuery, memory.Erasure], q ErasureQuery) iter.Seq2[memory.Erasure, error] {
	q.Limit = pageSize
	return all(ctx, "erasures", list, q, func(q *ErasureQuery, last memory.Erasure) {
		q.After = &JobCursor{CreateTime: last.CreateTime, ID: last.ID}
	})
}

// all returns the items of a list of things. q asks for its first page, of pageSize items; goOn has it ask for the page after an item.
func all[Q, T any](ctx context.Context, things string, list lists[Q, T], q Q, goOn func(q *Q, last T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for q := q; ; {
			page, err := list(ctx, q)
			if err != nil {
				var none T
				yield(none, fmt.Errorf("list %s: %w", things, err))
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			goOn(&q, page[len(page)-1])
		}
	}
}
