package viewfeed_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
)

var ada = memory.UserRef{Tenant: "default", UserID: "ada"}

// indexedUser is a user whose segments a test writes, and a view that is fed of them.
type indexedUser struct {
	*fixture
	random *rand.Rand
	scope  memory.ScopeKey
	docs   map[memory.Place]segment.Doc
	seqs   map[memory.SessionKey]int64
	puts   int // rows that were put
}

func newIndexedUser(v *fixture, seed uint64) *indexedUser {
	v.t.Helper()
	v.say(ada.Session("s"), "hello")
	c := &indexedUser{
		fixture: v, random: rand.New(rand.NewPCG(seed, 1)), docs: map[memory.Place]segment.Doc{}, seqs: map[memory.SessionKey]int64{},
	}
	c.scope = c.searchIndex().Scope
	return c
}

func (c *indexedUser) searchIndex() store.SearchIndexState {
	c.t.Helper()
	state, err := c.store.SearchIndex(c.t.Context(), store.SearchIndexQuery{User: ada, MaxUnindexed: 1000})
	if err != nil {
		c.t.Fatal(err)
	}
	return state
}

// put stores a segment of documents.
func (c *indexedUser) put(docs []segment.Doc, replaces ...int64) {
	c.t.Helper()
	w := store.SegmentWrite{
		User: ada, Scope: c.scope, Analyzer: text.AnalyzerID, Messages: len(docs), Data: segment.Encode(docs), Replaces: replaces, Embedding: 1,
		Time: time.Now().UTC().Truncate(time.Microsecond),
	}
	if _, err := c.store.PutSegment(context.Background(), w); err != nil {
		c.t.Fatal(err)
	}
	for _, d := range docs {
		c.docs[d.Place] = d
	}
}

// said are the next messages of some sessions; some have no vector.
func (c *indexedUser) said() []segment.Doc {
	docs := make([]segment.Doc, 1+c.random.IntN(5))
	for i := range docs {
		session := memory.SessionKey("s" + string(rune('a'+c.random.IntN(3))))
		c.seqs[session] += int64(1 + c.random.IntN(2)) // some seqs are of messages that cannot be recalled
		docs[i] = segment.Doc{Place: memory.Place{Session: session, Seq: c.seqs[session]}, Role: memory.RoleUser, Name: "Ann", CreateMillis: 1000}
		if session != "sa" && c.random.IntN(3) == 0 { // among people there is no reply
			docs[i].Role, docs[i].Name = memory.RoleAssistant, ""
		}
		if c.random.IntN(4) > 0 {
			docs[i].Vector = segment.NewVector(1, []float32{c.random.Float32() - .5, c.random.Float32() - .5})
		}
	}
	return docs
}

// read returns the documents of segments.
func (c *indexedUser) read(nos ...int64) (docs []segment.Doc) {
	c.t.Helper()
	segments, err := c.store.Segments(context.Background(), ada, nos)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range segments {
		some, err := segment.Decode(s.Data)
		if err != nil {
			c.t.Fatal(err)
		}
		docs = append(docs, some...)
	}
	return docs
}

// merge makes one of the segments, or of some of them.
func (c *indexedUser) merge(all bool) {
	c.t.Helper()
	var nos []int64
	for _, s := range c.searchIndex().Segments {
		if all || c.random.IntN(2) == 0 {
			nos = append(nos, s.No)
		}
	}
	if len(nos) > 1 {
		c.put(c.read(nos...), nos...)
	}
}

// embed gives all messages of a segment vectors.
func (c *indexedUser) embed() {
	c.t.Helper()
	segments := c.searchIndex().Segments
	if len(segments) == 0 {
		return
	}
	no := segments[c.random.IntN(len(segments))].No
	docs := c.read(no)
	for i := range docs {
		if docs[i].Vector.Version == 0 {
			docs[i].Vector = segment.NewVector(1, []float32{c.random.Float32() - .5, c.random.Float32() - .5})
		}
	}
	c.put(docs, no)
}

