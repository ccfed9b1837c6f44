package viewfeed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pass lets virtual time pass and waits until nobody has anything to do.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func openFile(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	datafile.At(t, path)
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// faultyTexts is a text view whose faults are in the test's hands.
type faultyTexts struct {
	*memview.Texts
	lag time.Duration

	mu      sync.Mutex
	down    bool
	refuses string // a term
	panics  string // a term
	puts    []int  // rows of each Put
	rows    []store.TextRow
}

func (v *faultyTexts) Lag() time.Duration { return v.lag }

func (v *faultyTexts) set(down bool, refuses string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.down, v.refuses = down, refuses
}

func (v *faultyTexts) Put(ctx context.Context, space store.TextSpace, rows []store.TextRow) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.puts, v.rows = append(v.puts, len(rows)), append(v.rows, rows...)
	if v.down {
		return errors.New("connection refused")
	}
	for _, r := range rows {
		if v.refuses != "" && slices.Contains(r.Terms, v.refuses) {
			return errors.New("bad row")
		}
		if v.panics != "" && slices.Contains(r.Terms, v.panics) {
			panic(v.panics)
		}
	}
	return v.Texts.Put(ctx, space, rows)
}

// fixture is a real store with its views, fed by processes of the test. Its tests run in a bubble of package synctest.
type fixture struct {
	t       *testing.T
	store   *sqlitestore.Store
	vectors *memview.Vectors
	texts   *faultyTexts
	log     *strings.Builder
	logger  *slog.Logger // writes to log, for all feeders: one handler does not mix their lines
	reads   viewfeed.FeederStore
	failed  failedFeeds
}

// failedFeeds counts failures to feed each view.
type failedFeeds struct {
	mu sync.Mutex
	of map[memory.View]int
}

func (f *failedFeeds) Fed(memory.View, int) {}

func (f *failedFeeds) FeedFailed(view memory.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[memory.View]int{}
	}
	f.of[view]++
}

func (f *failedFeeds) count(view memory.View) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[view]
}

// panickyReads is a store that panics when the messages of one session are read.
type panickyReads struct {
	*sqlitestore.Store
	session string
	mended  *atomic.Bool
}

func (p panickyReads) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	if q.Ref.SessionID == p.session && !p.mended.Load() {
		panic("words of a user")
	}
	return p.Store.Messages(ctx, q)
}

// countedReads is a store that counts the feeds that are read by name.
type countedReads struct {
	*sqlitestore.Store
	named *atomic.Int64
}

func (c countedReads) Feed(ctx context.Context, view memory.View, ref memory.SessionRef) (store.Feed, error) {
	c.named.Add(1)
	return c.Store.Feed(ctx, view, ref)
}

// troubleOf is what the feeder of a view says of it.
func troubleOf(feeders []*viewfeed.Feeder, view memory.View) string {
	at := slices.IndexFunc(feeders, func(f *viewfeed.Feeder) bool { return f.View() == view })
	return feeders[at].Trouble()
}

func viewsInBubble(t *testing.T, promise string, f func(*testing.T, *fixture)) {
	t.Helper()
	t.Run(promise, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newFixture(t)) })
	})
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	v := &fixture{
		t: t, store: openFile(t, filepath.Join(t.TempDir(), "strata.db")), vectors: memview.NewVectors(),
		texts: &faultyTexts{Texts: memview.NewTexts()}, log: &strings.Builder{},
	}
	v.logger, v.reads = slog.New(slog.NewTextHandler(v.log, nil)), v.store
	e, err := v.store.AddEmbedding(t.Context(), memory.Embedding{Model: "small", Dimension: 2, Metric: "cosine", CreateTime: time.Now().UTC()})
	if err != nil || !e.Active {
		t.Fatalf("add embedding: %+v, %v", e, err)
	}
	return v
}

func (v *fixture) targets() []viewfeed.Target {
	return []viewfeed.Target{viewfeed.VectorTarget(v.vectors), viewfeed.FactTarget(v.texts), viewfeed.TranscriptTarget(v.texts)}
}

// feeders are the feeders of one process; they are stopped at the latest when the test ends.
func (v *fixture) feeders(owner string) (feeders []*viewfeed.Feeder, stop func()) {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, target := range v.targets() {
		f := viewfeed.NewFeeder(viewfeed.FeederOptions{
			Store: v.reads, Target: target, Owner: owner, Rand: func() float64 { return 0.5 },
			Log: v.logger, Meter: &v.failed,
		})
		feeders = append(feeders, f)
		running.Go(func() { _ = f.Run(ctx) })
	}
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	v.t.Cleanup(stop)
	return feeders, stop
}

