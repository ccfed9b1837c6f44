package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// listed is a list of tenants whose ids are numbers of a fixed length from 0 on, and notes after which tenants it is asked for a page.
type listed struct {
	tenants int
	asked   []string
}

func idOf(i int) string { return fmt.Sprintf("%06d", i) }

func (l *listed) page(_ context.Context, q TenantQuery) ([]Tenant, error) {
	l.asked = append(l.asked, q.After)
	var page []Tenant
	for i := range l.tenants {
		if id := idOf(i); id > q.After && len(page) < q.Limit {
			page = append(page, Tenant{ID: id})
		}
	}
	return page, nil
}

func TestAListIsReadPageByPage(t *testing.T) {
	const one = pageSize
	t.Run("to its end, which is a page that is not full", func(t *testing.T) {
		for n, want := range map[int][]string{
			0: {""}, one - 1: {""}, one: {"", idOf(one - 1)}, one + 1: {"", idOf(one - 1)}, 2 * one: {"", idOf(one - 1), idOf(2*one - 1)},
		} {
			list, next := &listed{tenants: n}, 0
			for tenant, err := range AllTenants(t.Context(), list.page) {
				if err != nil || tenant.ID != idOf(next) {
					t.Fatalf("%q, %v, want %s", tenant.ID, err, idOf(next))
				}
				next++
			}
			if next != n || !slices.Equal(list.asked, want) {
				t.Errorf("%d of %d tenants, of the pages after %q, want %q", next, n, list.asked, want)
			}
		}
	})
	t.Run("no further than its reader goes, and anew by the next one", func(t *testing.T) {
		list := &listed{tenants: 3 * one}
		all := AllTenants(t.Context(), list.page)
		for range 2 {
			for tenant := range all {
				if tenant.ID == idOf(one-1) {
					break
				}
			}
		}
		if !slices.Equal(list.asked, []string{"", ""}) {
			t.Errorf("pages after %q were asked for", list.asked)
		}
	})
	t.Run("until it fails, with the error last", func(t *testing.T) {
		gone := errors.New("the store is gone")
		list, read := &listed{tenants: 3 * one}, 0
		var last error
		for _, err := range AllTenants(t.Context(), func(ctx context.Context, q TenantQuery) ([]Tenant, error) {
			if q.After != "" {
				return nil, gone
			}
			return list.page(ctx, q)
		}) {
			read, last = read+1, err
		}
		if read != one+1 || !errors.Is(last, gone) || !strings.HasPrefix(last.Error(), "list tenants: ") {
			t.Errorf("%d items, the last of which is %v", read, last)
		}
	})
}

// The lists have cursors of their own kind each.
func TestTheNextPageBeginsAfterTheLastItem(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	user := memory.User{Ref: memory.UserRef{UserID: "ada"}}
	if q := secondQuery(t, user, func(list lists[UserQuery, memory.User]) iter.Seq2[memory.User, error] {
		return AllUsers(t.Context(), list, "acme")
	}); q != (UserQuery{Tenant: "acme", Limit: pageSize, After: "ada"}) {
		t.Errorf("users: %+v", q)
	}
	if q := secondQuery(t, Key{ID: "k1"}, func(list lists[KeyQuery, Key]) iter.Seq2[Key, error] {
		return AllKeys(t.Context(), list, "acme")
	}); q != (KeyQuery{Tenant: "acme", Limit: pageSize, After: "k1"}) {
		t.Errorf("keys: %+v", q)
	}
	session := memory.Session{Ref: user.Ref.Session("s1"), LastMessageTime: noon}
	if q := secondQuery(t, session, func(list lists[SessionQuery, memory.Session]) iter.Seq2[memory.Session, error] {
		return AllSessions(t.Context(), list, user.Ref)
	}); q.User != user.Ref || *q.After != (SessionCursor{Time: noon, SessionID: "s1"}) {
		t.Errorf("sessions: %+v after %+v", q, q.After)
	}
	job := memory.Job{CreateTime: noon}
	if q := secondQuery(t, job, func(list lists[JobQuery, memory.Job]) iter.Seq2[memory.Job, error] {
		return AllJobs(t.Context(), list, JobQuery{UserID: "ada"})
	}); q.UserID != "ada" || *q.After != (JobCursor{CreateTime: noon, ID: job.ID()}) {
		t.Errorf("jobs: %+v after %+v", q, q.After)
	}
	if q := secondQuery(t, memory.Erasure{ID: "e1", CreateTime: noon}, func(list lists[ErasureQuery, memory.Erasure]) iter.Seq2[memory.Erasure, error] {
		return AllErasures(t.Context(), list, ErasureQuery{Tenant: "acme"})
	}); q.Tenant != "acme" || *q.After != (JobCursor{CreateTime: noon, ID: "e1"}) {
		t.Errorf("erasures: %+v after %+v", q, q.After)
	}
}

// secondQuery is what a list is asked for after a full page of one item.
func secondQuery[Q, T any](t *testing.T, item T, read func(lists[Q, T]) iter.Seq2[T, error]) Q {
	t.Helper()
	var asked []Q
	for _, err := range read(func(_ context.Context, q Q) ([]T, error) {
		asked = append(asked, q)
		if len(asked) > 1 {
			return nil, nil
		}
		return slices.Repeat([]T{item}, pageSize), nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 2 {
		t.Fatalf("%d pages were asked for", len(asked))
	}
	return asked[1]
}
