package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// auditEntry is an entry of the n-th minute; each has an id of its own.
func auditEntry(n int, change func(*store.AuditEntry)) store.AuditEntry {
	e := store.AuditEntry{
		ID: fmt.Sprintf("entry-%03d", n), Time: minute(n), Tenant: "acme", Principal: "key:abc", Role: "admin", Call: "UserService/GetUser",
		Outcome: "OK",
	}
	if change != nil {
		change(&e)
	}
	return e
}

func mustAudit(t *testing.T, s store.Audit, entries ...store.AuditEntry) {
	t.Helper()
	failing(t)(nil, s.AddAuditEntries(t.Context(), entries))
}

func testAudit(t *testing.T, open Open[store.PrimaryStore]) {
	list := func(t *testing.T, s store.Audit, q store.AuditQuery) []store.AuditEntry {
		t.Helper()
		if q.Tenant == "" {
			q.Tenant = "acme"
		}
		if q.Limit == 0 {
			q.Limit = 100
		}
		got, err := s.ListAuditEntries(t.Context(), q)
		failing(t)(nil, err)
		return got
	}
	full := store.AuditEntry{
		ID: "full", Time: noon, Tenant: "acme", Principal: "jwt:0123", Role: "user", Call: "UserService/EraseUser", Outcome: "UNAVAILABLE",
		Reason: "STORE_UNAVAILABLE", User: memory.KeyedHash{1}, Session: memory.KeyedHash{2}, Request: memory.KeyedHash{3}, Target: "other",
		Thing: "job:j", Items: 7, DryRun: true, Address: "192.0.2.1", UserAgent: "curl/8", LeftOut: 9,
	}
	t.Run("AddAuditEntries must store the entries with all that they say", func(t *testing.T) {
		s := open(t)
		mustAudit(t, s)
		mustAudit(t, s, full, auditEntry(1, nil))
		wantEqual(t, list(t, s, store.AuditQuery{}), []store.AuditEntry{auditEntry(1, nil), full})
	})
	t.Run("an entry whose id is stored must stay as it is stored", func(t *testing.T) {
		s := open(t)
		mustAudit(t, s, full)
		other := auditEntry(1, func(e *store.AuditEntry) { e.ID = full.ID })
		same := full
		same.Outcome = "OK"
		mustAudit(t, s, other, same, auditEntry(2, nil))
		wantEqual(t, list(t, s, store.AuditQuery{}), []store.AuditEntry{auditEntry(2, nil), full})
	})
	t.Run("ListAuditEntries must return the tenant's entries for which all holds that the query says", func(t *testing.T) {
		s := open(t)
		var all []store.AuditEntry
		for n, change := range []func(*store.AuditEntry){
			nil,
			func(e *store.AuditEntry) { e.Principal = "key:def" },
			func(e *store.AuditEntry) { e.Call = "UserService/EraseUser" },
			func(e *store.AuditEntry) { e.Outcome = "NOT_FOUND" },
			func(e *store.AuditEntry) { e.User = memory.KeyedHash{1} },
			func(e *store.AuditEntry) { e.User, e.Session = memory.KeyedHash{1}, memory.KeyedHash{2} },
			func(e *store.AuditEntry) { e.Request = memory.KeyedHash{3} },
			func(e *store.AuditEntry) { e.Tenant, e.User = "other", memory.KeyedHash{1} },
		} {
			all = append(all, auditEntry(n, change))
		}
		mustAudit(t, s, all...)
		for name, c := range map[string]struct {
			q    store.AuditQuery
			want []int
		}{
			"all":         {store.AuditQuery{}, []int{6, 5, 4, 3, 2, 1, 0}},
			"principal":   {store.AuditQuery{Principal: "key:def"}, []int{1}},
			"call":        {store.AuditQuery{Call: "UserService/EraseUser"}, []int{2}},
			"outcome":     {store.AuditQuery{Outcome: "NOT_FOUND"}, []int{3}},
			"user":        {store.AuditQuery{User: memory.KeyedHash{1}}, []int{5, 4}},
			"session":     {store.AuditQuery{Session: memory.KeyedHash{2}}, []int{5}},
			"both":        {store.AuditQuery{User: memory.KeyedHash{1}, Session: memory.KeyedHash{2}, From: minute(1)}, []int{5}},
			"request":     {store.AuditQuery{Request: memory.KeyedHash{3}}, []int{6}},
			"times":       {store.AuditQuery{From: minute(2), Until: minute(4)}, []int{3, 2}},
			"nothing":     {store.AuditQuery{Principal: "key:def", Outcome: "NOT_FOUND"}, nil},
			"other":       {store.AuditQuery{Tenant: "other"}, []int{7}},
			"other's":     {store.AuditQuery{Tenant: "other", User: memory.KeyedHash{1}}, []int{7}},
			"nobody's":    {store.AuditQuery{Tenant: "nobody"}, nil},
			"a user page": {store.AuditQuery{User: memory.KeyedHash{1}, Before: &store.AuditCursor{Time: minute(5), ID: "entry-005"}}, []int{4}},
		} {
			var want []store.AuditEntry
			for _, n := range c.want {
				want = append(want, all[n])
			}
			t.Run(name, func(t *testing.T) { wantEqual(t, list(t, s, c.q), want) })
		}
	})
	t.Run("the latest must come first, equal times by id, the greatest first, page by page", func(t *testing.T) {
		s := open(t)
		var want []store.AuditEntry
		for n := range 7 {
			e := auditEntry(n, func(e *store.AuditEntry) { e.Time = minute(n / 3) })
			mustAudit(t, s, e)
			want = append([]store.AuditEntry{e}, want...)
		}
		var got []store.AuditEntry
		for q := (store.AuditQuery{Limit: 2, From: minute(-1)}); ; {
			page := list(t, s, q)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			q.Before = &store.AuditCursor{Time: last.Time, ID: last.ID}
		}
		wantEqual(t, got, want)
	})
	t.Run("ExportAuditEntries must return the entries of all tenants, the oldest first", func(t *testing.T) {
		s := open(t)
		var want, got []store.AuditEntry
		for n := range 5 {
			e := auditEntry(n, func(e *store.AuditEntry) { e.Tenant, e.Time = fmt.Sprint("t", n%2), minute(n/2) })
			want = append(want, e)
		}
		mustAudit(t, s, want...)
		for after := (store.AuditCursor{}); ; {
			page, err := s.ExportAuditEntries(t.Context(), after, 2)
			failing(t)(nil, err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			after = store.AuditCursor{Time: last.Time, ID: last.ID}
		}
		wantEqual(t, got, want)
	})
	t.Run("ExpireAuditEntries must delete the oldest first, of all tenants, and none that is not too old", func(t *testing.T) {
		s := open(t)
		for n := range 6 {
			mustAudit(t, s, auditEntry(n, func(e *store.AuditEntry) { e.Tenant = []string{"acme", "other"}[n%2] }))
		}
		for _, c := range []struct{ limit, want int }{{2, 2}, {9, 2}, {9, 0}} {
			n, err := s.ExpireAuditEntries(t.Context(), minute(4), c.limit)
			failing(t)(nil, err)
			wantEqual(t, n, c.want)
		}
		left, err := s.ExportAuditEntries(t.Context(), store.AuditCursor{}, 9)
		failing(t)(nil, err)
		wantEqual(t, len(left), 2)
		wantEqual(t, left[0].Time, minute(4))
	})
	t.Run("the erasure of a user must leave every entry as it is", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		mustAudit(t, s, full)
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "erase-1", Kind: memory.EraseUser, User: alice, Time: noon})
		failing(t)(nil, err)
		wantEqual(t, list(t, s, store.AuditQuery{}), []store.AuditEntry{full})
	})
	t.Run("of entries that many add at once none may be lost", func(t *testing.T) {
		s, done := open(t), make(chan error)
		for n := range 16 {
			go func() { done <- s.AddAuditEntries(t.Context(), []store.AuditEntry{auditEntry(n, nil)}) }()
		}
		for range 16 {
			failing(t)(nil, <-done)
		}
		wantEqual(t, len(list(t, s, store.AuditQuery{})), 16)
	})
}

func useAudit(t *testing.T, s store.Audit) {
	t.Helper()
	mustAudit(t, s, auditEntry(1, nil), auditEntry(2, func(e *store.AuditEntry) { e.User = memory.KeyedHash{1} }))
	for _, q := range []store.AuditQuery{
		{},
		{User: memory.KeyedHash{1}},
		{Before: &store.AuditCursor{Time: minute(9), ID: "x"}},
		{From: noon, Until: minute(9)},
		{Principal: "key:abc", Call: "c", Outcome: "OK", Session: memory.KeyedHash{1}, Request: memory.KeyedHash{1}},
		{User: memory.KeyedHash{1}, Session: memory.KeyedHash{1}, From: noon, Before: &store.AuditCursor{Time: minute(9), ID: "x"}},
	} {
		q.Tenant, q.Limit = "acme", 9
		failing(t)(s.ListAuditEntries(t.Context(), q))
	}
	failing(t)(s.ExportAuditEntries(t.Context(), store.AuditCursor{Time: noon, ID: "x"}, 9))
	failing(t)(s.ExpireAuditEntries(t.Context(), noon.Add(-time.Hour), 9))
}
