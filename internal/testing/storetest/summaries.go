package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testSummaries(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"TopNodes must return, of the nodes that end at or before a message, those that no other of these stands for, oldest first",
		func(t *testing.T) {
			testTopNodes(t, journalled(t, open))
		},
	)
	t.Run("TopNodes must pass over a hole, since what stands behind it is to be merged too", func(t *testing.T) {
		s := journalled(t, open)
		first := nodeWrite(t, s, inS, 0, 1, 4)
		behind := leaf(t, s, inS, 5, 6)
		wantEqual(t, top(t, s, inS, 9), []memory.SummaryNode{behind.Node})
		mustPut(t, s, first)
		wantEqual(t, top(t, s, inS, 9), []memory.SummaryNode{first.Node, behind.Node})
	})
	t.Run("a cumulative node must stand for all that end within or before it", func(t *testing.T) {
		testTopOfChain(t, journalled(t, open))
	})
	t.Run("Nodes must return the user's nodes of these ids, in the order of the ids, and leave out what is unknown", func(t *testing.T) {
		testNodesByID(t, journalled(t, open))
	})
	t.Run("an unknown user or session has no nodes: that is not an error", func(t *testing.T) {
		s := withSession(t, open)
		wantEqual(t, len(top(t, s, bob.Session("s"), 9)), 0)
		wantEqual(t, len(top(t, s, alice.Session("none"), 9)), 0)
		wantEqual(t, len(nodes(t, s, bob, "x")), 0)
		wantEqual(t, len(recent(t, s, store.RecentQuery{User: bob, Limit: 9})), 0)
		wantEqual(t, len(leaves(t, s, store.LeafQuery{User: bob})), 0)
		wantEqual(t, len(periods(t, s, store.PeriodQuery{User: bob, Kind: memory.SummaryWeek, Limit: 9})), 0)
	})
	t.Run(
		"RecentSessions must return, for the user's sessions that have a node, their TopNodes, the session with the latest covered message first, equal times by session id",
		func(t *testing.T) {
			testRecent(t, open(t))
		},
	)
	t.Run("what a session's last covered message is follows from the range, not from when the node was stored", func(t *testing.T) {
		s := journalled(t, open)
		mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 4))
		leaf(t, s, inS, 5, 8, func(w *store.NodeWrite) { w.Node.ToTime = minute(8) })
		again := nodeWrite(t, s, inS, 0, 1, 4)
		again.Node.ToTime = minute(4)
		mustPut(t, s, again)
		wantEqual(t, recent(t, s, store.RecentQuery{User: alice, Limit: 9})[0].LastTime, minute(8))
	})
	t.Run("LeavesBetween must return the user's leaves whose ToTime is in [From, To), by ToTime, then id, as outlines", func(t *testing.T) {
		testLeavesBetween(t, open(t))
	})
	t.Run(
		"Periods must return the user's weekly or monthly nodes, of the highest generation of each period, the latest first",
		func(t *testing.T) {
			testPeriods(t, withSession(t, open))
		},
	)
	t.Run("PutNode must, in one write, store the node and make its job final as applied without its answer", func(t *testing.T) {
		testPutNode(t, journalled(t, open))
	})
	t.Run("putting the node of a final job again must change nothing", func(t *testing.T) {
		s := journalled(t, open)
		w := leaf(t, s, inS, 1, 4)
		done := jobOf(t, s, w)
		w.Node.Text, w.LookAt = "other words", minute(1)
		mustPut(t, s, w)
		wantEqual(t, top(t, s, inS, 9)[0].Text, "words of 1-4")
		wantEqual(t, jobOf(t, s, w), done)
		wantEqual(t, len(pendingPeriods(t, s, minute(999), 9)), 0)
	})
	t.Run("a leaf must set the user's time to be looked at for periods to LookAt, when none or a later one is set", func(t *testing.T) {
		testLeafLookAt(t, journalled(t, open))
	})
	t.Run("PutNode for another life of the user is refused with USER_NOT_FOUND", func(t *testing.T) {
		s := journalled(t, open)
		w := nodeWrite(t, s, inS, 0, 1, 4)
		w.Scope = "00000000000000000000000000000000"
		wantReason(t, s.PutNode(t.Context(), w), memory.ReasonUserNotFound)
		w = nodeWrite(t, s, inS, 0, 1, 4)
		w.JobID = "none"
		wantReason(t, s.PutNode(t.Context(), w), memory.ReasonJobNotFound)
		wantEqual(t, len(top(t, s, inS, 9)), 0)
	})
}