// say records a turn of one message.
func (v *fixture) say(ref memory.SessionRef, words string) {
	v.t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	m := memory.Message{
		ID: fmt.Sprintf("%s-%s-%d", ref.SessionID, words, now.UnixNano()), Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)},
		Origin: memory.OriginUser, Extract: memory.ExtractAllow, CreateTime: now,
	}
	m.Tokens = tokens.CountMessage(m)
	_, err := v.store.Append(context.Background(), store.AppendParams{Ref: ref, Messages: []store.NewMessage{{Message: m}}, Time: now})
	if err != nil {
		v.t.Fatal(err)
	}
}

// learn stores facts of the user as a person's.
func (v *fixture) learn(user memory.UserRef, texts ...string) []memory.Fact {
	v.t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	state := v.state(user)
	w := store.FactWrite{User: user, Scope: state.Scope, Base: state.Revision, Time: now}
	var facts []memory.Fact
	for i, words := range texts {
		f := memory.Fact{
			ID: fmt.Sprintf("f-%d-%d", state.Revision, i), Text: words, Category: memory.CategoryOther, Significance: 5, Confidence: 1,
			Origin: memory.FactByUser, ValidFrom: now, CreateTime: now, UpdateTime: now, Revision: 1,
		}
		facts = append(facts, f)
		w.Changes = append(w.Changes, store.FactChange{Fact: f, Cause: memory.CauseCreated})
	}
	v.apply(w)
	return facts
}

func (v *fixture) state(user memory.UserRef) store.FactState {
	v.t.Helper()
	state, err := v.store.FactsSince(context.Background(), user, 0)
	if err != nil {
		v.t.Fatal(err)
	}
	return state
}

func (v *fixture) apply(w store.FactWrite) {
	v.t.Helper()
	if _, err := v.store.ApplyFacts(context.Background(), w); err != nil {
		v.t.Fatal(err)
	}
}

// change stores a fact as it shall be.
func (v *fixture) change(user memory.UserRef, f memory.Fact) {
	v.t.Helper()
	state := v.state(user)
	f.Revision++
	v.apply(store.FactWrite{
		User: user, Scope: state.Scope, Base: state.Revision, Time: time.Now().UTC().Truncate(time.Microsecond),
		Changes: []store.FactChange{{Fact: f, Cause: memory.CauseEdited}},
	})
}

func (v *fixture) forgetFact(user memory.UserRef, id string) {
	v.t.Helper()
	state := v.state(user)
	v.apply(store.FactWrite{
		User: user, Scope: state.Scope, Base: state.Revision, Time: time.Now().UTC().Truncate(time.Microsecond),
		Forget: []store.ForgetFact{{FactID: id, Keys: []memory.Digest{{1}}}},
	})
}

// embed gives every fact that lacks one a vector of the version.
func (v *fixture) embed(version, dimension int) {
	v.t.Helper()
	for {
		facts, err := v.store.FactsToEmbed(context.Background(), store.EmbedQuery{Version: version, Limit: 1000})
		if err != nil {
			v.t.Fatal(err)
		}
		if len(facts) == 0 {
			return
		}
		w := store.VectorWrite{Version: version}
		for _, f := range facts {
			vector := make([]float32, dimension)
			vector[0] = 1
			w.Vectors = append(w.Vectors, store.NewVector{User: f.User, FactID: f.FactID, Revision: f.Revision, Vector: vector})
		}
		if err := v.store.PutFactVectors(context.Background(), w); err != nil {
			v.t.Fatal(err)
		}
	}
}

