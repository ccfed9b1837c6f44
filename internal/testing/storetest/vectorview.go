package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// VectorViewOptions fit the suite to a driver.
type VectorViewOptions struct {
	Crowd    int           // rows of the user most of whose near rows are filtered out; 0 for 2,000
	Writers  int           // concurrent users of one view; 0 for 8
	Patience time.Duration // how much longer than Lag a busy machine may take; 0 for 20 s
}

// RunVectorView runs the suite of store.VectorView on one view with nothing in it. It drops every space that it prepares.
func RunVectorView(t *testing.T, open Open[store.VectorView], o VectorViewOptions) {
	v := &vectorView{
		VectorView:        open(t),
		space:             store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 4},
		VectorViewOptions: o,
	}
	v.setDefaults()
	t.Cleanup(func() { v.dropAll(t) })
	v.prepare(t, v.space)
	t.Run("Check must pass, and Lag be less than a minute", v.testHealth)
	t.Run("Prepare must be harmless again and from several replicas at once", v.testPrepare)
	t.Run("Prepare must refuse another dimension of the same build and version", v.testOtherDimension)
	t.Run("Put must store rows that Search sees no later than Lag", v.testPut)
	t.Run("Put must replace the row of a fact, however quickly one follows the other", v.testReplace)
	t.Run("Put must be harmless again, and take the last row of a fact that is named twice", v.testPutAgain)
	t.Run("Put and Search must refuse a vector of another dimension", v.testDimension)
	t.Run("Remove must delete the scope's rows of the facts, those put just now too", v.testRemove)
	t.Run("Search must return the nearest first", v.testNearest)
	t.Run("Search must filter before it chooses the nearest", v.testFilters)
	t.Run("Search must order equal scores by fact id, where the limit cuts them off too", v.testEqualScores)
	t.Run("Search must return no more than there is", v.testFew)
	t.Run("Search and Rows must never answer another scope's rows", v.testScopes)
	t.Run("Rows must page through what the space holds as of now, each row once", v.testRows)
	t.Run("EraseScope must delete the scope's rows in every space, those put just now too, and count them", v.testErase)
	t.Run("Spaces must return all spaces by build, then version, and Drop delete one with its rows", v.testSpaces)
	t.Run("Messages must be kept by their places, apart from facts", v.testTurns)
	t.Run("A space that does not exist must be an error of Search and Put, and empty for the others", v.testNoSpace)
	t.Run("A key that was not minted must be refused with an error that does not repeat it", v.testKeys)
	t.Run("A call must fail when its context has ended", v.testEnded)
	t.Run("Many at once must leave each fact once", v.testConcurrency)
}

type vectorView struct {
	store.VectorView
	VectorViewOptions
	space  store.VectorSpace
	scopes int // handed out so far
}

func (v *vectorView) setDefaults() {
	if v.Crowd == 0 {
		v.Crowd = 2000
	}
	if v.Writers == 0 {
		v.Writers = 8
	}
	if v.Patience == 0 {
		v.Patience = 20 * time.Second
	}
}

// scope hands out a scope that no other test uses.
func (v *vectorView) scope() memory.ScopeKey {
	v.scopes++
	return memory.ScopeKey(fmt.Sprintf("%032x", v.scopes))
}

func (v *vectorView) prepare(t *testing.T, space store.VectorSpace) {
	t.Helper()
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
}

func (v *vectorView) dropAll(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	spaces, err := v.Spaces(ctx)
	for _, s := range spaces {
		err = errors.Join(err, v.Drop(ctx, s))
	}
	if err != nil {
		t.Errorf("clean up: %v", err)
	}
}