// nodeWrite opens the job of a session node of the first generation, and fills in the node.
func nodeWrite(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, level int, from, to int64) store.NodeWrite {
	t.Helper()
	kind := memory.JobLeaf
	if level > 0 {
		kind = memory.JobMerge
	}
	return nodeWriteOf(t, s, ref, memory.JobKey{Kind: kind, Level: level, From: from, Generation: 1}, to)
}

func nodeWriteOf(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, key memory.JobKey, to int64) store.NodeWrite {
	t.Helper()
	level, from := key.Level, key.From
	p := opening(t, s, ref, key.Kind, from, to)
	p.Level, p.Generation = level, key.Generation
	job := mustOpen(t, s, p)
	return store.NodeWrite{User: ref.UserRef, Scope: job.Scope, JobID: job.ID(), Time: minute(3), Node: memory.SummaryNode{
		ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: job.Session, SessionID: ref.SessionID,
		Level: level, Range: memory.SeqRange{From: from, To: to}, Generation: job.Generation, Text: fmt.Sprintf("words of %d-%d", from, to),
		FromTime: noon, ToTime: minute(int(to)), CreateTime: minute(3),
	}}
}

func mustPut(t *testing.T, s store.Summaries, w store.NodeWrite) {
	t.Helper()
	if err := s.PutNode(t.Context(), w); err != nil {
		t.Fatalf("PutNode: %v", err)
	}
	nodes(t, s, w.User, w.Node.ID) // a driver may hold what it read: what changes it later must be seen all the same
}

// leaf stores a leaf that changes have been made to.
func leaf(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, from, to int64, changes ...func(*store.NodeWrite)) store.NodeWrite {
	t.Helper()
	w := nodeWrite(t, s, ref, 0, from, to)
	for _, change := range changes {
		change(&w)
	}
	mustPut(t, s, w)
	return w
}

func jobOf(t *testing.T, s store.Journal, w store.NodeWrite) memory.Job {
	t.Helper()
	job, err := s.Job(t.Context(), store.JobRef{User: w.User, ID: w.JobID})
	if err != nil {
		t.Fatalf("Job: %v", err)
	}
	return job
}

func top(t *testing.T, s store.Summaries, ref memory.SessionRef, through int64) []memory.SummaryNode {
	t.Helper()
	found, err := s.TopNodes(t.Context(), ref, through)
	if err != nil {
		t.Fatalf("TopNodes: %v", err)
	}
	return found
}

func nodes(t *testing.T, s store.Summaries, user memory.UserRef, ids ...string) []memory.SummaryNode {
	t.Helper()
	found, err := s.Nodes(t.Context(), user, ids)
	if err != nil {
		t.Fatalf("Nodes: %v", err)
	}
	return found
}

func recent(t *testing.T, s store.Summaries, q store.RecentQuery) []store.SessionSummary {
	t.Helper()
	page, err := s.RecentSessions(t.Context(), q)
	if err != nil {
		t.Fatalf("RecentSessions: %v", err)
	}
	return page
}

func leaves(t *testing.T, s store.Summaries, q store.LeafQuery) []memory.SummaryNode {
	t.Helper()
	all, err := s.LeavesBetween(t.Context(), q)
	if err != nil {
		t.Fatalf("LeavesBetween: %v", err)
	}
	return all
}