// revisions are those of the rows that the vector view holds, by fact.
func (v *fixture) vectorRows(space store.VectorSpace) map[string]int64 {
	v.t.Helper()
	rows, err := v.vectors.Rows(context.Background(), store.RowQuery[store.VectorSpace]{Space: space, Limit: 100_000})
	if err != nil {
		v.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, r := range rows {
		out[r.FactID] = r.Revision
	}
	return out
}

func (v *fixture) textRows(view memory.View, build int64) []store.RowState {
	v.t.Helper()
	q := store.RowQuery[store.TextSpace]{Space: store.TextSpace{View: view, Build: build}, Limit: 100_000}
	rows, err := v.texts.Rows(context.Background(), q)
	if err != nil {
		v.t.Fatal(err)
	}
	return rows
}

func (v *fixture) pending(view memory.View) int64 {
	v.t.Helper()
	pending, _, err := v.store.CountFeeds(context.Background(), view)
	if err != nil {
		v.t.Fatal(err)
	}
	return pending
}

// wantAllTold wants no feed of any view to wait.
func (v *fixture) wantAllTold() {
	v.t.Helper()
	for _, view := range memory.Views() {
		if n := v.pending(view); n != 0 {
			v.t.Errorf("%d feeds of the %s wait", n, view)
		}
	}
}

var (
	firstVectors  = store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 2}
	secondVectors = store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 2, Dimension: 3}
)

