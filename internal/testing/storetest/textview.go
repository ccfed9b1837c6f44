package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// TextViewOptions fit the suite to a driver.
type TextViewOptions struct {
	Crowd    int           // rows of the scope most of whose best rows are filtered out; 0 for 1,200
	Writers  int           // concurrent users of one view; 0 for 8
	Patience time.Duration // how much longer than Lag a busy machine may take; 0 for 20 s
}

// RunTextView runs the suite of store.TextView on one view with nothing in it, best one that keeps all rows in one
// shard. It drops every space that it prepares.
func RunTextView(t *testing.T, open Open[store.TextView], o TextViewOptions) {
	v := &textView{
		TextView: open(t), TextViewOptions: o,
		said:  store.TextSpace{View: memory.ViewTranscript, Build: 1},
		known: store.TextSpace{View: memory.ViewFacts, Build: 1},
	}
	v.setDefaults()
	t.Cleanup(func() { v.dropAll(t) })
	v.prepare(t, v.said, v.known)
	t.Run("Check must pass, and Lag be less than a minute", v.testHealth)
	t.Run("Prepare must be harmless again and from several replicas at once", v.testPrepare)
	t.Run("Put must store rows that Search sees no later than Lag", v.testPut)
	t.Run("Put must replace the row of a place and of a fact", v.testReplace)
	t.Run("Put must pass over a row of a lower revision", v.testLower)
	t.Run("Put must be harmless again, and take the highest of a row that is given twice", v.testPutAgain)
	t.Run("Put must fail when one row cannot be stored, and mend it when all are put again", v.testBadRow)
	t.Run("Put must store more rows than one request takes", v.testMany)
	t.Run("Remove must delete what is named, those put just now too: places, sessions, facts", v.testRemove)
	t.Run("Remove must not keep a row away that comes back with a higher revision", v.testBack)
	t.Run("Search must return rows with more of the terms first", v.testRank)
	t.Run("Search must return rows with at least one term, and none for none", v.testNoTerms)
	t.Run("Search must order equal scores by place or fact id, where the limit cuts them off too", v.testEqualScores)
	t.Run("Search must filter before it chooses the best", v.testFilters)
	RunTextCount(t, v, TextCountOptions{Space: v.said, Scope: v.scope, Patience: v.Lag() + v.Patience})
	t.Run("Search must refuse the order by count for facts, and its positions in another order", v.testOtherOrder)
	t.Run("Search must take a list of no sessions or categories for none, not for all", v.testEmptyLists)
	t.Run("Search must take a query longer than it can use", v.testLongQuery)
	t.Run("Search must find a hostile term by itself only", v.testHostile)
	t.Run("Search and Rows must never answer another scope's rows", v.testScopes)
	t.Run("Rows must page through what the space holds as of now, each row once", v.testRows)
	t.Run("Rows of different months of record time must each be there once, and go like others", v.testMonths)
	t.Run("EraseScope must delete the scope's rows in every space, those put just now too, and count them", v.testErase)
	t.Run("Spaces must return all spaces by view, then build, and Drop delete one with its rows", v.testSpaces)
	t.Run("A space that does not exist must be an error of Search and Put, and empty for the others", v.testNoSpace)
	t.Run("What was not minted must be refused with an error that does not repeat it", v.testKeys)
	t.Run("A call must fail when its context has ended", v.testEnded)
	t.Run("Many at once must leave the highest revision of each row, once", v.testConcurrency)
}

type textView struct {
	store.TextView
	TextViewOptions
	said, known store.TextSpace
	scopes      int // handed out so far
}

func (v *textView) setDefaults() {
	v.Crowd = cmp.Or(v.Crowd, 1200)
	v.Writers = cmp.Or(v.Writers, 8)
	v.Patience = cmp.Or(v.Patience, 20*time.Second)
}

// scope hands out a scope that no other test uses.
func (v *textView) scope() memory.ScopeKey {
	v.scopes++
	return memory.ScopeKey(fmt.Sprintf("%032x", v.scopes))
}

func (v *textView) prepare(t *testing.T, spaces ...store.TextSpace) {
	t.Helper()
	for _, s := range spaces {
		if err := v.Prepare(t.Context(), s); err != nil {
			t.Fatalf("Prepare: %v", err)
		}
	}
}

func (v *textView) dropAll(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	spaces, err := v.Spaces(ctx)
	for _, s := range spaces {
		err = errors.Join(err, v.Drop(ctx, s))
	}
	if err != nil {
		t.Errorf("clean up: %v", err)
	}
}