func periods(t *testing.T, s store.Summaries, q store.PeriodQuery) []memory.SummaryNode {
	t.Helper()
	all, err := s.Periods(t.Context(), q)
	if err != nil {
		t.Fatalf("Periods: %v", err)
	}
	return all
}

// testTopNodes builds a tree of two levels over leaves of two messages, the last of which have nothing above them.
func testTopNodes(t *testing.T, s store.PrimaryStore) {
	appendN(t, s, alice.Session("t"), "a", 9)
	node := func(level int, from, to int64) memory.SummaryNode {
		w := nodeWrite(t, s, inS, level, from, to)
		mustPut(t, s, w)
		return w.Node
	}
	leaf(t, s, alice.Session("t"), 1, 4)
	var pairs []memory.SummaryNode
	for from := int64(1); from <= 11; from += 2 {
		pairs = append(pairs, node(0, from, from+1))
	}
	one := node(1, 1, 4)
	node(1, 5, 8)
	root := node(2, 1, 8)
	for through, want := range [][]memory.SummaryNode{
		nil, nil, pairs[:1], pairs[:1],
		{one},
		{one},
		{one, pairs[2]},
		{one, pairs[2]},
		{root},
		{root},
		{root, pairs[4]},
		{root, pairs[4]},
		{root, pairs[4], pairs[5]},
		{root, pairs[4], pairs[5]},
	} {
		wantEqual(t, top(t, s, inS, int64(through)), want)
	}
	again := opening(t, s, inS, memory.JobMerge, 1, 8)
	again.Level, again.Generation = 2, 2
	better := store.NodeWrite{User: alice, Scope: again.Scope, JobID: mustOpen(t, s, again).ID(), Node: root, Time: minute(3)}
	better.Node.ID, better.Node.Generation, better.Node.Text = memory.EffectID(better.JobID, 0), 2, "better words"
	mustPut(t, s, better)
	wantEqual(t, top(t, s, inS, 9), []memory.SummaryNode{better.Node}) // of equal ranges the highest generation
}

func testTopOfChain(t *testing.T, s store.PrimaryStore) {
	tree := leaf(t, s, inS, 1, 2)
	link := func(from, to int64) memory.SummaryNode {
		return leaf(t, s, inS, from, to, func(w *store.NodeWrite) { w.Node.Cumulative = true }).Node
	}
	one, two := link(3, 4), link(5, 6)
	after := leaf(t, s, inS, 7, 8)
	for through, want := range [][]memory.SummaryNode{
		nil, nil, {tree.Node}, {tree.Node}, {one}, {one}, {two}, {two}, {two, after.Node}, {two, after.Node},
	} {
		wantEqual(t, top(t, s, inS, int64(through)), want)
	}
}

func testNodesByID(t *testing.T, s store.PrimaryStore) {
	one, two := leaf(t, s, inS, 1, 4).Node, leaf(t, s, inS, 5, 8).Node
	wantEqual(t, nodes(t, s, alice, two.ID, "none", one.ID), []memory.SummaryNode{two, one})
	wantEqual(t, len(nodes(t, s, alice)), 0)
	appendN(t, s, bob.Session("s"), "a", 1)
	wantEqual(t, len(nodes(t, s, bob, one.ID)), 0)
}