func (v *vectorView) put(t *testing.T, rows ...store.VectorRow) {
	t.Helper()
	if err := v.Put(t.Context(), v.space, rows); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func (v *vectorView) remove(t *testing.T, scope memory.ScopeKey, factIDs ...string) {
	t.Helper()
	if err := v.Remove(t.Context(), v.space, scope, states(factIDs...)); err != nil {
		t.Fatalf("Remove: %v", err)
	}
}

// states names facts.
func states(factIDs ...string) []store.RowState {
	rows := make([]store.RowState, len(factIDs))
	for i, id := range factIDs {
		rows[i].FactID = id
	}
	return rows
}

// query asks for the facts of a scope that are nearest to the angle 0.
func (v *vectorView) query(scope memory.ScopeKey) store.VectorSearch {
	return store.VectorSearch{Space: v.space, Scope: scope, Vector: direction(0), Limit: 1000}
}

func (v *vectorView) search(t *testing.T, q store.VectorSearch) []store.VectorHit {
	t.Helper()
	hits, err := v.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	for _, h := range hits {
		if h.Scope != q.Scope {
			t.Fatalf("a row of scope %s was found by %s", h.Scope, q.Scope)
		}
	}
	return hits
}

// finds waits until a search returns the facts in this order, and fails when it does not within Lag.
func (v *vectorView) finds(t *testing.T, q store.VectorSearch, want ...string) {
	t.Helper()
	v.eventually(t, func() string {
		return cmp.Diff(want, factsOf(v.search(t, q)))
	})
}

// eventually waits until the difference is none.
func (v *vectorView) eventually(t *testing.T, diff func() string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(v.Lag() + v.Patience)
	defer late.Stop()
	for diff() != "" {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("after Lag (-want +got):\n%s", diff())
		}
	}
}

func factsOf(hits []store.VectorHit) []string {
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.FactID)
	}
	return ids
}

// rows returns all rows of a scope, or of all for "", in pages of n.
func (v *vectorView) rows(t *testing.T, space store.VectorSpace, scope memory.ScopeKey, n int) []store.RowState {
	t.Helper()
	var out []store.RowState
	q := store.RowQuery[store.VectorSpace]{Space: space, Scope: scope, Limit: n}
	for {
		page, err := v.Rows(t.Context(), q)
		if err != nil {
			t.Fatalf("Rows: %v", err)
		}
		if len(page) > n {
			t.Fatalf("a page of %d has %d rows", n, len(page))
		}
		out = append(out, page...)
		if len(page) < n {
			return out
		}
		q.After = page[n-1].Cursor
	}
}

// revisionsOf are rows as scope/fact: revision; a row that is there twice fails.
func revisionsOf(t *testing.T, rows []store.RowState) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, r := range rows {
		key := string(r.Scope) + "/" + r.FactID
		if _, ok := out[key]; ok {
			t.Errorf("%s is there twice", key)
		}
		out[key] = r.Revision
	}
	return out
}

// direction is a vector at an angle, in degrees, from the one that query asks with: 0 to 180, the nearer the lower.
func direction(degrees float64) []float32 {
	a := degrees * math.Pi / 180
	return []float32{float32(math.Cos(a)), float32(math.Sin(a)), 0, 0}
}

func vectorRow(scope memory.ScopeKey, factID string, degrees float64) store.VectorRow {
	return store.VectorRow{
		Scope: scope, FactID: factID, Revision: 1, Vector: direction(degrees), Significance: 5,
		Category: memory.CategoryOther, Session: "sessionA", ValidFrom: noon,
	}
}

func (v *vectorView) testHealth(t *testing.T) {
	if err := v.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if lag := v.Lag(); lag < 0 || lag > time.Minute {
		t.Errorf("Lag is %v", lag)
	}
}

func (v *vectorView) testPrepare(t *testing.T) {
	space, scope := v.space, v.scope()
	space.Build = 2
	v.atOnce(t, func(int) error { return v.Prepare(t.Context(), space) })
	if err := v.Put(t.Context(), space, []store.VectorRow{vectorRow(scope, "a", 1)}); err != nil {
		t.Fatal(err)
	}
	v.prepare(t, space)
	wantEqual(t, len(v.rows(t, space, scope, 10)), 1)
}