func TestFeeder(t *testing.T) {
	bob := memory.UserRef{Tenant: "t", UserID: "bob"}
	chat := bob.Session("chat")

	viewsInBubble(t, "what was stored before and what is stored later reaches every view", func(t *testing.T, v *fixture) {
		v.say(chat, "the first words")
		v.learn(bob, "likes tea", "lives in Lisbon")
		v.embed(1, 2)
		feeders, _ := v.feeders("a")
		pass(time.Second)
		v.wantAllTold()
		if n := len(v.textRows(memory.ViewTranscript, 1)); n != 1 {
			t.Errorf("%d messages", n)
		}
		if n := len(v.textRows(memory.ViewFacts, 1)); n != 2 {
			t.Errorf("%d facts", n)
		}
		if n := len(v.vectorRows(firstVectors)); n != 2 {
			t.Errorf("%d vectors", n)
		}
		v.say(chat, "the second words")
		for _, f := range feeders {
			f.Nudge(chat)
		}
		pass(time.Second)
		if n := len(v.textRows(memory.ViewTranscript, 1)); n != 2 {
			t.Errorf("%d messages after a nudge", n)
		}
		v.say(chat, "the third words")
		pass(3 * time.Second)
		if n := len(v.textRows(memory.ViewTranscript, 1)); n != 3 {
			t.Errorf("%d messages without a nudge", n)
		}
		v.wantAllTold()
	})

	viewsInBubble(t, "rows of texts say who said what, where and when, for people who search by themselves", func(t *testing.T, v *fixture) {
		at := time.Now().UTC()
		v.say(chat, "the first words")
		v.learn(bob, "likes tea")
		v.feeders("a")
		pass(time.Second)
		want := map[string]store.TextContent{
			"message": {User: chat.UserRef, SessionID: chat.SessionID, MessageID: fmt.Sprintf("%s-the first words-%d", chat.SessionID, at.UnixNano()), Text: "the first words"},
			"fact":    {User: bob, Text: "likes tea"},
		}
		got := map[string]store.TextContent{}
		for _, r := range v.texts.rows {
			kind := "fact"
			if r.FactID == "" {
				kind = "message"
				if !r.Recorded.Equal(at.Truncate(time.Microsecond)) {
					t.Errorf("the message was recorded at %v, its row says %v", at, r.Recorded)
				}
			}
			got[kind] = r.Content
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	viewsInBubble(t, "a changed fact keeps its vector's row with the new labels, and a new text loses its row until it has a vector", func(t *testing.T, v *fixture) {
		facts := v.learn(bob, "likes tea", "lives in Lisbon")
		v.embed(1, 2)
		v.feeders("a")
		pass(time.Second)
		pinned := facts[0]
		pinned.Pinned = true
		v.change(bob, pinned)
		pass(3 * time.Second)
		if got := v.vectorRows(firstVectors); got[pinned.ID] != 2 || got[facts[1].ID] != 1 {
			t.Errorf("rows are of the revisions %v", got)
		}
		isPinned := func(r store.TextRow) bool {
			return r.FactID == pinned.ID && r.Revision == 2 && r.Significance == memory.MaxSignificance
		}
		if !slices.ContainsFunc(v.texts.rows, isPinned) {
			t.Error("the pinned fact's row does not pass every least significance")
		}
		moved := facts[1]
		moved.Text = "lives in Porto"
		v.change(bob, moved)
		pass(3 * time.Second)
		if got := v.vectorRows(firstVectors); len(got) != 1 {
			t.Errorf("a fact without a vector has a row: %v", got)
		}
		v.embed(1, 2)
		pass(3 * time.Second)
		if got := v.vectorRows(firstVectors); got[moved.ID] != 2 {
			t.Errorf("rows are of the revisions %v", got)
		}
		v.wantAllTold()
	})

	viewsInBubble(t, "a forgotten fact is removed from both views", func(t *testing.T, v *fixture) {
		facts := v.learn(bob, "likes tea", "lives in Lisbon")
		v.embed(1, 2)
		v.feeders("a")
		pass(time.Second)
		v.forgetFact(bob, facts[0].ID)
		pass(3 * time.Second)
		if got := v.vectorRows(firstVectors); len(got) != 1 || got[facts[1].ID] != 1 {
			t.Errorf("vectors: %v", got)
		}
		if got := v.textRows(memory.ViewFacts, 1); len(got) != 1 || got[0].FactID != facts[1].ID {
			t.Errorf("facts: %v", got)
		}
		v.wantAllTold()
	})

	viewsInBubble(t, "a feed is marked only when the view's search is sure to see it", func(t *testing.T, v *fixture) {
		v.texts.lag = 10 * time.Second
		v.say(chat, "words")
		v.feeders("a")
		pass(9 * time.Second)
		if len(v.textRows(memory.ViewTranscript, 1)) != 1 || v.pending(memory.ViewTranscript) != 1 {
			t.Error("it was not put, or marked at once")
		}
		if len(v.texts.puts) != 1 {
			t.Errorf("it was put %d times", len(v.texts.puts))
		}
		pass(3 * time.Second)
		v.wantAllTold()
	})

	viewsInBubble(t, "a session that never pauses is marked all the same", func(t *testing.T, v *fixture) {
		v.texts.lag = 10 * time.Second
		v.feeders("a")
		for i := range 30 {
			v.say(chat, fmt.Sprint("words ", i))
			pass(time.Second)
		}
		feed, err := v.store.Feed(context.Background(), memory.ViewTranscript, chat)
		if err != nil || feed.Checkpoint.Seq < 15 {
			t.Errorf("fed %d of 30, %v", feed.Checkpoint.Seq, err)
		}
	})

	viewsInBubble(t, "a long session is put in parts, and a short one does not wait for its end", func(t *testing.T, v *fixture) {
		for i := range 1200 {
			v.say(chat, fmt.Sprint("words ", i))
		}
		v.say(bob.Session("short"), "a few words")
		v.feeders("a")
		pass(time.Second)
		if n := len(v.textRows(memory.ViewTranscript, 1)); n != 1201 {
			t.Errorf("%d messages", n)
		}
		if len(v.texts.puts) < 3 || v.texts.puts[0] != 501 {
			t.Errorf("rows of each put: %v", v.texts.puts)
		}
		v.wantAllTold()
	})

	viewsInBubble(t, "what was announced is not read by name where the list of what waits has it", func(t *testing.T, v *fixture) {
		named := &atomic.Int64{}
		v.reads = countedReads{v.store, named}
		feeders, _ := v.feeders("a")
		pass(time.Second)
		for n := range 9 {
			ref := bob.Session(fmt.Sprint(n))
			v.say(ref, "apples")
			for _, f := range feeders {
				f.Nudge(ref)
			}
		}
		pass(time.Minute)
		v.wantAllTold()
		if named.Load() != 0 {
			t.Errorf("%d feeds were read by name", named.Load())
		}
	})
	viewsInBubble(t, "rows of many small feeds are put together", func(t *testing.T, v *fixture) {
		for i := range 300 {
			v.say(bob.Session(fmt.Sprint("s", i)), "words")
		}
		v.feeders("a")
		pass(time.Second)
		if len(v.texts.puts) != 1 || v.texts.puts[0] != 300 {
			t.Errorf("rows of each put: %v", v.texts.puts)
		}
	})

	viewsInBubble(t, "a view that is down is asked more and more rarely, complained about once, keeps no other from being fed, and catches up", func(t *testing.T, v *fixture) {
		v.texts.set(true, "")
		v.say(chat, "words")
		v.learn(bob, "likes tea")
		v.embed(1, 2)
		v.feeders("a")
		pass(10 * time.Minute)
		if n := len(v.texts.puts); n < 10 || n > 50 {
			t.Errorf("two views that are down were tried %d times in ten minutes", n)
		}
		if n := strings.Count(v.log.String(), "level=WARN"); n != 2 {
			t.Errorf("%d warnings:\n%s", n, v.log)
		}
		if len(v.vectorRows(firstVectors)) != 1 {
			t.Error("vectors were not fed")
		}
		v.texts.set(false, "")
		pass(2 * time.Minute)
		v.wantAllTold()
	})

	viewsInBubble(t, "a row that the view refuses keeps no other feed from it", func(t *testing.T, v *fixture) {
		v.texts.set(false, "poison")
		v.say(chat, "poison")
		v.say(bob.Session("good"), "words")
		v.say(bob.Session("fine"), "words")
		v.feeders("a")
		pass(10 * time.Second)
		if n := v.pending(memory.ViewTranscript); n != 1 {
			t.Errorf("%d feeds wait", n)
		}
		v.texts.set(false, "")
		pass(2 * time.Minute)
		v.wantAllTold()
	})

	viewsInBubble(t, "a row that makes the view's driver panic keeps no other feed from it", func(t *testing.T, v *fixture) {
		v.texts.panics = "poison"
		v.say(chat, "poison")
		v.say(bob.Session("good"), "words")
		v.say(bob.Session("fine"), "words")
		v.feeders("a")
		pass(10 * time.Second)
		if n := v.pending(memory.ViewTranscript); n != 1 {
			t.Errorf("%d feeds wait", n)
		}
		if out := v.log.String(); !strings.Contains(out, "panic of type string") || strings.Contains(out, "poison") {
			t.Errorf("the log says %s", out)
		}
	})

	viewsInBubble(t, "a feed that panics when it is read or put is trouble that is seen, until it does not", func(t *testing.T, v *fixture) {
		mended := &atomic.Bool{}
		v.reads = panickyReads{v.store, "unreadable", mended}
		v.texts.panics = "poison"
		v.say(chat, "poison")
		v.say(bob.Session("unreadable"), "words")
		v.say(bob.Session("good"), "words")
		v.say(bob.Session("fine"), "words")
		feeders, _ := v.feeders("a")
		pass(10 * time.Second)
		if n := v.pending(memory.ViewTranscript); n != 2 {
			t.Errorf("%d feeds wait", n)
		}
		if trouble := troubleOf(feeders, memory.ViewTranscript); !strings.Contains(trouble, "2 users or sessions") {
			t.Errorf("trouble of the transcript: %q", trouble)
		}
		if trouble := troubleOf(feeders, memory.ViewFacts); trouble != "" {
			t.Errorf("trouble of the facts: %q", trouble)
		}
		seen := v.failed.count(memory.ViewTranscript)
		pass(10 * time.Minute)
		if n := v.failed.count(memory.ViewTranscript); seen == 0 || n < seen+5 || v.failed.count(memory.ViewFacts) != 0 {
			t.Errorf("%d failures were counted at first, %d ten minutes later", seen, n)
		}
		v.texts.mu.Lock()
		v.texts.panics = ""
		v.texts.mu.Unlock()
		mended.Store(true)
		pass(2 * time.Minute)
		v.wantAllTold()
		if trouble := troubleOf(feeders, memory.ViewTranscript); trouble != "" {
			t.Errorf("trouble that is over: %q", trouble)
		}
		if out := v.log.String(); strings.Contains(out, "poison") || strings.Contains(out, "words") {
			t.Errorf("the log says %s", out)
		}
	})

	viewsInBubble(t, "feeds that the view refuses keep no other from it, though many wait longest", func(t *testing.T, v *fixture) {
		v.texts.set(false, "poison")
		for i := range 4 {
			v.say(bob.Session(fmt.Sprint("bad-", i)), "poison")
		}
		time.Sleep(time.Second)
		for i := range 4 {
			v.say(bob.Session(fmt.Sprint("good-", i)), "words")
		}
		v.feeders("a")
		pass(time.Minute)
		if n := v.pending(memory.ViewTranscript); n != 4 {
			t.Errorf("%d feeds wait, want the 4 that are refused", n)
		}
	})

	viewsInBubble(t, "one process feeds a view, another takes over when it stops", func(t *testing.T, v *fixture) {
		_, stop := v.feeders("a")
		pass(time.Second)
		v.feeders("b")
		v.say(chat, "words")
		pass(3 * time.Second)
		if len(v.texts.puts) != 1 {
			t.Errorf("put %d times", len(v.texts.puts))
		}
		stop()
		v.say(chat, "more words")
		pass(3 * time.Second)
		if len(v.texts.puts) != 2 {
			t.Errorf("put %d times after one stopped", len(v.texts.puts))
		}
		v.wantAllTold()
	})

	viewsInBubble(t, "another embedding version in use means a space with its vectors, and the old one goes", func(t *testing.T, v *fixture) {
		v.learn(bob, "likes tea")
		v.embed(1, 2)
		v.feeders("a")
		pass(time.Second)
		next, err := v.store.AddEmbedding(context.Background(), memory.Embedding{Model: "large", Dimension: 3, Metric: "cosine", CreateTime: time.Now().UTC()})
		if err != nil {
			t.Fatal(err)
		}
		v.embed(next.Version, 3)
		pass(5 * time.Second)
		if err := v.store.ActivateEmbedding(context.Background(), next.Version, time.Now().UTC()); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if spaces, err := v.vectors.Spaces(context.Background()); err != nil || !slices.Equal(spaces, []store.VectorSpace{secondVectors}) {
			t.Errorf("spaces: %v, %v", spaces, err)
		}
		if n := len(v.vectorRows(secondVectors)); n != 1 {
			t.Errorf("%d rows", n)
		}
		v.wantAllTold()
		feed, err := v.store.Feed(context.Background(), memory.ViewVectors, bob.Session(""))
		if err != nil || feed.Checkpoint.Version != 2 {
			t.Errorf("fed: %+v, %v", feed.Checkpoint, err)
		}
	})

	viewsInBubble(t, "a view that was deleted is made again", func(t *testing.T, v *fixture) {
		v.learn(bob, "likes tea")
		v.embed(1, 2)
		_, stop := v.feeders("a")
		pass(time.Second)
		stop()
		if err := v.vectors.Drop(context.Background(), firstVectors); err != nil {
			t.Fatal(err)
		}
		v.feeders("a")
		pass(10 * time.Second)
		if n := len(v.vectorRows(store.VectorSpace{View: memory.ViewVectors, Build: 2, Version: 1, Dimension: 2})); n != 1 {
			t.Errorf("%d rows", n)
		}
	})

	viewsInBubble(t, "a view that was deleted is made again whole, though all users there are say more", func(t *testing.T, v *fixture) {
		v.learn(bob, "likes tea")
		v.embed(1, 2)
		v.say(chat, "first words")
		v.feeders("a")
		pass(time.Minute)
		ctx := context.Background()
		err := errors.Join(v.vectors.Drop(ctx, firstVectors), v.texts.Drop(ctx, store.TextSpace{View: memory.ViewFacts, Build: 1}),
			v.texts.Drop(ctx, store.TextSpace{View: memory.ViewTranscript, Build: 1}))
		if err != nil {
			t.Fatal(err)
		}
		v.learn(bob, "likes coffee")
		v.embed(1, 2)
		v.say(chat, "more words")
		pass(time.Minute)
		v.wantAllTold()
		facts, messages := len(v.textRows(memory.ViewFacts, 2)), len(v.textRows(memory.ViewTranscript, 2))
		if vectors := len(v.vectorRows(store.VectorSpace{View: memory.ViewVectors, Build: 2, Version: 1, Dimension: 2})); vectors != 2 || facts != 2 || messages != 2 {
			t.Errorf("%d vectors, %d facts, %d messages: want two of each", vectors, facts, messages)
		}
	})

	viewsInBubble(t, "no words of users are logged", func(t *testing.T, v *fixture) {
		v.texts.set(false, "poison")
		v.say(chat, "poison")
		v.say(bob.Session("good"), "words")
		v.feeders("a")
		pass(time.Minute)
		for _, word := range []string{"poison", "words", "bob", "chat"} {
			if strings.Contains(v.log.String(), word) {
				t.Errorf("%q is in the log:\n%s", word, v.log)
			}
		}
	})
}

func TestReindex(t *testing.T) {
	bob := memory.UserRef{Tenant: "t", UserID: "bob"}

	viewsInBubble(t, "the views asked for are rebuilt from what is stored, and the old ones go when the new ones are complete", func(t *testing.T, v *fixture) {
		for i := range 20 {
			v.say(bob.Session(fmt.Sprint("s", i)), "words")
		}
		feeders, _ := v.feeders("a")
		pass(3 * time.Second)
		r := viewfeed.NewReindexer(viewfeed.ReindexerOptions{Store: v.store, Feeders: feeders})
		if got, err := r.Jobs(context.Background()); err != nil || len(got) != 0 {
			t.Errorf("jobs before the first: %v, %v", got, err)
		}
		v.texts.set(true, "")
		begun, err := r.Reindex(context.Background(), []memory.View{memory.ViewTranscript})
		if err != nil || len(begun) != 1 || begun[0].ID != "reindex-transcript-2" || begun[0].State != memory.JobOpen || begun[0].Total != 20 || begun[0].Done != 0 {
			t.Fatalf("begun: %+v, %v", begun, err)
		}
		pass(3 * time.Second)
		again, err := r.Reindex(context.Background(), []memory.View{memory.ViewTranscript})
		if err != nil || again[0].ID != begun[0].ID || again[0].Reason == "" {
			t.Errorf("asked again while it runs: %+v, %v", again, err)
		}
		v.texts.set(false, "")
		pass(10 * time.Second)
		got, err := r.Jobs(context.Background())
		if err != nil || len(got) != 1 || got[0].State != memory.JobApplied || got[0].Done != 20 || got[0].Reason != "" {
			t.Errorf("jobs: %+v, %v", got, err)
		}
		if n := len(v.textRows(memory.ViewTranscript, 2)); n != 20 {
			t.Errorf("%d rows", n)
		}
		if n := len(v.textRows(memory.ViewTranscript, 1)); n != 0 {
			t.Errorf("%d rows of the old build", n)
		}
	})

	viewsInBubble(t, "a view that is not configured is refused with the setting that it needs", func(t *testing.T, v *fixture) {
		r := viewfeed.NewReindexer(viewfeed.ReindexerOptions{Store: v.store})
		for asked, setting := range map[memory.View]string{memory.ViewVectors: "milvus-address", memory.ViewFacts: "elasticsearch-url"} {
			_, err := r.Reindex(context.Background(), []memory.View{asked})
			if memory.ReasonOf(err) != memory.ReasonFieldInvalid || !strings.Contains(err.Error(), setting) {
				t.Errorf("%s: %v", asked, err)
			}
		}
		if _, err := r.Reindex(context.Background(), nil); memory.ReasonOf(err) != memory.ReasonFieldInvalid {
			t.Errorf("all of none: %v", err)
		}
	})
}

// watchedStore does something after facts were first read, and sees marks before they are set.
type watchedStore struct {
	*sqlitestore.Store
	once   func()
	marked func(store.CheckpointUpdate)
}

func (w watchedStore) FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error) {
	state, err := w.Store.FactsSince(ctx, user, revision)
	w.once()
	return state, err
}

func (w watchedStore) SetCheckpoint(ctx context.Context, m store.CheckpointUpdate) error {
	w.marked(m)
	return w.Store.SetCheckpoint(ctx, m)
}

func TestMarksOfVectors(t *testing.T) {
	viewsInBubble(t, "the view has every vector that it is marked to have, also of a fact that came while they were read", func(t *testing.T, v *fixture) {
		bob := memory.UserRef{Tenant: "t", UserID: "bob"}
		v.learn(bob, "likes tea")
		v.embed(1, 2)
		marks := 0
		primary := watchedStore{Store: v.store, once: sync.OnceFunc(func() { v.learn(bob, "likes coffee"); v.embed(1, 2) }), marked: func(m store.CheckpointUpdate) {
			marks++
			vectors, err := v.store.FactVectors(context.Background(), store.FactVectorQuery{User: bob, Version: 1})
			if err != nil {
				t.Error(err)
			}
			rows := v.vectorRows(firstVectors)
			for _, x := range vectors {
				if _, ok := rows[x.FactID]; !ok && x.No <= m.Checkpoint.No {
					t.Errorf("vector %d is not in the view, which is marked up to %d", x.No, m.Checkpoint.No)
				}
			}
		}}
		f := viewfeed.NewFeeder(viewfeed.FeederOptions{
			Store: primary, Target: viewfeed.VectorTarget(v.vectors), Owner: "a", Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		pass(time.Minute)
		cancel()
		running.Wait()
		if n := v.pending(memory.ViewVectors); n != 0 || marks == 0 {
			t.Errorf("%d feeds wait after %d marks", n, marks)
		}
	})
}
