package storetest

import (
	"errors"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testUsage(t *testing.T, open Open[store.PrimaryStore]) {
	days := func(t *testing.T, s store.Usage, tenant string, from, to int64) []store.UsageDay {
		t.Helper()
		got, err := s.UsageDays(t.Context(), tenant, from, to)
		failing(t)(nil, err)
		return got
	}
	t.Run("what a tenant used must be added up by day, and be no other tenant's", func(t *testing.T) {
		s := open(t)
		for _, u := range []store.UsageDay{{Day: 20_000, Tokens: 5, Cost: 7}, {Day: 19_999, Tokens: 1}, {Day: 20_000, Tokens: 2, Cost: 1}} {
			failing(t)(nil, s.AddUsage(t.Context(), "acme", u))
		}
		wantEqual(t, days(t, s, "acme", 0, 30_000), []store.UsageDay{{Day: 19_999, Tokens: 1}, {Day: 20_000, Tokens: 7, Cost: 8}})
		wantEqual(t, days(t, s, "acme", 20_000, 20_000), []store.UsageDay{{Day: 20_000, Tokens: 7, Cost: 8}})
		wantEqual(t, days(t, s, "acme", 20_001, 30_000), []store.UsageDay(nil))
		wantEqual(t, days(t, s, "other", 0, 30_000), []store.UsageDay(nil))
	})
	t.Run("of what a tenant uses at once nothing may be lost", func(t *testing.T) {
		s, done := open(t), make(chan error)
		for range 16 {
			go func() { done <- s.AddUsage(t.Context(), "acme", store.UsageDay{Day: 1, Tokens: 3, Cost: 1 << 40}) }()
		}
		for range 16 {
			failing(t)(nil, <-done)
		}
		wantEqual(t, days(t, s, "acme", 1, 1), []store.UsageDay{{Day: 1, Tokens: 48, Cost: 16 << 40}})
	})
	t.Run("messages must be counted of the tenant, and of the one user", func(t *testing.T) {
		s := open(t)
		count := func(tenant, user string, want int64) {
			t.Helper()
			got, err := s.CountMessages(t.Context(), tenant, user)
			failing(t)(nil, err)
			wantEqual(t, got, want)
		}
		count("acme", "", 0)
		ada, bob := memory.UserRef{Tenant: "acme", UserID: "ada"}, memory.UserRef{Tenant: "acme", UserID: "bob"}
		mustAppend(t, s, turn(ada.Session("s"), chat("a", 3)...))
		mustAppend(t, s, turn(ada.Session("t"), chat("a", 2)...))
		mustAppend(t, s, turn(bob.Session("s"), chat("a", 1)...))
		mustAppend(t, s, turn(memory.UserRef{Tenant: "other", UserID: "ada"}.Session("s"), chat("a", 4)...))
		count("acme", "", 6)
		count("acme", "ada", 5)
		count("acme", "nobody", 0)
		count("other", "", 4)
		mustHide(t, s, ada.Session("t"), "a-1", true)
		count("acme", "ada", 5)
		erased := store.ErasureStart{ID: "erase-0", Kind: memory.EraseMessages, User: ada, SessionID: "s", Seqs: []memory.SeqRange{{From: 1, To: 2}}, Time: noon}
		_, err := s.BeginErasure(t.Context(), erased)
		failing(t)(nil, err)
		count("acme", "ada", 3)
		count("acme", "", 4)
		_, err = s.BeginErasure(t.Context(), store.ErasureStart{ID: "erase-1", Kind: memory.EraseSession, User: ada, SessionID: "s", Time: noon})
		failing(t)(nil, err)
		count("acme", "ada", 2)
		_, err = s.BeginErasure(t.Context(), store.ErasureStart{ID: "erase-2", Kind: memory.EraseUser, User: ada, Time: noon})
		failing(t)(nil, err)
		count("acme", "ada", 0)
		count("acme", "", 1)
	})
	t.Run("a turn with more new messages than there is room for must be refused and leave nothing", func(t *testing.T) {
		s, full := open(t), errors.New("full")
		ref := memory.UserRef{Tenant: "acme", UserID: "ada"}.Session("s")
		first := turn(ref, chat("a", 2)...)
		first.RequestID, first.Room = "r1", &store.Room{Messages: 2, Full: full}
		mustAppend(t, s, first)
		more := turn(ref, chat("b", 2)...)
		more.Room = &store.Room{Messages: 1, Full: full}
		if _, err := s.Append(t.Context(), more); !errors.Is(err, full) {
			t.Errorf("error %v, want that there is no room", err)
		}
		n, err := s.CountMessages(t.Context(), "acme", "")
		failing(t)(nil, err)
		wantEqual(t, n, int64(2))
		more.Room.Messages = 2
		mustAppend(t, s, more)
	})
	t.Run("a full store must replay a request and take messages that it has", func(t *testing.T) {
		s, full := open(t), errors.New("full")
		ref := memory.UserRef{Tenant: "acme", UserID: "ada"}.Session("s")
		first := turn(ref, chat("a", 2)...)
		first.RequestID = "r1"
		mustAppend(t, s, first)
		first.Room = &store.Room{Full: full}
		if got := mustAppend(t, s, first); !got.Replayed {
			t.Error("the request was not replayed")
		}
		known := turn(ref, chat("a", 2)...)
		known.Room = &store.Room{Full: full}
		if got := mustAppend(t, s, known); len(got.Deduplicated) != 2 {
			t.Errorf("%d messages are known, want two", len(got.Deduplicated))
		}
	})
}

func useUsage(t *testing.T, s store.Usage) {
	t.Helper()
	failing(t)(nil, s.AddUsage(t.Context(), "acme", store.UsageDay{Day: 1, Tokens: 1, Cost: 1}))
	failing(t)(s.UsageDays(t.Context(), "acme", 0, 9))
	failing(t)(s.CountMessages(t.Context(), "acme", ""))
	failing(t)(s.CountMessages(t.Context(), "acme", "ada"))
}