func testRecent(t *testing.T, s store.PrimaryStore) {
	var want []store.SessionSummary
	for i, id := range []string{"d", "b", "a", "c", "e"} {
		ref := alice.Session(id)
		appendN(t, s, ref, "m", 4)
		if _, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: ref, Title: ptr("title of " + id), Time: minute(50 - i)}); err != nil {
			t.Fatal(err)
		}
		last := minute(i / 2) // d and b, a and c share a time
		w := leaf(t, s, ref, 1, 3, func(w *store.NodeWrite) { w.Node.ToTime = last })
		want = append(want, store.SessionSummary{
			SessionID: id, Title: "title of " + id, LastTime: last, LastSeq: 4, Nodes: []memory.SummaryNode{w.Node},
		})
	}
	appendN(t, s, alice.Session("without"), "m", 4)
	appendN(t, s, bob.Session("z"), "m", 4)
	leaf(t, s, bob.Session("z"), 1, 1)
	d, b, a, c, e := want[0], want[1], want[2], want[3], want[4]
	cases := []struct {
		promise string
		q       store.RecentQuery
		want    []store.SessionSummary
	}{
		{"all", store.RecentQuery{}, []store.SessionSummary{e, a, c, b, d}},
		{"the excluded one is left out before the limit", store.RecentQuery{Exclude: "e"}, []store.SessionSummary{a, c, b, d}},
		{"created at or after Since", store.RecentQuery{Since: minute(1)}, []store.SessionSummary{e, a, c}},
		{"not after Until", store.RecentQuery{Until: minute(1)}, []store.SessionSummary{a, c, b, d}},
	}
	for _, cs := range cases {
		t.Run(cs.promise, func(t *testing.T) {
			for limit := 1; limit < 7; limit++ {
				q := cs.q
				q.User, q.Limit = alice, limit
				var got []store.SessionSummary
				for page := recent(t, s, q); len(page) > 0; page = recent(t, s, q) {
					got = append(got, page...)
					last := page[len(page)-1]
					q.After = &store.SessionCursor{Time: last.LastTime, SessionID: last.SessionID}
				}
				wantEqual(t, got, cs.want)
			}
		})
	}
}

func testLeavesBetween(t *testing.T, s store.PrimaryStore) {
	var made []memory.SummaryNode
	for i, at := range []int{5, 9, 5, 7} {
		ref := alice.Session(fmt.Sprint(i))
		appendN(t, s, ref, "m", 4)
		made = append(made, leaf(t, s, ref, 1, 4, func(w *store.NodeWrite) {
			w.Node.ToTime, w.Node.Cumulative, w.Node.Language, w.Node.Model = minute(at), at == 7, "ko", "m"
		}).Node)
	}
	mustPut(t, s, nodeWrite(t, s, alice.Session("0"), 1, 1, 4)) // no leaf
	if made[0].ID > made[2].ID {
		made[0], made[2] = made[2], made[0] // equal times by id
	}
	for i, n := range made {
		n.Text = ""
		made[i] = n
	}
	between := func(from, to time.Time, limit int) []memory.SummaryNode {
		return leaves(t, s, store.LeafQuery{User: alice, From: from, To: to, Limit: limit})
	}
	wantEqual(t, between(minute(5), minute(9), 0), []memory.SummaryNode{made[0], made[2], made[3]})
	wantEqual(t, between(minute(6), minute(10), 0), []memory.SummaryNode{made[3], made[1]})
	wantEqual(t, between(time.Time{}, time.Time{}, 0), []memory.SummaryNode{made[0], made[2], made[3], made[1]})
	wantEqual(t, between(minute(6), time.Time{}, 1), []memory.SummaryNode{made[3]})
}

// period stores a weekly or monthly summary.
func period(t *testing.T, s store.PrimaryStore, kind memory.SummaryKind, p memory.Period, generation int) memory.SummaryNode {
	t.Helper()
	jobKind := memory.JobWeek
	if kind == memory.SummaryMonth {
		jobKind = memory.JobMonth
	}
	o := opening(t, s, inS, jobKind, p.Start.Unix()/86400, p.End.Unix()/86400-1)
	o.Session, o.Generation = "", generation
	job := mustOpen(t, s, o)
	n := memory.SummaryNode{
		ID: memory.EffectID(job.ID(), 0), Kind: kind, Range: job.Range(), Period: p, Generation: generation,
		Children: []string{"x", "y"}, Text: "words of " + p.Name, FromTime: p.Start, ToTime: p.End, CreateTime: noon,
	}
	mustPut(t, s, store.NodeWrite{User: alice, Scope: job.Scope, JobID: job.ID(), Node: n, Time: noon})
	return n
}

