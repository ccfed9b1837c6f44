package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// TextCounter finds messages in store.TextOrderByCount: a store.TextView, or another index of a transcript that must rank alike.
type TextCounter interface {
	Put(ctx context.Context, space store.TextSpace, rows []store.TextRow) error
	Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error)
}

// TextCountOptions are what the suite runs on.
type TextCountOptions struct {
	Space    store.TextSpace // of the transcript, prepared
	Scope    func() memory.ScopeKey
	Patience time.Duration // how long a row may stay invisible
}

// RunTextCount runs the suite of store.TextOrderByCount.
func RunTextCount(t *testing.T, index TextCounter, o TextCountOptions) {
	c := &textCount{index, o}
	t.Run("Search by count must return the rows with most of the different terms, of equal ones the latest", c.testOrder)
	t.Run("Search by count must order rows of one time by session, the later message first", c.testTies)
	t.Run("Search by count must return nothing without terms, but everything where unmatched rows pass", c.testUnmatched)
	t.Run("Search by count must return rows with a term of each required group only", c.testRequired)
	t.Run("Search by count must filter by role, session and time before it chooses the best", c.testFilters)
	t.Run("Search by count must page behind a position: each row once, in order", c.testAfter)
	t.Run("Search by count must deliver a row among many near misses", c.testNearMisses)
}

type textCount struct {
	TextCounter
	TextCountOptions
}

// rows are messages of the words, one a minute.
func (c *textCount) rows(scope memory.ScopeKey, session memory.SessionKey, said ...string) (rows []store.TextRow) {
	for i, words := range said {
		rows = append(rows, spoken(scope, session, int64(i+1), words))
	}
	return rows
}

