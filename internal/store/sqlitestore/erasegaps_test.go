package sqlitestore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// newHouse is a file that nothing is in.
func newHouse(t *testing.T, path string) *house {
	t.Helper()
	return &house{Store: open(t, sqlitestore.Options{Path: path}), t: t, path: path}
}

// bustle has turns of many lengths recorded in sessions side by side, and some of these erased, but not swept, so that SQLite moves cells
// from page to page. Each step has a number of its own.
func bustle(ctx context.Context, s *sqlitestore.Store, rng *rand.Rand, from, to int) error {
	for n := from; n < to; n++ {
		id := fmt.Sprint("s", rng.IntN(12))
		if _, err := s.Append(ctx, benchTurn(alice.Session(id), n, strings.Repeat("harmless ", rng.IntN(90)))); err != nil {
			return err
		}
		p := store.ErasureStart{ID: fmt.Sprint("e", n), Kind: memory.EraseSession, User: alice, SessionID: id, Time: benchTime}
		switch {
		case n%31 == 30:
		case n%3 == 2:
			p.Kind, p.Seqs = memory.EraseMessages, []memory.SeqRange{{From: 1 + rng.Int64N(8), To: 9}}
		default:
			continue
		}
		if _, err := s.BeginErasure(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func isUsed(gap []byte) bool { return slices.ContainsFunc(gap, func(b byte) bool { return b != 0 }) }

// unused checks that after a pass no page of the whole file has something in its room.
func (h *house) unused(when string) {
	h.t.Helper()
	h.purge()
	used, err := h.Gaps(h.t.Context(), isUsed)
	h.must(err)
	if len(used) > 0 {
		h.t.Errorf("%s: after a pass the rooms of pages %v are used", when, used)
	}
}

// A pass looks at written pages alone, and leaves what one over the whole file leaves: nothing.
func TestAPassLeavesNoRoomUsed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := newHouse(t, filepath.Join(t.TempDir(), "strata.db"))
	n := 0
	bustle := func() {
		t.Helper()
		h.must(bustle(t.Context(), h.Store, rng, n, n+100))
		n += 100
	}
	bustle()
	h.unused("the first pass")
	bustle()
	if used, err := h.Gaps(t.Context(), isUsed); err != nil || len(used) == 0 {
		t.Fatalf("rooms of pages %v are used before the pass, error %v: the test proves nothing", used, err)
	}
	h.unused("a later one")
	for range 3 { // the WAL is moved into the file, so that the next commit begins it anew
		bustle()
		h.must(h.MoveWAL())
	}
	h.unused("after the WAL was begun anew")
	bustle()
	if err := h.Write(t.Context(), func(*sqlitestore.Conn) error { panic("drop the connection") }); err == nil {
		t.Fatal("the panic was acknowledged")
	}
	bustle()
	h.unused("after the writer's connection was opened again")
	bustle()
	crashed := newHouse(t, twin(t, h.path))
	crashed.unused("after a crash")
	crashed.integrity()
	h.must(h.Close())
	h = newHouse(t, h.path)
	h.unused("after the file was opened again")
	h.integrity()
}

// What small turns write is noted some turns later, but before the WAL that names it is begun anew.
func TestWhatSmallTurnsWriteIsNotedAsIfItWereNotedAtOnce(t *testing.T) {
	stores := map[string]*sqlitestore.Store{}
	for _, name := range []string{"later", "at once"} {
		key := 0
		stores[name] = open(t, sqlitestore.Options{Keys: func() string {
			key++
			return fmt.Sprintf("%032x", key)
		}})
	}
	noted := func() map[string][]int64 {
		t.Helper()
		pages := map[string][]int64{}
		for name, s := range stores {
			some, all, err := s.WrittenSince(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if pages[name] = some; all {
				t.Errorf("%s: any page may have been written", name)
			}
		}
		return pages
	}
	for _, s := range stores {
		record(t, s, "first")
		if _, _, err := s.WrittenSince(t.Context()); err != nil { // after the start, any page may have been written
			t.Fatal(err)
		}
	}
	for n := range 100 {
		for name, s := range stores {
			record(t, s, fmt.Sprint("m", n))
			if name == "at once" {
				if err := s.Write(t.Context(), func(*sqlitestore.Conn) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if n%7 == 0 {
				if err := s.MoveWAL(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n%20 != 0 {
			continue
		}
		if got := noted(); len(got["at once"]) == 0 || !slices.Equal(got["later"], got["at once"]) {
			t.Errorf("after turn %d: pages %v, want %v", n, got["later"], got["at once"])
		}
	}
}

// sideBySide has sessions s0 to s11 grow side by side; what is said in s5 bears the canary.
func (h *house) sideBySide() {
	h.t.Helper()
	for n := range 60 {
		for i := range 12 {
			words := fmt.Sprintf("words of session %d", i)
			if i == 5 {
				words = canary + strings.Repeat("x", n*7%90)
			}
			h.append(fmt.Sprintf("s%d", i), n+1, words+strings.Repeat("y", (n*31+i*17)%140), false)
		}
	}
	if n := h.found(); n < 60 {
		h.t.Fatalf("the canary was planted %d times only", n)
	}
}

// beginErase begins the erasure of session s5, which is called e.
func (h *house) beginErase() {
	h.t.Helper()
	_, err := h.BeginErasure(h.t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseSession, SessionID: "s5", User: alice, Time: benchTime})
	h.must(err)
}

// Sessions that grow side by side have SQLite move their rows from page to page, and it leaves copies behind: those must go too.
func TestOfSessionsThatGrewSideBySideNoByteIsLeft(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "strata.db"))
	h.purge() // so that later passes look at written pages alone
	h.sideBySide()
	h.beginErase()
	h.sweep("e")
	if n := h.found(); n != 0 {
		t.Errorf("the canary is left %d times", n)
	}
	got, err := h.Messages(t.Context(), store.MessageQuery{Ref: alice.Session("s6"), Limit: 99})
	if err != nil || len(got) != 60 {
		t.Errorf("the session beside it has %d messages, %v", len(got), err)
	}
	h.integrity()
}

func TestAPassThatForgetsAPageIsFoundOut(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "strata.db"))
	h.purge()
	h.sideBySide()
	h.beginErase()
	asked, end := h.Purges(), h.BeginPurge()
	var sweep errgroup.Group
	sweep.Go(func() error {
		h.sweep("e")
		return nil
	})
	for h.Purges() == asked { // its rows are deleted when it asks for a pass
		runtime.Gosched()
	}
	bearing, err := h.Gaps(t.Context(), func(gap []byte) bool { return bytes.Contains(gap, []byte(canary)) })
	h.must(err)
	h.must(h.Written(t.Context(), func(pages map[int64]bool) {
		if len(bearing) == 0 || !pages[bearing[0]] {
			t.Errorf("pages %v have copies in their rooms, %v were written", bearing, pages)
			return
		}
		delete(pages, bearing[0])
	}))
	end()
	h.must(sweep.Wait())
	if h.found() == 0 {
		t.Error("the pass leaves nothing")
	}
}

// Whoever waits when a pass begins is served by it; whoever comes later may have deleted rows since, and is not.
func TestErasuresThatWaitShareOnePass(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "strata.db"))
	record(t, h.Store, "m1")
	h.purge()
	purges := func(n int, when func()) (wait func()) {
		asked := h.Purges()
		var g errgroup.Group
		for range n {
			g.Go(func() error {
				h.purge()
				return nil
			})
		}
		for h.Purges() < asked+int64(n) {
			runtime.Gosched()
		}
		when()
		return func() { h.must(g.Wait()) }
	}
	before, end := h.Stats().Commits, h.BeginPurge()
	purges(20, end)()
	if got := h.Stats().Commits - before; got != 1 {
		t.Errorf("20 that wait take %d passes, want 1", got)
	}
	letGo, ended := h.holdWAL() // it keeps a pass from its end
	record(t, h.Store, "m2")
	before = h.Stats().Commits
	first := purges(1, func() {
		for h.Stats().Commits == before {
			runtime.Gosched()
		}
	})
	second := purges(1, letGo)
	first()
	second()
	ended()
	if got := h.Stats().Commits - before; got < 2 {
		t.Error("a pass served one that came after it had begun")
	}
}

// What is reported gone is gone, whatever others write while the pass runs.
func TestBesideWritesNoByteIsLeft(t *testing.T) {
	h := newHouse(t, filepath.Join(t.TempDir(), "strata.db"))
	h.purge()
	ctx, cancel := context.WithCancel(t.Context())
	var others errgroup.Group
	others.Go(func() error {
		rng := rand.New(rand.NewPCG(3, 4))
		for n := 0; ctx.Err() == nil; n += 10 {
			if err := bustle(context.WithoutCancel(ctx), h.Store, rng, n, n+10); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 20 {
		id := fmt.Sprint("canary", i)
		for n := range 40 {
			_, err := h.Append(t.Context(), benchTurn(alice.Session(id), 1_000_000*(i+1)+n, canary+strings.Repeat("x", n*37%900)))
			h.must(err)
		}
		_, err := h.BeginErasure(t.Context(), store.ErasureStart{ID: id, Kind: memory.EraseSession, User: alice, SessionID: id, Time: benchTime})
		h.must(err)
		h.sweep(id)
		if n := h.found(); n != 0 {
			t.Errorf("erasure %d: the canary is left %d times", i, n)
		}
	}
	cancel()
	h.must(others.Wait())
	h.unused("in the end")
	h.integrity()
}