func week(name string, monday int) memory.Period {
	start := time.Date(2026, 11, monday, 0, 0, 0, 0, time.UTC)
	return memory.Period{Name: name, Start: start, End: start.AddDate(0, 0, 7)}
}

func testPeriods(t *testing.T, s store.PrimaryStore) {
	w45, w46 := week("2026-W45", 2), week("2026-W46", 9)
	old := period(t, s, memory.SummaryWeek, w46, 1)
	first := period(t, s, memory.SummaryWeek, w45, 1)
	w46.Start = w46.Start.Add(-2 * time.Hour) // another timezone
	rebuilt := period(t, s, memory.SummaryWeek, w46, 2)
	month := period(t, s, memory.SummaryMonth, memory.Period{
		Name: "2026-11", Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
	}, 1)
	leaf(t, s, inS, 1, 1)
	cases := []struct {
		promise string
		q       store.PeriodQuery
		want    []memory.SummaryNode
	}{
		{"weeks", store.PeriodQuery{Kind: memory.SummaryWeek, Limit: 9}, []memory.SummaryNode{rebuilt, first}},
		{"months", store.PeriodQuery{Kind: memory.SummaryMonth, Limit: 9}, []memory.SummaryNode{month}},
		{"the latest one", store.PeriodQuery{Kind: memory.SummaryWeek, Limit: 1}, []memory.SummaryNode{rebuilt}},
		{
			"only those that start at or after From",
			store.PeriodQuery{Kind: memory.SummaryWeek, From: w46.Start, Limit: 9},
			[]memory.SummaryNode{rebuilt},
		},
		{"not an earlier generation that would", store.PeriodQuery{Kind: memory.SummaryWeek, From: old.Period.Start, Limit: 9}, nil},
		{
			"only those that start before Before",
			store.PeriodQuery{Kind: memory.SummaryWeek, Before: w46.Start, Limit: 9},
			[]memory.SummaryNode{first},
		},
	}
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) {
			c.q.User = alice
			wantEqual(t, periods(t, s, c.q), c.want)
		})
	}
	wantEqual(t, len(top(t, s, inS, 9)), 1)
	wantEqual(t, nodes(t, s, alice, month.ID, first.ID), []memory.SummaryNode{month, first})
}

func testPutNode(t *testing.T, s store.PrimaryStore) {
	w := nodeWrite(t, s, inS, 0, 1, 4)
	w.Node.Cumulative, w.Node.Previous, w.Node.Appended = true, "the one before", 2
	w.Node.Tokens, w.Node.Language, w.Node.Model = memory.TokenCounts{O200K: 7, CL100K: 8}, "ko", "m"
	job := mustAnswer(t, s, jobOf(t, s, w), "an answer")
	mustPut(t, s, w)
	wantEqual(t, top(t, s, inS, 9), []memory.SummaryNode{w.Node})
	job.State, job.Answer, job.Owner, job.LeaseUntil = memory.JobApplied, nil, "", time.Time{}
	job.UpdateTime = minute(3)
	wantEqual(t, jobOf(t, s, w), job)
}

func testLeafLookAt(t *testing.T, s store.PrimaryStore) {
	at := func(from, m int) {
		leaf(t, s, inS, int64(from), int64(from), func(w *store.NodeWrite) { w.LookAt = minute(m) })
	}
	at(1, 20)
	wantEqual(t, len(pendingPeriods(t, s, minute(19), 9)), 0)
	wantEqual(t, len(pendingPeriods(t, s, minute(20), 9)), 1)
	at(2, 30)
	wantEqual(t, len(pendingPeriods(t, s, minute(20), 9)), 1)
	at(3, 10)
	wantEqual(t, len(pendingPeriods(t, s, minute(10), 9)), 1)
	merged := nodeWrite(t, s, inS, 1, 1, 3)
	merged.LookAt = minute(1)
	mustPut(t, s, merged)
	wantEqual(t, len(pendingPeriods(t, s, minute(9), 9)), 0)
}