func (c *textCount) put(t *testing.T, rows ...store.TextRow) {
	t.Helper()
	if err := c.Put(t.Context(), c.Space, rows); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func (c *textCount) asks(scope memory.ScopeKey, words string) store.TextSearch {
	return store.TextSearch{Space: c.Space, Scope: scope, Terms: strings.Fields(words), Limit: 100, Order: store.TextOrderByCount}
}

func (c *textCount) search(t *testing.T, q store.TextSearch) []store.TextHit {
	t.Helper()
	hits, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	return hits
}

// await polls until Search returns the rows in that order, each with its score.
func (c *textCount) await(t *testing.T, q store.TextSearch, want ...string) {
	t.Helper()
	deadline := time.After(c.Patience + time.Second)
	for {
		got := []string{}
		for _, h := range c.search(t, q) {
			got = append(got, fmt.Sprintf("%s=%v", name(h.Place, ""), h.Score))
		}
		diff := gocmp.Diff(want, got, cmpopts.EquateEmpty())
		if diff == "" {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the hits differ (-want +got):\n%s", diff)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *textCount) testOrder(t *testing.T) {
	scope := c.Scope()
	c.put(t, c.rows(scope, "s", "one two", "one one one one", "two three one", "four", "three", "one filler filler filler")...)
	c.put(t, spoken(c.Scope(), "s", 1, "one two three"))
	c.await(t, c.asks(scope, "one two three one"), "s/3=3", "s/1=2", "s/6=1", "s/5=1", "s/2=1")
	few := c.asks(scope, "one two three")
	few.Limit = 2
	c.await(t, few, "s/3=3", "s/1=2")
}

func (c *textCount) testTies(t *testing.T) {
	scope := c.Scope()
	var rows []store.TextRow
	for _, n := range []int64{10, 9, 1} { // by number, not by its digits
		for _, session := range []memory.SessionKey{"t", "s"} {
			r := spoken(scope, session, n, "same")
			r.Time = noon
			rows = append(rows, r)
		}
	}
	c.put(t, rows...)
	c.await(t, c.asks(scope, "same"), "s/10=1", "s/9=1", "s/1=1", "t/10=1", "t/9=1", "t/1=1")
}

func (c *textCount) testUnmatched(t *testing.T) {
	scope := c.Scope()
	c.put(t, c.rows(scope, "s", "one", "two")...)
	q := c.asks(scope, "one")
	c.await(t, q, "s/1=1")
	q.Unmatched = true
	c.await(t, q, "s/1=1", "s/2=0")
	q.Terms = nil
	c.await(t, q, "s/2=0", "s/1=0")
	q.Unmatched = false
	c.await(t, q)
}

func (c *textCount) testRequired(t *testing.T) {
	scope := c.Scope()
	c.put(t, c.rows(scope, "s", "one two", "one three", "two three", "one", "two three four")...)
	q := c.asks(scope, "four one")
	q.Unmatched = true
	q.Required = [][]string{{"two", "three"}}
	c.await(t, q, "s/5=1", "s/2=1", "s/1=1", "s/3=0")
	q.Required = [][]string{{"two"}, {"three", "none"}}
	c.await(t, q, "s/5=1", "s/3=0")
	q.Unmatched = false
	c.await(t, q, "s/5=1")
	q.Required = [][]string{{"none"}}
	c.await(t, q)
}

func (c *textCount) testFilters(t *testing.T) {
	scope := c.Scope()
	rows := append(c.rows(scope, "s", "one", "one", "one two", "one"), c.rows(scope, "t", "one two three")...)
	for i := range rows {
		if i%2 == 1 {
			rows[i].Role = memory.RoleAssistant
		}
	}
	c.put(t, rows...)
	filtered := func(filter func(*store.TextSearch)) store.TextSearch {
		q := c.asks(scope, "one two three")
		filter(&q)
		return q
	}
	c.await(t, c.asks(scope, "one two three"), "t/1=3", "s/3=2", "s/4=1", "s/2=1", "s/1=1")
	c.await(t, filtered(func(q *store.TextSearch) { q.Roles = []memory.Role{memory.RoleAssistant} }), "s/4=1", "s/2=1")
	c.await(t, filtered(func(q *store.TextSearch) { q.Roles = []memory.Role{memory.RoleAssistant, memory.RoleUser}; q.Limit = 1 }), "t/1=3")
	c.await(t, filtered(func(q *store.TextSearch) { q.Roles = []memory.Role{} }))
	c.await(t, filtered(func(q *store.TextSearch) { q.Sessions = []memory.SessionKey{"s"}; q.Limit = 2 }), "s/3=2", "s/4=1")
	c.await(t, filtered(func(q *store.TextSearch) { q.From, q.To = minute(2), minute(4).Add(-time.Millisecond) }), "s/3=2", "s/2=1")
}

func (c *textCount) testAfter(t *testing.T) {
	scope := c.Scope()
	var rows []store.TextRow
	for i := range 25 {
		r := spoken(scope, memory.SessionKey([]string{"s", "t"}[i%2]), int64(i+1), []string{"one", "one two", "three"}[i%3])
		r.Time = minute(i / 4)
		rows = append(rows, r)
	}
	c.put(t, rows...)
	q := c.asks(scope, "one two")
	q.Unmatched = true
	var want []string
	for deadline := time.Now().Add(c.Patience + time.Second); len(want) < 25; {
		want = nil
		for _, h := range c.search(t, q) {
			want = append(want, name(h.Place, ""))
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d rows are visible", len(want))
		}
	}
	for _, size := range []int{1, 7, 24} {
		var got []string
		page := q
		page.Limit = size
		for {
			hits := c.search(t, page)
			for _, h := range hits {
				got = append(got, name(h.Place, ""))
			}
			if len(hits) < size {
				break
			}
			at := hits[len(hits)-1].Position()
			page.After = &at
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d hold %v, want %v", size, got, want)
		}
	}
}

// testNearMisses walks past rows that have all that is required but for what only their text says.
func (c *textCount) testNearMisses(t *testing.T) {
	scope := c.Scope()
	var rows []store.TextRow
	for i := range 1100 {
		rows = append(rows, spoken(scope, "s", int64(i+1), "night train"))
	}
	c.put(t, rows...)
	q := c.asks(scope, "")
	q.Unmatched, q.Required, q.Limit = true, [][]string{{"night"}, {"train"}}, 500
	deadline := time.Now().Add(c.Patience + time.Second)
	for {
		seen := map[memory.Place]bool{}
		for page := q; ; {
			hits := c.search(t, page)
			for _, h := range hits {
				seen[h.Place] = true
			}
			if len(hits) < page.Limit {
				break
			}
			at := hits[len(hits)-1].Position()
			page.After = &at
		}
		if len(seen) == len(rows) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d rows were delivered", len(seen), len(rows))
		}
	}
}