// atOnce runs one function for each writer and reports every error.
func (v *vectorView) atOnce(t *testing.T, f func(writer int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range v.Writers {
		wg.Go(func() {
			if err := f(w); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	wg.Wait()
}

func (v *vectorView) testOtherDimension(t *testing.T) {
	other := v.space
	other.Dimension++
	if err := v.Prepare(t.Context(), other); err == nil {
		t.Error("two dimensions share a space")
	}
}

func (v *vectorView) testPut(t *testing.T) {
	scope := v.scope()
	v.put(t, vectorRow(scope, "a", 10), vectorRow(scope, "b", 20))
	v.finds(t, v.query(scope), "a", "b")
	for _, h := range v.search(t, v.query(scope)) {
		want := math.Cos(map[string]float64{"a": 10, "b": 20}[h.FactID] * math.Pi / 180)
		if math.Abs(h.Score-want) > 1e-5 {
			t.Errorf("the score of %s is %v, its cosine %v", h.FactID, h.Score, want)
		}
	}
}

func (v *vectorView) testReplace(t *testing.T) {
	scope := v.scope()
	for revision := range int64(20) {
		a := vectorRow(scope, "a", 100-float64(revision))
		a.Revision = revision + 1
		v.put(t, a, vectorRow(scope, "b", 90))
	}
	want := map[string]int64{string(scope) + "/a": 20, string(scope) + "/b": 1}
	wantEqual(t, revisionsOf(t, v.rows(t, v.space, scope, 10)), want)
	v.finds(t, v.query(scope), "a", "b") // a was last at 81 degrees
	wantEqual(t, revisionsOf(t, v.rows(t, v.space, scope, 10)), want)
}

func (v *vectorView) testPutAgain(t *testing.T) {
	scope := v.scope()
	old, last := vectorRow(scope, "a", 50), vectorRow(scope, "a", 5)
	last.Revision = 2
	for range 3 {
		v.put(t, old, vectorRow(scope, "b", 10), last)
	}
	v.finds(t, v.query(scope), "a", "b")
	wantEqual(t, revisionsOf(t, v.rows(t, v.space, scope, 10)), map[string]int64{string(scope) + "/a": 2, string(scope) + "/b": 1})
}

func (v *vectorView) testDimension(t *testing.T) {
	r, q := vectorRow(v.scope(), "a", 0), v.query(v.scope())
	r.Vector, q.Vector = r.Vector[:3], q.Vector[:3]
	if err := v.Put(t.Context(), v.space, []store.VectorRow{r}); err == nil {
		t.Error("Put takes three numbers for four")
	}
	if _, err := v.Search(t.Context(), q); err == nil {
		t.Error("Search takes three numbers for four")
	}
}

func (v *vectorView) testRemove(t *testing.T) {
	scope, other := v.scope(), v.scope()
	v.put(t, vectorRow(scope, "a", 1), vectorRow(scope, "b", 2), vectorRow(scope, "c", 3), vectorRow(other, "a", 1))
	v.remove(t, scope, "a", "c", "never-put")
	v.remove(t, scope)
	wantEqual(t, revisionsOf(t, v.rows(t, v.space, scope, 10)), map[string]int64{string(scope) + "/b": 1})
	v.finds(t, v.query(scope), "b")
	v.finds(t, v.query(other), "a")
	v.remove(t, scope, "a")
	v.put(t, vectorRow(scope, "a", 1)) // after its removal
	v.finds(t, v.query(scope), "a", "b")
	v.remove(t, scope, "a", "b")
	v.finds(t, v.query(scope))
}

func (v *vectorView) testNearest(t *testing.T) {
	scope, random := v.scope(), rand.New(rand.NewPCG(1, 2))
	rows := make([]store.VectorRow, 300)
	for i := range rows {
		rows[i] = vectorRow(scope, fmt.Sprintf("fact-%03d", i), 0)
		rows[i].Vector = []float32{random.Float32() - .5, random.Float32() - .5, random.Float32() - .5, random.Float32() - .5}
	}
	v.put(t, rows...)
	q := v.query(scope)
	q.Vector = []float32{.1, -.2, .3, -.4}
	slices.SortFunc(rows, func(a, b store.VectorRow) int {
		return -compareFloats(cosineOf(q.Vector, a.Vector), cosineOf(q.Vector, b.Vector))
	})
	want := make([]string, len(rows))
	for i, r := range rows {
		want[i] = r.FactID
	}
	v.finds(t, q, want...)
	q.Limit = 10
	v.finds(t, q, want[:10]...)
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func cosineOf(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}

// testFilters puts many near rows that pass no filter, and thirty far ones that pass all.
func (v *vectorView) testFilters(t *testing.T) {
	scope := v.scope()
	rows, want := v.nearAndFar(scope)
	v.put(t, rows...)
	none := v.query(scope)
	none.Limit = 30
	for name, filter := range map[string]func(*store.VectorSearch){
		"significance": func(q *store.VectorSearch) { q.MinSignificance = 7 },
		"category": func(q *store.VectorSearch) {
			q.Categories = []memory.Category{memory.CategoryGoal, memory.CategoryDecision}
		},
		"another session": func(q *store.VectorSearch) { q.Exclude = "sessionA" },
		"sessions":        func(q *store.VectorSearch) { q.Sessions = []memory.SessionKey{"sessionB", "sessionC"} },
		"what holds":      func(q *store.VectorSearch) { q.CurrentOnly = true },
		"from":            func(q *store.VectorSearch) { q.From = minute(1) },
		"to":              func(q *store.VectorSearch) { q.From, q.To = minute(1), minute(2) },
		"all of them": func(q *store.VectorSearch) {
			q.MinSignificance, q.Categories, q.Exclude, q.CurrentOnly = 7, []memory.Category{memory.CategoryGoal}, "sessionA", true
			q.From, q.To = minute(1), minute(2)
		},
	} {
		t.Run("by "+name, func(t *testing.T) {
			q := none
			filter(&q)
			v.finds(t, q, want...)
		})
	}
	t.Run("by a time before all, which a row without one passes", func(t *testing.T) {
		v.put(t, store.VectorRow{Scope: scope, FactID: "always", Revision: 1, Vector: direction(120)})
		q := none
		q.To = noon
		v.finds(t, q, "always")
	})
}

func (v *vectorView) nearAndFar(scope memory.ScopeKey) (rows []store.VectorRow, far []string) {
	n := v.Crowd
	for i := range n {
		r := vectorRow(scope, fmt.Sprintf("fact-%06d", i), 90*float64(i)/float64(n))
		r.ValidTo = minute(9)
		if i >= n-30 {
			r.Significance, r.Category, r.Session = 7, memory.CategoryGoal, "sessionB"
			r.ValidFrom, r.ValidTo = minute(1), time.Time{}
			far = append(far, r.FactID)
		}
		rows = append(rows, r)
	}
	return rows, far
}

func (v *vectorView) testEqualScores(t *testing.T) {
	scope := v.scope()
	var rows []store.VectorRow
	var want []string
	for i := range 200 {
		id := fmt.Sprintf("fact-%03d", i)
		rows = append(rows, vectorRow(scope, id, 30))
		want = append(want, id)
	}
	slices.Reverse(rows)
	v.put(t, append(rows, vectorRow(scope, "nearest", 10), vectorRow(scope, "farthest", 60))...)
	q := v.query(scope)
	v.finds(t, q, slices.Concat([]string{"nearest"}, want, []string{"farthest"})...)
	q.Limit = 20
	v.finds(t, q, append([]string{"nearest"}, want[:19]...)...)
}

func (v *vectorView) testFew(t *testing.T) {
	scope := v.scope()
	wantEqual(t, len(v.search(t, v.query(scope))), 0)
	v.put(t, vectorRow(scope, "a", 1), vectorRow(scope, "b", 2), vectorRow(scope, "c", 3))
	v.finds(t, v.query(scope), "a", "b", "c")
	q := v.query(scope)
	q.Limit = 2
	v.finds(t, q, "a", "b")
	q.Limit, q.MinSignificance = 1000, 9
	wantEqual(t, len(v.search(t, q)), 0)
}

// nearTwins are keys that a careless filter, hash or separator takes for one another.
func nearTwins(base memory.ScopeKey) []memory.ScopeKey {
	b := string(base)
	out := []memory.ScopeKey{base}
	for _, k := range []string{b + "0", b + "_", b + "-", "_" + b, b + b, strings.ToUpper("a" + b), strings.ToLower("A" + b), b + "a", b + "ab", b[1:]} {
		out = append(out, memory.ScopeKey(k))
	}
	for i := range 20 {
		out = append(out, memory.ScopeKey(fmt.Sprintf("%sx%02d", b, i)))
	}
	return out
}

func (v *vectorView) testScopes(t *testing.T) {
	scopes := nearTwins(v.scope() + "z")
	var rows []store.VectorRow
	for i, s := range scopes {
		rows = append(
			rows,
			vectorRow(s, "shared", float64(i)),
			vectorRow(s, "b", 80),
			vectorRow(s, "ab", 81),
			vectorRow(s, fmt.Sprintf("own-%d", i), 82),
		)
	}
	v.put(t, rows...)
	for i, s := range scopes {
		own := fmt.Sprintf("own-%d", i)
		v.finds(t, v.query(s), "shared", "b", "ab", own)
		key := string(s) + "/"
		wantEqual(t, revisionsOf(t, v.rows(t, v.space, s, 100)), map[string]int64{key + "shared": 1, key + "b": 1, key + "ab": 1, key + own: 1})
	}
	v.remove(t, scopes[0], "shared", "b")
	if _, err := v.EraseScope(t.Context(), scopes[1]); err != nil {
		t.Fatal(err)
	}
	v.finds(t, v.query(scopes[0]), "ab", "own-0")
	v.finds(t, v.query(scopes[1]))
	for i, s := range scopes[2:] {
		v.finds(t, v.query(s), "shared", "b", "ab", fmt.Sprintf("own-%d", i+2))
	}
}

func (v *vectorView) testRows(t *testing.T) {
	space := v.second(t)
	want := map[string]int64{}
	var rows []store.VectorRow
	scopes := []memory.ScopeKey{v.scope(), v.scope(), v.scope()}
	for i := range 100 {
		r := vectorRow(scopes[i%3], fmt.Sprintf("fact-%d", (i*37)%100), float64(i))
		r.Revision = int64(i + 1)
		rows = append(rows, r)
		want[string(r.Scope)+"/"+r.FactID] = r.Revision
	}
	for part := range slices.Chunk(rows, 9) {
		if err := v.Put(t.Context(), space, part); err != nil {
			t.Fatal(err)
		}
	}
	first := v.rows(t, space, "", 7)
	wantEqual(t, revisionsOf(t, first), want)
	wantEqual(t, v.rows(t, space, "", 1000), first)
	for _, s := range scopes {
		var own []store.RowState
		for _, r := range first {
			if r.Scope == s {
				own = append(own, r)
			}
		}
		wantEqual(t, v.rows(t, space, s, 10), own)
	}
	wantEqual(t, len(v.rows(t, space, v.scope(), 10)), 0)
}

// second empties the space of build 2.
func (v *vectorView) second(t *testing.T) store.VectorSpace {
	t.Helper()
	space := v.space
	space.Build = 2
	v.drop(t, space)
	v.prepare(t, space)
	return space
}

func (v *vectorView) drop(t *testing.T, space store.VectorSpace) {
	t.Helper()
	if err := v.Drop(t.Context(), space); err != nil {
		t.Fatalf("Drop: %v", err)
	}
}

func (v *vectorView) testErase(t *testing.T) {
	space, scope, other := v.second(t), v.scope(), v.scope()
	var rows []store.VectorRow
	for i := range 1100 {
		rows = append(rows, vectorRow(scope, fmt.Sprintf("fact-%d", i), 90), vectorRow(other, fmt.Sprintf("fact-%d", i), 1))
	}
	v.put(t, rows...)
	if err := v.Put(t.Context(), space, rows[:20]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1110, 0} {
		n, err := v.EraseScope(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, n, want)
		for _, s := range []store.VectorSpace{v.space, space} {
			wantEqual(t, len(v.rows(t, s, scope, 1000)), 0)
		}
	}
	wantEqual(t, len(v.rows(t, v.space, other, 10_000)), 1100)
	wantEqual(t, len(v.rows(t, space, other, 1000)), 10)
	v.finds(t, v.query(scope))
}

func (v *vectorView) testSpaces(t *testing.T) {
	second := v.second(t)
	third := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 2, Dimension: 6}
	v.prepare(t, third)
	want := []store.VectorSpace{v.space, third, second}
	wantEqual(t, v.spaces(t), want)
	scope := v.scope()
	if err := v.Put(t.Context(), second, []store.VectorRow{vectorRow(scope, "a", 1)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v.drop(t, second)
		v.drop(t, third)
		wantEqual(t, v.spaces(t), []store.VectorSpace{v.space})
	}
	wantEqual(t, len(v.rows(t, second, "", 10)), 0)
	v.prepare(t, second)
	wantEqual(t, len(v.rows(t, second, "", 10)), 0)
}

func (v *vectorView) testTurns(t *testing.T) {
	turns, scope := v.space, v.scope()
	turns.View = memory.ViewMessageVectors
	v.prepare(t, turns)
	defer v.drop(t, turns)
	row := func(session memory.SessionKey, seq int64, angle float64) store.VectorRow {
		r := vectorRow(scope, "", angle)
		r.Place, r.Session, r.ValidFrom, r.ValidTo = memory.Place{Session: session, Seq: seq}, session, minute(int(seq)), time.Time{}
		return r
	}
	rows := []store.VectorRow{row("a", 1, 1), row("a", 2, 2), row("b", 1, 3), row("a-1", 1, 4), row("a", 11, 5)}
	v.put(t, vectorRow(scope, "a-1", 0)) // a fact whose id is a message's in another view
	if err := v.Put(t.Context(), turns, rows); err != nil {
		t.Fatal(err)
	}
	q := v.query(scope)
	q.Space = turns
	finds := func(want ...memory.Place) {
		t.Helper()
		v.eventually(t, func() string { return cmp.Diff(want, placesOf(v.search(t, q))) })
	}
	finds(rows[0].Place, rows[1].Place, rows[2].Place, rows[3].Place, rows[4].Place)
	q.Sessions = []memory.SessionKey{"a", "b"}
	q.From, q.To = minute(1), minute(3)
	finds(rows[0].Place, rows[1].Place, rows[2].Place)
	q.Sessions, q.From, q.To = nil, time.Time{}, time.Time{}
	held := v.rows(t, turns, scope, 10)
	wantEqual(t, len(held), len(rows))
	for _, r := range held {
		if !slices.ContainsFunc(rows, func(o store.VectorRow) bool { return o.Place == r.Place }) || r.FactID != "" {
			t.Errorf("Rows answers %+v", r)
		}
	}
	if err := v.Remove(t.Context(), turns, scope, []store.RowState{{Place: rows[0].Place}}); err != nil {
		t.Fatal(err)
	}
	finds(rows[1].Place, rows[2].Place, rows[3].Place, rows[4].Place)
	wantEqual(t, len(v.rows(t, v.space, scope, 10)), 1)
	for what, err := range map[string]error{
		"a fact among messages": v.Put(t.Context(), turns, []store.VectorRow{vectorRow(scope, "a", 1)}),
		"a message among facts": v.Put(t.Context(), v.space, rows[:1]),
		"a seq that none has":   v.Remove(t.Context(), turns, scope, []store.RowState{{Place: memory.Place{Session: "a"}}}),
	} {
		if err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	n, err := v.EraseScope(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, n, int64(len(rows)))
	finds()
}

func placesOf(hits []store.VectorHit) []memory.Place {
	var places []memory.Place
	for _, h := range hits {
		places = append(places, h.Place)
	}
	return places
}

func (v *vectorView) spaces(t *testing.T) []store.VectorSpace {
	t.Helper()
	spaces, err := v.Spaces(t.Context())
	if err != nil {
		t.Fatalf("Spaces: %v", err)
	}
	return spaces
}

func (v *vectorView) testNoSpace(t *testing.T) {
	space, scope := store.VectorSpace{View: memory.ViewVectors, Build: 9, Version: 9, Dimension: 4}, v.scope()
	q := v.query(scope)
	q.Space = space
	if _, err := v.Search(t.Context(), q); err == nil {
		t.Error("Search answers")
	}
	for _, rows := range [][]store.VectorRow{nil, {vectorRow(scope, "a", 1)}} {
		if err := v.Put(t.Context(), space, rows); err == nil {
			t.Errorf("Put takes %d rows", len(rows))
		}
	}
	if err := v.Remove(t.Context(), space, scope, states("a")); err != nil {
		t.Errorf("Remove: %v", err)
	}
	wantEqual(t, len(v.rows(t, space, scope, 10)), 0)
	if n, err := v.EraseScope(t.Context(), scope); err != nil || n != 0 {
		t.Errorf("EraseScope: %d, %v", n, err)
	}
	v.drop(t, space)
}

// unminted are no keys of ours; each bears the mark alone that its error must not repeat.
func unminted() []string {
	return []string{
		strings.Repeat("mallory", 19), // longer than any key
		`mallory"`,
		`mallory'`,
		`mallory" or scope != "`,
		`mallory\`,
		`mallory" in ["`,
		"mallory\x00",
		"mallory\n",
		"mallory%",
		"mallory*",
		"mallory:x",
		"mallory/x",
		"mallory x",
		"mallory\u202e",
		"mallory\u00e9",
		"mallory{}",
		"$mallory",
		"mallory\U0001F511",
		"\uff4dallory-mallory",
	}
}

func (v *vectorView) testKeys(t *testing.T) {
	scope := v.scope()
	v.put(t, vectorRow(scope, "a", 1))
	for _, key := range append(unminted(), "") {
		hostile := memory.ScopeKey(key)
		v.refuses(t, key, "a scope of Put", v.Put(t.Context(), v.space, []store.VectorRow{vectorRow(hostile, "a", 1)}))
		v.refuses(t, key, "a fact of Put", v.Put(t.Context(), v.space, []store.VectorRow{vectorRow(scope, "b", 1), vectorRow(scope, key, 1)}))
		v.refuses(t, key, "a scope of Remove", v.Remove(t.Context(), v.space, hostile, states("a")))
		v.refuses(t, key, "a fact of Remove", v.Remove(t.Context(), v.space, scope, states("a", key)))
		_, err := v.Search(t.Context(), v.query(hostile))
		v.refuses(t, key, "a scope of Search", err)
		_, err = v.EraseScope(t.Context(), hostile)
		v.refuses(t, key, "a scope of EraseScope", err)
		if key != "" { // "" for none
			v.refusesOptional(t, key)
		}
	}
	wantEqual(t, revisionsOf(t, v.rows(t, v.space, scope, 10)), map[string]int64{string(scope) + "/a": 1})
}

func (v *vectorView) refusesOptional(t *testing.T, key string) {
	t.Helper()
	r, q := vectorRow(v.scope(), "a", 1), v.query(v.scope())
	r.Session, q.Exclude = memory.SessionKey(key), memory.SessionKey(key)
	v.refuses(t, key, "a session of Put", v.Put(t.Context(), v.space, []store.VectorRow{r}))
	_, err := v.Search(t.Context(), q)
	v.refuses(t, key, "a session of Search", err)
	q.Exclude, q.Sessions = "", []memory.SessionKey{"sessionA", memory.SessionKey(key)}
	_, err = v.Search(t.Context(), q)
	v.refuses(t, key, "one of the sessions of Search", err)
	_, err = v.Rows(t.Context(), store.RowQuery[store.VectorSpace]{Space: v.space, Scope: memory.ScopeKey(key), Limit: 10})
	v.refuses(t, key, "a scope of Rows", err)
}

func (v *vectorView) refuses(t *testing.T, key, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: %q was taken", what, key)
		return
	}
	if strings.Contains(err.Error(), "mallory") {
		t.Errorf("%s: the error repeats the key: %v", what, err)
	}
}

func (v *vectorView) testEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	scope := v.scope()
	_, search := v.Search(ctx, v.query(scope))
	_, rows := v.Rows(ctx, store.RowQuery[store.VectorSpace]{Space: v.space, Limit: 1})
	_, erase := v.EraseScope(ctx, scope)
	_, spaces := v.Spaces(ctx)
	for name, err := range map[string]error{
		"Prepare": v.Prepare(ctx, v.space), "Put": v.Put(ctx, v.space, []store.VectorRow{vectorRow(scope, "a", 1)}),
		"Remove": v.Remove(ctx, v.space, scope, states("a")), "Search": search, "Rows": rows, "EraseScope": erase,
		"Spaces": spaces, "Drop": v.Drop(ctx, v.space), "Check": v.Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// testConcurrency lets all writers put and remove the same facts, each in a scope of its own and one that they share.
func (v *vectorView) testConcurrency(t *testing.T) {
	shared := v.scope()
	own := make([]memory.ScopeKey, v.Writers)
	for w := range own {
		own[w] = v.scope()
	}
	v.atOnce(t, func(w int) error {
		for round := range 5 {
			if err := v.churn(t.Context(), shared, own[w], int64(round+1)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, s := range own {
		wantEqual(t, revisionsOf(t, v.rows(t, v.space, s, 100)), map[string]int64{string(s) + "/a": 5, string(s) + "/b": 5})
		v.finds(t, v.query(s), "a", "b")
	}
	v.put(t, vectorRow(shared, "a", 1), vectorRow(shared, "b", 2), vectorRow(shared, "c", 3)) // what it mends may have been there twice
	v.finds(t, v.query(shared), "a", "b", "c")
	wantEqual(t, len(revisionsOf(t, v.rows(t, v.space, shared, 100))), 3)
}

func (v *vectorView) churn(ctx context.Context, shared, own memory.ScopeKey, revision int64) error {
	var rows []store.VectorRow
	for i, id := range []string{"a", "b", "c"} {
		for _, s := range []memory.ScopeKey{shared, own} {
			r := vectorRow(s, id, float64(i+1))
			r.Revision = revision
			rows = append(rows, r)
		}
	}
	if err := v.Put(ctx, v.space, rows); err != nil {
		return err
	}
	hits, err := v.Search(ctx, v.query(shared))
	if err != nil {
		return err
	}
	ids := factsOf(hits)
	slices.Sort(ids)
	if len(slices.Compact(ids)) != len(hits) {
		return fmt.Errorf("of %d hits some are of one fact", len(hits))
	}
	return errors.Join(v.Remove(ctx, v.space, own, states("c")), v.Remove(ctx, v.space, shared, states("b")))
}