// feed lets a feeder put all that waits into the view.
func (c *indexedUser) feed() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := viewfeed.NewFeeder(viewfeed.FeederOptions{
		Store: c.store, Target: viewfeed.MessageVectorTarget(c.vectors), Owner: "a", Log: slog.New(slog.DiscardHandler), Meter: c,
	})
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	time.Sleep(10 * time.Second)
	cancel()
	if err := <-done; err != nil {
		c.t.Error(err)
	}
	if n := c.pending(memory.ViewMessageVectors); n != 0 {
		c.t.Errorf("%d feeds wait", n)
	}
}

// Fed implements viewfeed.FeedMeter.
func (c *indexedUser) Fed(_ memory.View, rows int) { c.puts += rows }

// FeedFailed implements viewfeed.FeedMeter.
func (c *indexedUser) FeedFailed(view memory.View) { c.t.Errorf("feeding the %s failed", view) }

// wantKeys wants the view to return what the index returns of all that was said.
func (c *indexedUser) wantKeys(build int64) {
	c.t.Helper()
	all := make([]segment.Doc, 0, len(c.docs))
	for _, d := range c.docs {
		all = append(all, d)
	}
	x, query := rank.NewIndex(), []float32{.6, .8}
	x.Add(all...)
	hits, err := c.vectors.Search(context.Background(), store.VectorSearch{
		Space: store.VectorSpace{View: memory.ViewMessageVectors, Build: build, Version: 1, Dimension: 2}, Scope: c.scope, Vector: query, Limit: 1000,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	found := make([]rank.Match, len(hits))
	for i, h := range hits {
		found[i] = rank.Match{Place: h.Place, Score: h.Score}
	}
	got, want := x.Weigh(rank.Query{}, found), x.SearchVectors(rank.QueryVector{Version: 1, Values: query, Unrelated: -2}, rank.Query{})
	if len(got) != len(want) {
		c.t.Fatalf("the view answers %d messages, the index %d", len(got), len(want))
	}
	scores := map[memory.Place]float64{}
	for _, m := range want {
		scores[m.Place] = m.Score
	}
	for _, m := range got {
		if d := m.Score - scores[m.Place]; d > .02 || d < -.02 { // the index rounds the query
			c.t.Errorf("%v: the view says %v, the index %v", m.Place, m.Score, scores[m.Place])
		}
	}
}

func TestTheViewOfMessageVectors(t *testing.T) {
	for seed := range uint64(12) {
		viewsInBubble(t, fmt.Sprintf("answers what the index answers, whatever became of the segments meanwhile (%d)", seed), func(t *testing.T, v *fixture) {
			c := newIndexedUser(v, seed)
			for range 15 {
				switch c.random.IntN(5) {
				case 0:
					c.merge(false)
				case 1:
					c.embed()
				case 2:
					c.feed()
					c.wantKeys(1)
				default:
					c.put(c.said())
				}
			}
			c.feed()
			c.wantKeys(1)
			if _, err := c.store.RebuildView(t.Context(), memory.ViewMessageVectors, time.Now()); err != nil {
				t.Fatal(err)
			}
			c.feed()
			c.wantKeys(2)
		})
	}
	viewsInBubble(t, "is fed of the messages around a new one again, and of no others", func(t *testing.T, v *fixture) {
		c := newIndexedUser(v, 1)
		vector := segment.NewVector(1, []float32{1, 0})
		doc := func(seq int64) segment.Doc {
			return segment.Doc{Place: memory.Place{Session: "a", Seq: seq}, Role: memory.RoleUser, Name: "Ann", Vector: vector}
		}
		var docs []segment.Doc
		for seq := range int64(20) {
			docs = append(docs, doc(seq+1))
		}
		c.put(docs)
		c.feed()
		before := c.puts
		c.put([]segment.Doc{doc(21)})
		c.feed()
		if got := c.puts - before; got != 3 {
			t.Errorf("%d rows were put for a new message and two before it", got)
		}
	})
	viewsInBubble(t, "is not fed again what was merged", func(t *testing.T, v *fixture) {
		c := newIndexedUser(v, 1)
		for range 4 {
			c.put(c.said())
		}
		c.feed()
		before := c.puts
		c.merge(true)
		c.feed()
		if c.puts != before || len(c.searchIndex().Segments) != 1 {
			t.Errorf("%d rows were put", c.puts-before)
		}
	})
	viewsInBubble(t, "is fed a long history piece by piece", func(t *testing.T, v *fixture) {
		c := newIndexedUser(v, 1)
		for len(c.docs) < 1500 {
			var docs []segment.Doc
			for len(docs) < 300 {
				docs = append(docs, c.said()...)
			}
			c.put(docs)
		}
		c.feed()
		c.wantAllKeys()
	})
	viewsInBubble(t, "compares and is repaired", func(t *testing.T, v *fixture) {
		c := newIndexedUser(v, 3)
		for range 6 {
			c.put(c.said())
		}
		c.feed()
		rows := c.rows()
		gone := rows[len(rows)/2]
		if err := c.vectors.Remove(t.Context(), turnSpace, c.scope, []store.RowState{gone}); err != nil {
			t.Fatal(err)
		}
		stale, foreign := rows[0], rows[1]
		foreign.Place.Seq = 999
		for _, r := range []store.RowState{stale, foreign} {
			put := store.VectorRow{Scope: c.scope, Place: r.Place, Session: r.Place.Session, Revision: 77, Vector: []float32{0, 1}}
			if err := c.vectors.Put(t.Context(), turnSpace, []store.VectorRow{put}); err != nil {
				t.Fatal(err)
			}
		}
		x := v.verifierOf(v.store, viewfeed.MessageVectorTarget(v.vectors))
		wantChecks(t, v.verify(x, viewfeed.VerifyRepair), viewfeed.ViewCheck{
			View: memory.ViewMessageVectors, Checked: int64(len(rows)), Missing: 1, Stale: 1, Orphan: 1, Repaired: 3,
		})
		c.wantKeys(1)
		wantChecks(t, v.verify(x, viewfeed.VerifyDryRun), viewfeed.ViewCheck{View: memory.ViewMessageVectors, Checked: int64(len(rows))})
		c.put(c.said())
		job := v.verify(x, viewfeed.VerifyDryRun)
		if n := job.Checks[0].Wrong(); n != 0 {
			t.Errorf("%d rows are wrong for messages that the view was not fed of yet", n)
		}
	})
}

var turnSpace = store.VectorSpace{View: memory.ViewMessageVectors, Build: 1, Version: 1, Dimension: 2}

func (c *indexedUser) rows() []store.RowState {
	c.t.Helper()
	rows, err := c.vectors.Rows(context.Background(), store.RowQuery[store.VectorSpace]{Space: turnSpace, Limit: 100_000})
	if err != nil {
		c.t.Fatal(err)
	}
	return rows
}

// wantAllKeys wants a row for every message with a vector, of the key that it has among all of them.
func (c *indexedUser) wantAllKeys() {
	c.t.Helper()
	var all []segment.Doc
	for _, d := range c.docs {
		all = append(all, d)
	}
	want := rank.NewMessageKeys(all).Revisions()
	rows := c.rows()
	wrong := slices.DeleteFunc(slices.Clone(rows), func(r store.RowState) bool { return want[r.Place] == r.Revision })
	if len(rows) != len(want) || len(wrong) > 0 {
		c.t.Errorf("of %d messages %d have rows, %d wrong ones", len(want), len(rows), len(wrong))
	}
}

func TestTheViewOfMessageVectorsAfterAMergeAroundALargerSegment(t *testing.T) {
	viewsInBubble(t, "is fed of a new message with those that were really said before it", func(t *testing.T, v *fixture) {
		c := newIndexedUser(v, 5)
		doc := func(seq int64) segment.Doc {
			d := segment.Doc{Place: memory.Place{Session: "a", Seq: seq}, Role: memory.RoleUser}
			if seq%2 == 0 {
				d.Role = memory.RoleAssistant
			}
			d.Vector = segment.NewVector(1, []float32{c.random.Float32() - .5, c.random.Float32() - .5})
			return d
		}
		run := func(from, to int64) (docs []segment.Doc) {
			for seq := from; seq <= to; seq++ {
				docs = append(docs, doc(seq))
			}
			return docs
		}
		c.put(run(1, 14))
		c.put(run(15, 24))
		c.put(run(25, 26))
		s := c.searchIndex().Segments
		c.put(c.read(s[0].No, s[2].No), s[0].No, s[2].No) // numbered above the segment between
		c.feed()
		c.put(run(27, 28))
		c.feed()
		c.wantKeys(1)
		c.wantAllKeys()
	})
}
