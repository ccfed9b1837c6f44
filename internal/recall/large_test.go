package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// library is a store of several users with segments; a user's scope is the user's id.
type library struct {
	mu    sync.Mutex
	users map[string][]store.Segment
	reads map[string]int // segments by user
	held  chan struct{}  // where it is not nil, segments are read once it is closed
}

func newLibrary(users ...string) *library {
	l := &library{users: map[string][]store.Segment{}, reads: map[string]int{}}
	for _, u := range users {
		for s := range 3 {
			var docs []segment.Doc
			for i := range 20 {
				m := memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(fmt.Sprintf("roses %d %d", s, i))}}
				docs = append(docs, segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(fmt.Sprint("s", s)), Seq: int64(i + 1)}, Message: m}))
			}
			l.users[u] = append(l.users[u], store.Segment{No: int64(s + 1), Data: segment.Encode(docs)})
		}
	}
	return l
}

func (l *library) SearchIndex(_ context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	state := store.SearchIndexState{Scope: memory.ScopeKey(q.User.UserID)}
	for _, s := range l.users[q.User.UserID] {
		state.Segments = append(state.Segments, store.SegmentInfo{No: s.No, Messages: 20, Bytes: len(s.Data)})
	}
	return state, nil
}

func (l *library) Segments(_ context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error) {
	if l.held != nil {
		<-l.held
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []store.Segment
	for _, no := range nos {
		out = append(out, l.users[user.UserID][no-1])
		l.reads[user.UserID]++
	}
	return out, nil
}

func (l *library) Rebuild(memory.UserRef) {}

func (l *library) Analyze(context.Context, []memory.PlacedMessage) ([]segment.Doc, int, error) {
	return nil, 0, nil
}

// search index is one over the library's users with room for so many bytes.
func (l *library) searchIndex(t *testing.T, bytes int64) *SearchIndex {
	t.Helper()
	x, err := NewSearchIndex(SearchIndexOptions{Store: l, MaxBytes: bytes, Indexer: l, Turns: l, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ask(t *testing.T, x *SearchIndex, user string) Found {
	t.Helper()
	found, err := x.Search(t.Context(), MessageQuestion{
		Ref: memory.UserRef{UserID: user}.Session(""), Query: rank.Query{Terms: []string{"rose"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tooSmall is room for less than the index of one of a library's users, and more than an eighth of it.
const tooSmall = 4 << 10

func TestAnIndexLargerThanTheCache(t *testing.T) {
	t.Run("is read once, however often it is searched", func(t *testing.T) {
		l := newLibrary("ada")
		x := l.searchIndex(t, tooSmall)
		for range 5 {
			if found := ask(t, x, "ada"); len(found.Hits) != 60 || found.Degraded != "" {
				t.Errorf("%d found, %q", len(found.Hits), found.Degraded)
			}
		}
		if l.reads["ada"] != 3 {
			t.Errorf("read %d segments, has 3", l.reads["ada"])
		}
	})
	t.Run("is read once when many searches begin together", func(t *testing.T) {
		l := newLibrary("ada")
		x := l.searchIndex(t, tooSmall)
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				if found := ask(t, x, "ada"); len(found.Hits) != 60 || found.Degraded != "" {
					t.Errorf("%d found, %q", len(found.Hits), found.Degraded)
				}
			})
		}
		all.Wait()
		if l.reads["ada"] != 3 {
			t.Errorf("read %d segments, has 3", l.reads["ada"])
		}
	})
	t.Run("is cut, and says so, where one may not be as large", func(t *testing.T) {
		l := newLibrary("ada")
		found := ask(t, l.searchIndex(t, 16), "ada")
		if !strings.Contains(found.Degraded, "larger than one may be") || !strings.Contains(found.Degraded, "recall-cache") {
			t.Errorf("%d found, %q", len(found.Hits), found.Degraded)
		}
	})
	t.Run("leaves those in the cache alone", func(t *testing.T) {
		l := newLibrary("ada", "bob")
		l.users["bob"] = nil
		x := l.searchIndex(t, tooSmall)
		ask(t, x, "bob")
		ask(t, x, "ada")
		if found := ask(t, x, "bob"); found.Degraded != "" {
			t.Errorf("degraded: %q", found.Degraded)
		}
	})
}

func TestLargeIndexesOfSeveralUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary("ada", "bob")
		x := l.searchIndex(t, tooSmall)
		ask(t, x, "ada")
		for range 3 {
			if found := ask(t, x, "bob"); !strings.Contains(found.Degraded, "another's") || len(found.Hits) != 0 {
				t.Errorf("%d found beside another's index, %q", len(found.Hits), found.Degraded)
			}
		}
		if found := ask(t, x, "ada"); len(found.Hits) != 60 || l.reads["ada"] != 3 || l.reads["bob"] != 0 {
			t.Errorf("%d found, %v read", len(found.Hits), l.reads)
		}
		time.Sleep(2 * leastResident) // virtual
		if found := ask(t, x, "bob"); len(found.Hits) != 60 || found.Degraded != "" {
			t.Errorf("%d found in turn, %q", len(found.Hits), found.Degraded)
		}
		if found := ask(t, x, "ada"); !strings.Contains(found.Degraded, "another's") {
			t.Errorf("%d found out of turn, %q", len(found.Hits), found.Degraded)
		}
	})
}

func TestAnIndexThatTakesLongToRead(t *testing.T) {
	search := func(ctx context.Context, x *SearchIndex) (Found, error) {
		return x.Search(ctx, MessageQuestion{Ref: memory.UserRef{UserID: "ada"}.Session(""), Query: rank.Query{Terms: []string{"rose"}}})
	}
	for name, bytes := range map[string]int64{"in the cache": 1 << 20, "too large for the cache": tooSmall} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLibrary("ada")
				l.held = make(chan struct{})
				x := l.searchIndex(t, bytes)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				found, err := search(ctx, x)
				if took := time.Since(begin); err != nil || took != 5*time.Second || len(found.Hits) != 0 || !strings.Contains(found.Degraded, "being read") {
					t.Errorf("a call with ten seconds is answered after %s with %d hits, %q, %v", took, len(found.Hits), found.Degraded, err)
				}
				gone, leave := context.WithCancel(t.Context())
				leave()
				if _, err := search(gone, x); !errors.Is(err, context.Canceled) {
					t.Errorf("a caller who went away got %v", err)
				}
				close(l.held)
				synctest.Wait()
				if found := ask(t, x, "ada"); len(found.Hits) != 60 || found.Degraded != "" || l.reads["ada"] != 3 {
					t.Errorf("after it was read: %d found, %q, %d segments read, want 3", len(found.Hits), found.Degraded, l.reads["ada"])
				}
			})
		})
	}
}

func TestTheSlotIsReleasedBeforeTheNextUserGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := largeIndexSlot{now: time.Now}
		made := func() *userIndex { return &userIndex{} }
		first, err := s.acquire(t.Context(), nil, "a", made)
		if err != nil || first == nil {
			t.Fatal(first, err)
		}
		s.filled(first, 0)
		time.Sleep(leastResident)
		got := make(chan *slotIndex)
		go func() {
			next, _ := s.acquire(t.Context(), nil, "b", made)
			got <- next
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("two indexes at once")
		default:
		}
		s.release(first)
		if next := <-got; next == nil || next.scope != "b" {
			t.Errorf("%+v", next)
		}
	})
}