// spoken is a message at place n of a session that holds the words.
func spoken(scope memory.ScopeKey, session memory.SessionKey, n int64, words string) store.TextRow {
	return store.TextRow{
		Scope: scope, Place: memory.Place{Session: session, Seq: n}, Revision: 1, Role: memory.RoleUser,
		Time: minute(int(n)), Terms: strings.Fields(words),
	}
}

// noted is a fact that holds the words.
func noted(scope memory.ScopeKey, id, words string) store.TextRow {
	return store.TextRow{
		Scope: scope, FactID: id, Revision: 1, Category: memory.CategoryGoal, Significance: 5, Current: true,
		Time: noon, Terms: strings.Fields(words),
	}
}

// revised is the row at another revision.
func revised(r store.TextRow, revision int64, words string) store.TextRow {
	r.Revision, r.Terms = revision, strings.Fields(words)
	return r
}

// put stores rows of messages or of facts, by what the first one is.
func (v *textView) put(t *testing.T, rows ...store.TextRow) {
	t.Helper()
	if err := v.Put(t.Context(), v.spaceOf(rows[0]), rows); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func (v *textView) spaceOf(r store.TextRow) store.TextSpace {
	if r.FactID != "" {
		return v.known
	}
	return v.said
}

func (v *textView) remove(t *testing.T, space store.TextSpace, scope memory.ScopeKey, rows ...store.RowState) {
	t.Helper()
	if err := v.Remove(t.Context(), space, scope, rows); err != nil {
		t.Fatalf("Remove: %v", err)
	}
}

func (v *textView) search(t *testing.T, q store.TextSearch) []string {
	t.Helper()
	hits, err := v.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	names := make([]string, len(hits))
	for i, h := range hits {
		if h.Scope != q.Scope {
			t.Errorf("hit %d is foreign", i)
		}
		if i > 0 && h.Score > hits[i-1].Score {
			t.Errorf("hit %d scores %v, more than %v before it", i, h.Score, hits[i-1].Score)
		}
		names[i] = name(h.Place, h.FactID)
	}
	return names
}

// name is how a test writes a row: session/seq or the fact's id.
func name(p memory.Place, fact string) string {
	if fact != "" {
		return fact
	}
	return fmt.Sprintf("%s/%d", p.Session, p.Seq)
}

// words asks for messages of a scope.
func (v *textView) words(scope memory.ScopeKey, words string) store.TextSearch {
	return store.TextSearch{Space: v.said, Scope: scope, Terms: strings.Fields(words), Limit: 1000}
}

// facts asks for facts of a scope.
func (v *textView) facts(scope memory.ScopeKey, words string) store.TextSearch {
	q := v.words(scope, words)
	q.Space = v.known
	return q
}

// await polls until Search returns the rows, in that order. It fails Patience after Lag.
func (v *textView) await(t *testing.T, q store.TextSearch, want ...string) {
	t.Helper()
	deadline := time.After(v.Lag() + v.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got := v.search(t, q)
		diff := gocmp.Diff(want, got, cmpopts.EquateEmpty())
		if diff == "" {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("Search differs (-want +got):\n%s", diff)
		case <-tick.C:
		}
	}
}

// rows pages through a space.
func (v *textView) rows(t *testing.T, space store.TextSpace, scope memory.ScopeKey, limit int) []store.RowState {
	t.Helper()
	var all []store.RowState
	q := store.RowQuery[store.TextSpace]{Space: space, Scope: scope, Limit: limit}
	for {
		page, err := v.Rows(t.Context(), q)
		if err != nil {
			t.Fatalf("Rows: %v", err)
		}
		if len(page) > limit {
			t.Fatalf("a page of %d rows, not of %d", len(page), limit)
		}
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
		q.After = page[len(page)-1].Cursor
	}
}

// held names the rows of a scope with their revisions, sorted.
func (v *textView) held(t *testing.T, space store.TextSpace, scope memory.ScopeKey) []string {
	t.Helper()
	var names []string
	for _, r := range v.rows(t, space, scope, 100) {
		if r.Scope != scope {
			t.Error("a row is foreign")
		}
		names = append(names, fmt.Sprintf("%s@%d", name(r.Place, r.FactID), r.Revision))
	}
	slices.Sort(names)
	return names
}

func (v *textView) testHealth(t *testing.T) {
	if err := v.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if v.Lag() < 0 || v.Lag() > time.Minute {
		t.Errorf("Lag is %v", v.Lag())
	}
}

func (v *textView) testPrepare(t *testing.T) {
	scope := v.scope()
	v.put(t, spoken(scope, "s", 1, "kept"))
	fresh := store.TextSpace{View: memory.ViewTranscript, Build: 77}
	var wg sync.WaitGroup
	for _, space := range []store.TextSpace{v.said, v.said, fresh, fresh, fresh} {
		wg.Go(func() {
			if err := v.Prepare(t.Context(), space); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	v.await(t, v.words(scope, "kept"), "s/1")
	if err := v.Put(t.Context(), fresh, []store.TextRow{spoken(scope, "s", 1, "new")}); err != nil {
		t.Error(err)
	}
	if err := v.Drop(t.Context(), fresh); err != nil {
		t.Error(err)
	}
}

func (v *textView) testPut(t *testing.T) {
	scope := v.scope()
	v.put(t, spoken(scope, "s", 1, "red apple"), spoken(scope, "s", 2, "green pear"))
	v.put(t, noted(scope, "f1", "red apple"), noted(scope, "f2", "green pear"))
	v.await(t, v.words(scope, "apple"), "s/1")
	v.await(t, v.words(scope, "pear"), "s/2")
	v.await(t, v.facts(scope, "apple"), "f1")
}

func (v *textView) testReplace(t *testing.T) {
	scope := v.scope()
	a, f := spoken(scope, "s", 1, "old"), noted(scope, "f", "old")
	v.put(t, a)
	v.put(t, revised(a, 2, "new"))
	v.put(t, f)
	v.put(t, revised(f, 2, "new"))
	v.await(t, v.words(scope, "new"), "s/1")
	v.await(t, v.facts(scope, "new"), "f")
	wantEqual(t, v.search(t, v.words(scope, "old")), []string{})
	wantEqual(t, v.search(t, v.facts(scope, "old")), []string{})
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@2"})
	wantEqual(t, v.held(t, v.known, scope), []string{"f@2"})
}

func (v *textView) testLower(t *testing.T) {
	scope := v.scope()
	r := spoken(scope, "s", 1, "")
	v.put(t, revised(r, 5, "five"))
	v.put(t, revised(r, 4, "four"), spoken(scope, "s", 2, "beside"))
	v.await(t, v.words(scope, "four five beside"), "s/1", "s/2")
	wantEqual(t, v.search(t, v.words(scope, "four")), []string{})
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@5", "s/2@1"})
}

func (v *textView) testPutAgain(t *testing.T) {
	scope := v.scope()
	r := spoken(scope, "s", 1, "")
	for range 3 {
		v.put(t, revised(r, 2, "two"), revised(r, 3, "three"), revised(r, 1, "one"))
	}
	v.await(t, v.words(scope, "one two three"), "s/1")
	v.await(t, v.words(scope, "three"), "s/1")
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@3"})
}

func (v *textView) testBadRow(t *testing.T) {
	scope := v.scope()
	bad := spoken(scope, "s", 2, "two")
	bad.Terms = []string{"two words"}
	rows := []store.TextRow{spoken(scope, "s", 1, "one"), bad, spoken(scope, "s", 3, "three")}
	if err := v.Put(t.Context(), v.said, rows); err == nil {
		t.Error("Put took a term with a blank")
	}
	rows[1].Terms = []string{"two"}
	v.put(t, rows...)
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@1", "s/2@1", "s/3@1"})
}

func (v *textView) testMany(t *testing.T) {
	scope := v.scope()
	var rows []store.TextRow
	long := strings.Repeat("x", store.MaxTextTerm-1)
	for n := range int64(600) {
		rows = append(rows, spoken(scope, "s", n+1, strings.Repeat(long+" ", 40)+fmt.Sprint("n", n)))
	}
	v.put(t, rows...)
	wantEqual(t, len(v.rows(t, v.said, scope, 1000)), 600)
	v.await(t, v.words(scope, "n599"), "s/600")
}

func (v *textView) testRemove(t *testing.T) {
	scope := v.scope()
	for _, session := range []memory.SessionKey{"s", "t", "u"} {
		v.put(t, spoken(scope, session, 1, "a"), spoken(scope, session, 2, "a"), spoken(scope, session, 3, "a"))
	}
	v.put(t, noted(scope, "f1", "a"), noted(scope, "f2", "a"), noted(scope, "f3", "a"))
	at := func(s memory.SessionKey, n int64) store.RowState {
		return store.RowState{Place: memory.Place{Session: s, Seq: n}}
	}
	v.remove(t, v.said, scope, at("s", 2), at("t", 0), at("u", 1), at("u", 3), at("none", 1))
	v.remove(t, v.known, scope, store.RowState{FactID: "f1"}, store.RowState{FactID: "f3"}, store.RowState{FactID: "none"})
	v.remove(t, v.known, scope)
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@1", "s/3@1", "u/2@1"})
	wantEqual(t, v.held(t, v.known, scope), []string{"f2@1"})
	v.await(t, v.words(scope, "a"), "s/1", "s/3", "u/2")
	v.await(t, v.facts(scope, "a"), "f2")
}

func (v *textView) testBack(t *testing.T) {
	scope := v.scope()
	f := noted(scope, "f", "a")
	v.put(t, f)
	v.remove(t, v.known, scope, store.RowState{FactID: "f"})
	v.put(t, revised(f, 2, "back"))
	v.await(t, v.facts(scope, "a back"), "f")
	wantEqual(t, v.held(t, v.known, scope), []string{"f@2"})
}

func (v *textView) testRank(t *testing.T) {
	scope := v.scope()
	v.put(t,
		spoken(scope, "s", 1, "one filler filler"), spoken(scope, "s", 2, "filler filler filler"),
		spoken(scope, "s", 3, "one two three"), spoken(scope, "s", 4, "one two filler"))
	v.await(t, v.words(scope, "one two three"), "s/3", "s/4", "s/1")
	v.put(t, noted(scope, "f1", "one filler"), noted(scope, "f2", "one two"))
	v.await(t, v.facts(scope, "two one"), "f2", "f1")
	first := v.words(scope, "one two three")
	first.Limit = 1
	wantEqual(t, v.search(t, first), []string{"s/3"})
}

func (v *textView) testNoTerms(t *testing.T) {
	scope := v.scope()
	v.put(t, spoken(scope, "s", 1, "a"), spoken(scope, "s", 2, ""))
	v.await(t, v.words(scope, "a"), "s/1")
	wantEqual(t, v.search(t, v.words(scope, "")), []string{})
	wantEqual(t, v.search(t, v.words(scope, "absent")), []string{})
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@1", "s/2@1"})
}

func (v *textView) testEqualScores(t *testing.T) {
	scope := v.scope()
	for _, n := range []int64{10, 9, 2, 1} { // by number, not by its digits
		v.put(t, spoken(scope, "t", n, "same"), spoken(scope, "s", n, "same"))
	}
	v.put(t, noted(scope, "b", "same"), noted(scope, "c", "same"))
	v.put(t, noted(scope, "a", "same"))
	v.await(t, v.words(scope, "same"), "s/1", "s/2", "s/9", "s/10", "t/1", "t/2", "t/9", "t/10")
	v.await(t, v.facts(scope, "same"), "a", "b", "c")
	few := v.words(scope, "same")
	few.Limit = 5
	wantEqual(t, v.search(t, few), []string{"s/1", "s/2", "s/9", "s/10", "t/1"})
}

// testFilters hides rows with one term behind a crowd that has both and does not pass.
func (v *textView) testFilters(t *testing.T) {
	scope := v.scope()
	v.put(t, v.crowd(func(i int) store.TextRow { return spoken(scope, "crowd", int64(i+1), "one two") })...)
	past := spoken(scope, "s", 1, "one filler")
	past.Time = noon.Add(-time.Hour)
	future := spoken(scope, "s", 2, "one filler")
	future.Time = noon.Add(24 * 365 * time.Hour)
	v.put(t, past, future)
	v.put(t, v.crowd(func(i int) store.TextRow {
		r := noted(scope, fmt.Sprintf("crowd%04d", i), "one two")
		r.Current = false
		return r
	})...)
	goal, plan := noted(scope, "goal", "one filler"), noted(scope, "plan", "one filler")
	plan.Category, plan.Significance = memory.CategoryDecision, 7
	v.put(t, goal, plan)
	filtered := func(q store.TextSearch, filter func(*store.TextSearch)) store.TextSearch {
		q.Limit = 3
		filter(&q)
		return q
	}
	said, known := v.words(scope, "one two"), v.facts(scope, "one two")
	v.await(t, filtered(said, func(q *store.TextSearch) { q.Sessions = []memory.SessionKey{"s", "none"} }), "s/1", "s/2")
	v.await(t, filtered(said, func(q *store.TextSearch) { q.To = noon }), "s/1")
	v.await(t, filtered(said, func(q *store.TextSearch) { q.From = future.Time }), "s/2")
	v.await(t, filtered(said, func(q *store.TextSearch) { q.From, q.To = past.Time, past.Time.Add(time.Microsecond) }), "s/1")
	v.await(t, filtered(said, func(q *store.TextSearch) { q.From, q.To = past.Time.Add(time.Microsecond), noon }))
	v.await(t, filtered(known, func(q *store.TextSearch) { q.CurrentOnly = true }), "goal", "plan")
	v.await(t, filtered(known, func(q *store.TextSearch) { q.Categories = []memory.Category{memory.CategoryDecision} }), "plan")
	v.await(t, filtered(known, func(q *store.TextSearch) { q.MinSignificance = 6 }), "plan")
	v.await(t, filtered(known, func(q *store.TextSearch) { q.MinSignificance, q.CurrentOnly = 5, true }), "goal", "plan")
}

func (v *textView) crowd(row func(i int) store.TextRow) []store.TextRow {
	rows := make([]store.TextRow, v.Crowd)
	for i := range rows {
		rows[i] = row(i)
	}
	return rows
}

func (v *textView) testOtherOrder(t *testing.T) {
	facts := v.facts(v.scope(), "a")
	facts.Order = store.TextOrderByCount
	unmatched, after, forged := v.words(v.scope(), "a"), v.words(v.scope(), "a"), v.words(v.scope(), "a")
	unmatched.Unmatched, after.After = true, &store.TextPosition{Place: memory.Place{Session: "s", Seq: 1}}
	forged.Order, forged.After = store.TextOrderByCount, &store.TextPosition{Place: memory.Place{Session: "a b", Seq: 1}}
	for what, q := range map[string]store.TextSearch{"facts": facts, "unmatched rows": unmatched, "a position": after, "a forged position": forged} {
		if _, err := v.Search(t.Context(), q); err == nil {
			t.Errorf("Search took %s", what)
		}
	}
}

func (v *textView) testEmptyLists(t *testing.T) {
	scope := v.scope()
	v.put(t, spoken(scope, "s", 1, "a"))
	v.put(t, noted(scope, "f", "a"))
	said, known := v.words(scope, "a"), v.facts(scope, "a")
	v.await(t, said, "s/1")
	v.await(t, known, "f")
	said.Sessions, known.Categories = []memory.SessionKey{}, []memory.Category{}
	wantEqual(t, v.search(t, said), []string{})
	wantEqual(t, v.search(t, known), []string{})
}

func (v *textView) testLongQuery(t *testing.T) {
	scope := v.scope()
	v.put(t, spoken(scope, "s", 1, "first"))
	q := v.words(scope, "first first")
	for i := range 3000 {
		q.Terms = append(q.Terms, fmt.Sprint("more", i))
	}
	v.await(t, q, "s/1")
}

// hostileTerms could mean something to a query language, an analyzer or an encoding.
func hostileTerms() []string {
	return []string{
		`"`, `""`, `'`, `\`, `\\`, `\"`, `a"b`, `a\`, `*`, `?`, `a*`, `~`, `a~2`, `^2`, `+a`, `-a`, `!a`, `a:b`, `scope:*`, `_id:1`,
		`(`, `)`, `[a`, `a]`, `{`, `}`, `{x}`, `{"match_all":{}}`, `/.*/`, `AND`, `OR`, `NOT`, `&&`, `||`, `<a`, `>=a`, `$gt`, `$where`,
		`${jndi:x}`, `%s`, `%00`, `a/b`, `../..`, `<script>`, `&amp;`, `null`, `true`, `0`, `-1`, `1e9`, `a,b`, `;`, `--`, `#`, `@`,
		"a\x00b", "a\x7f", "\u200e", "\u202e", "\ufeffx", "e\u0301", "\u00e9", "İ", "i\u0307", "ß", "ﬁ", "\u2126", "\u03a9",
		"😀", "👨‍👩‍👧", "𝒳", "𠀀", "東京", "京都", "한글", "\u1112\u1161\u11ab\u1100\u1173\u11af", "ㅎ", "ﾊﾟ", "パ",
		strings.Repeat("z", store.MaxTextTerm), strings.Repeat("z", store.MaxTextTerm-1), strings.Repeat("字", store.MaxTextTerm/3),
	}
}

func (v *textView) testHostile(t *testing.T) {
	scope := v.scope()
	all := slices.Compact(hostileTerms())
	var rows []store.TextRow
	for i, h := range all {
		rows = append(rows, store.TextRow{
			Scope:    scope,
			Place:    memory.Place{Session: "s", Seq: int64(i + 1)},
			Revision: 1,
			Role:     memory.RoleUser,
			Time:     noon,
			Terms:    []string{h, "filler"},
		})
	}
	v.put(t, rows...)
	for i, h := range all {
		q := v.words(scope, "")
		q.Terms = []string{h}
		v.await(t, q, fmt.Sprintf("s/%d", i+1))
	}
}

// testScopes gives near twins rows of the same names and words, which differ in their revisions.
func (v *textView) testScopes(t *testing.T) {
	key := string(v.scope())
	twins := []memory.ScopeKey{
		memory.ScopeKey(key), memory.ScopeKey(key + "-"), memory.ScopeKey(key + "_"), memory.ScopeKey(key + "0"),
		memory.ScopeKey(key[1:]), memory.ScopeKey("A" + key), memory.ScopeKey("a" + key),
	}
	for i, scope := range twins {
		for n := range int64(3) {
			v.put(t, revised(spoken(scope, "s", n+1, ""), int64(i+1), "shared"))
			v.put(t, revised(noted(scope, fmt.Sprint("f", n+1), ""), int64(i+1), "shared"))
		}
	}
	for i, scope := range twins {
		v.await(t, v.words(scope, "shared"), "s/1", "s/2", "s/3")
		v.await(t, v.facts(scope, "shared"), "f1", "f2", "f3")
		wantEqual(t, v.held(t, v.said, scope), []string{fmt.Sprintf("s/1@%d", i+1), fmt.Sprintf("s/2@%d", i+1), fmt.Sprintf("s/3@%d", i+1)})
	}
	v.remove(t, v.said, twins[0], store.RowState{Place: memory.Place{Session: "s"}})
	v.remove(t, v.known, twins[1], store.RowState{FactID: "f1"})
	for i, scope := range twins {
		wantEqual(t, len(v.held(t, v.said, scope)), map[bool]int{true: 0, false: 3}[i == 0])
		wantEqual(t, len(v.held(t, v.known, scope)), map[bool]int{true: 2, false: 3}[i == 1])
	}
}

func (v *textView) testRows(t *testing.T) {
	a, b := v.scope(), v.scope()
	want := map[memory.ScopeKey]int{a: 23, b: 7}
	for n := range int64(23) {
		v.put(t, spoken(a, memory.SessionKey(fmt.Sprint("s", n%4)), n+1, "a"))
	}
	for n := range int64(7) {
		v.put(t, spoken(b, "s0", n+1, "a"))
	}
	for _, limit := range []int{1, 5, 23, 24, 1000} {
		wantEqual(t, once(t, v.rows(t, v.said, a, limit)), map[memory.ScopeKey]int{a: 23})
		wantEqual(t, v.rows(t, v.said, a, limit), v.rows(t, v.said, a, 7)) // the same order whatever the page
	}
	all := once(t, v.rows(t, v.said, "", 400))
	wantEqual(t, map[memory.ScopeKey]int{a: all[a], b: all[b]}, want)
	v.put(t, spoken(b, "s0", 8, "a"))
	wantEqual(t, len(v.rows(t, v.said, b, 3)), 8)
}

// once counts the rows of each scope, and fails when a row is there twice.
func once(t *testing.T, rows []store.RowState) map[memory.ScopeKey]int {
	t.Helper()
	seen := map[string]bool{}
	count := map[memory.ScopeKey]int{}
	for _, r := range rows {
		id := string(r.Scope) + " " + name(r.Place, r.FactID)
		if seen[id] {
			t.Errorf("row %s is there twice", id)
		}
		seen[id] = true
		count[r.Scope]++
	}
	return count
}

func (v *textView) testMonths(t *testing.T) {
	scope, other := v.scope(), v.scope()
	rows := func(scope memory.ScopeKey) (all []store.TextRow) {
		recorded := []time.Time{{}, noon.AddDate(-30, 0, 0), noon.AddDate(0, -13, 0), noon.AddDate(0, -1, 0), noon, noon.AddDate(0, 1, 0)}
		for n, at := range recorded {
			r := spoken(scope, "s", int64(n+1), "same")
			r.Recorded = at
			r.Content = store.TextContent{
				User: memory.UserRef{Tenant: "acme", UserID: "ann"}, SessionID: "s", Name: "Ann", Text: `said "same" of <it> \ and 東京`,
			}
			all = append(all, r)
		}
		return all
	}
	for range 2 { // again is harmless
		v.put(t, rows(scope)...)
		v.put(t, rows(other)...)
	}
	v.await(t, v.words(scope, "same"), "s/1", "s/2", "s/3", "s/4", "s/5", "s/6")
	wantEqual(t, v.held(t, v.said, scope), []string{"s/1@1", "s/2@1", "s/3@1", "s/4@1", "s/5@1", "s/6@1"})
	v.await(t, v.words(scope, "tokyo acme ann said"))
	place := func(n int64) store.RowState { return store.RowState{Place: memory.Place{Session: "s", Seq: n}} }
	v.remove(t, v.said, scope, place(1), place(2), place(4))
	wantEqual(t, v.held(t, v.said, scope), []string{"s/3@1", "s/5@1", "s/6@1"})
	v.put(t, revised(rows(scope)[1], 2, "same again"))
	v.await(t, v.words(scope, "again"), "s/2")
	v.remove(t, v.said, other, store.RowState{Place: memory.Place{Session: "s"}})
	wantEqual(t, v.held(t, v.said, other), []string{})
	if n, err := v.EraseScope(t.Context(), scope); err != nil || n != 4 {
		t.Errorf("EraseScope returned %d, %v", n, err)
	}
	wantEqual(t, v.held(t, v.said, scope), []string{})
	v.put(t, rows(scope)[2])
	wantEqual(t, len(v.held(t, v.said, scope)), 1)
}

func (v *textView) testErase(t *testing.T) {
	gone, stays := v.scope(), v.scope()
	newer := store.TextSpace{View: memory.ViewTranscript, Build: 2}
	v.prepare(t, newer)
	for _, scope := range []memory.ScopeKey{gone, stays} {
		v.put(t, spoken(scope, "s", 1, "a"), spoken(scope, "s", 2, "a"))
		v.put(t, revised(spoken(scope, "s", 2, ""), 9, "a"))
		v.put(t, noted(scope, "f", "a"))
		if err := v.Put(t.Context(), newer, []store.TextRow{spoken(scope, "s", 1, "a")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int64{4, 0} {
		n, err := v.EraseScope(t.Context(), gone)
		if err != nil || n != want {
			t.Errorf("EraseScope answered %d, %v, want %d", n, err, want)
		}
	}
	for _, space := range []store.TextSpace{v.said, v.known, newer} {
		wantEqual(t, v.held(t, space, gone), []string{})
		wantEqual(t, len(v.held(t, space, stays)) > 0, true)
	}
	v.await(t, v.words(gone, "a"))
	if err := v.Drop(t.Context(), newer); err != nil {
		t.Error(err)
	}
}

func (v *textView) testSpaces(t *testing.T) {
	scope := v.scope()
	tenth := store.TextSpace{View: memory.ViewTranscript, Build: 10}
	second := store.TextSpace{View: memory.ViewTranscript, Build: 2}
	facts := store.TextSpace{View: memory.ViewFacts, Build: 3}
	big := store.TextSpace{View: memory.ViewFacts, Build: 12345678}
	v.prepare(t, tenth, second, big, facts)
	spaces, err := v.Spaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, spaces, []store.TextSpace{v.known, facts, big, v.said, second, tenth})
	if err := v.Put(t.Context(), second, []store.TextRow{spoken(scope, "s", 1, "a")}); err != nil {
		t.Error(err)
	}
	for _, s := range []store.TextSpace{tenth, second, second, facts, big} {
		if err := v.Drop(t.Context(), s); err != nil {
			t.Errorf("Drop: %v", err)
		}
	}
	v.prepare(t, second)
	wantEqual(t, v.held(t, second, scope), []string{})
	if err := v.Drop(t.Context(), second); err != nil {
		t.Error(err)
	}
}

func (v *textView) testNoSpace(t *testing.T) {
	scope := v.scope()
	for _, none := range []store.TextSpace{{View: memory.ViewTranscript, Build: 99}, {View: memory.ViewFacts, Build: 99}} {
		row, gone := spoken(scope, "s", 1, "a"), store.RowState{Place: memory.Place{Session: "s", Seq: 1}}
		if none.View == memory.ViewFacts {
			row, gone = noted(scope, "f", "a"), store.RowState{FactID: "f"}
		}
		if v.Put(t.Context(), none, []store.TextRow{row}) == nil {
			t.Error("Put took rows of a space that is not there")
		}
		if _, err := v.Search(t.Context(), store.TextSearch{Space: none, Scope: scope, Terms: []string{"a"}, Limit: 1}); err == nil {
			t.Error("Search answered for a space that is not there")
		}
		v.remove(t, none, scope, gone)
		wantEqual(t, v.held(t, none, scope), []string{})
		if err := v.Drop(t.Context(), none); err != nil {
			t.Error(err)
		}
		spaces, err := v.Spaces(t.Context())
		if err != nil || slices.Contains(spaces, none) {
			t.Errorf("Spaces has the space that is not there, or failed: %v", err)
		}
	}
}

func (v *textView) testKeys(t *testing.T) {
	scope := v.scope()
	for _, bad := range []string{"", "a b", `a"b`, "a/b", "a*", "a,b", "a\nb", "é", "$gt", `{"x":1}`, strings.Repeat("a", store.MaxKeyLength+1)} {
		for call, err := range v.withKey(t.Context(), scope, bad) {
			if err == nil {
				t.Errorf("%s took the key %q", call, bad)
				continue
			}
			if bad != "" && strings.Contains(err.Error(), bad) {
				t.Errorf("%s repeats the key: %v", call, err)
			}
		}
	}
	wantEqual(t, v.held(t, v.said, scope), []string{})
	for _, limit := range []int{-1, 0, store.MaxTextLimit + 1} {
		q := v.words(scope, "a")
		q.Limit = limit
		if _, err := v.Search(t.Context(), q); err == nil {
			t.Errorf("Search took a limit of %d", limit)
		}
	}
	if v.Put(t.Context(), v.said, []store.TextRow{revised(spoken(scope, "s", 1, ""), 0, "a")}) == nil {
		t.Error("Put took revision 0")
	}
	if v.Put(t.Context(), v.known, []store.TextRow{spoken(scope, "s", 1, "a")}) == nil {
		t.Error("Put took a message among facts")
	}
}

// withKey calls everything that takes a key with this one.
func (v *textView) withKey(ctx context.Context, scope memory.ScopeKey, key string) map[string]error {
	other, session := memory.ScopeKey(key), memory.SessionKey(key)
	_, search := v.Search(ctx, v.words(other, "a"))
	within := v.words(scope, "a")
	within.Sessions = []memory.SessionKey{session}
	_, sessions := v.Search(ctx, within)
	_, erase := v.EraseScope(ctx, other)
	calls := map[string]error{
		"Put of a scope":      v.Put(ctx, v.said, []store.TextRow{spoken(other, "s", 1, "a")}),
		"Put of a session":    v.Put(ctx, v.said, []store.TextRow{spoken(scope, session, 1, "a")}),
		"Put of a fact":       v.Put(ctx, v.known, []store.TextRow{noted(scope, key, "a")}),
		"Remove of a scope":   v.Remove(ctx, v.known, other, []store.RowState{{FactID: "f"}}),
		"Remove of a fact":    v.Remove(ctx, v.known, scope, []store.RowState{{FactID: key}}),
		"Remove of a session": v.Remove(ctx, v.said, scope, []store.RowState{{Place: memory.Place{Session: session}}}),
		"Search in a scope":   search,
		"Search in a session": sessions,
		"EraseScope":          erase,
	}
	if key != "" { // all scopes
		_, calls["Rows"] = v.Rows(ctx, store.RowQuery[store.TextSpace]{Space: v.said, Scope: other, Limit: 1})
	}
	return calls
}

func (v *textView) testEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	scope := v.scope()
	_, search := v.Search(ctx, v.words(scope, "a"))
	_, rows := v.Rows(ctx, store.RowQuery[store.TextSpace]{Space: v.said, Limit: 1})
	_, erase := v.EraseScope(ctx, scope)
	_, spaces := v.Spaces(ctx)
	for call, err := range map[string]error{
		"Check": v.Check(ctx), "Prepare": v.Prepare(ctx, v.said), "Drop": v.Drop(ctx, v.said), "Search": search, "Rows": rows,
		"Put":        v.Put(ctx, v.said, []store.TextRow{spoken(scope, "s", 1, "a")}),
		"Remove":     v.Remove(ctx, v.known, scope, []store.RowState{{FactID: "f"}}),
		"EraseScope": erase, "Spaces": spaces,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s answered %v", call, err)
		}
	}
}

func (v *textView) testConcurrency(t *testing.T) {
	scope := v.scope()
	var wg sync.WaitGroup
	for w := range v.Writers {
		wg.Go(func() {
			for n := range int64(10) {
				rows := []store.TextRow{
					revised(spoken(scope, "shared", n+1, ""), int64(w+1), fmt.Sprint("w", w)),
					spoken(scope, memory.SessionKey(fmt.Sprint("own", w)), n+1, "own"),
				}
				if err := v.Put(t.Context(), v.said, rows); err != nil {
					t.Error(err)
				}
				if _, err := v.Search(t.Context(), v.words(scope, "own")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	rows := v.rows(t, v.said, scope, 1000)
	wantEqual(t, once(t, rows), map[memory.ScopeKey]int{scope: 10 + 10*v.Writers})
	for _, r := range rows {
		if r.Place.Session == "shared" && r.Revision != int64(v.Writers) {
			t.Errorf("place %d has revision %d, not the highest", r.Place.Seq, r.Revision)
		}
	}
	last := v.words(scope, fmt.Sprint("w", v.Writers-1))
	last.Limit = 2
	v.await(t, last, "shared/1", "shared/2")
}
