package indexing_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// panicky panics when it analyses a message with the word.
type panicky struct {
	wordsOnly
	word string
}

func (p panicky) Analyze(ctx context.Context, messages []memory.PlacedMessage) ([]segment.Doc, int, error) {
	for _, m := range messages {
		if strings.Contains(m.Message.PlainText(), p.word) {
			panic(m.Message.PlainText())
		}
	}
	return p.wordsOnly.Analyze(ctx, messages)
}

func TestAMessageWhoseAnalysisPanics(t *testing.T) {
	s := open(t)
	say(t, s, memory.RoleUser, "a", "the night train to Vienna")
	say(t, s, memory.RoleUser, "b", "a poisoned apple")
	say(t, s, memory.RoleUser, "c", "a ferry to Naxos")
	var log strings.Builder
	x := indexing.NewIndexer(indexing.IndexerOptions{
		Store: s, Delay: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil)), Turns: panicky{word: "poisoned"},
	})
	index(t, x)
	t.Run("keeps none of the others from being found", func(t *testing.T) {
		if found(t, s, "Vienna") != 1 || found(t, s, "Naxos") != 1 || found(t, s, "apple") != 0 {
			t.Errorf("found Vienna %d, Naxos %d, apple %d times", found(t, s, "Vienna"), found(t, s, "Naxos"), found(t, s, "apple"))
		}
	})
	t.Run("is not tried again", func(t *testing.T) {
		if state := searchIndex(t, s); len(state.Unindexed) != 0 || state.Segments[0].Messages != 3 {
			t.Errorf("state %+v", state)
		}
	})
	t.Run("is a parked job that names it, and why", func(t *testing.T) {
		job := parked(t, s)
		if job.Range() != (memory.SeqRange{From: 2, To: 2}) || job.SessionID != "s" || job.Reason != store.ReasonAnalysis || job.Attempts != 1 {
			t.Errorf("job %+v", job)
		}
	})
	t.Run("is named in the log by its place, never by its words", func(t *testing.T) {
		if out := log.String(); strings.Count(out, "seq=2") != 1 || !strings.Contains(out, "panic of type string") || strings.Contains(out, "apple") {
			t.Errorf("the log says %s", out)
		}
	})
}

func TestAMessageWhoseAnalysisPanickedIsRetried(t *testing.T) {
	s := open(t)
	say(t, s, memory.RoleUser, "a", "the night train to Vienna")
	say(t, s, memory.RoleUser, "b", "a poisoned apple")
	analysing := func(a indexing.Analyzer) *indexing.Indexer {
		return indexing.NewIndexer(indexing.IndexerOptions{Store: s, Log: slog.New(slog.DiscardHandler), Turns: a})
	}
	broken, mended := analysing(panicky{word: "poisoned"}), analysing(wordsOnly{})
	index(t, broken)
	job := parked(t, s)
	messages, err := s.Messages(t.Context(), store.MessageQuery{Ref: ada.Session("s"), After: 1, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	message := memory.PlacedMessage{Place: memory.Place{Session: job.Session, Seq: 2}, Message: messages[0]}
	t.Run("while it panics nothing changes but that an indexer says so", func(t *testing.T) {
		if err := broken.Retry(t.Context(), ada, message); !safegroup.IsPanic(err) {
			t.Errorf("error %v", err)
		}
		if found(t, s, "Vienna") != 1 || len(searchIndex(t, s).Unindexed) != 0 {
			t.Error("the others have to be indexed again")
		}
	})
	t.Run("once it can be analysed it is found, and so are the others", func(t *testing.T) {
		if err := mended.Retry(t.Context(), ada, message); err != nil {
			t.Fatal(err)
		}
		index(t, mended)
		if found(t, s, "Vienna") != 1 || found(t, s, "apple") != 1 {
			t.Errorf("found Vienna %d, apple %d times", found(t, s, "Vienna"), found(t, s, "apple"))
		}
	})
	again := func(t *testing.T, state memory.JobState) {
		t.Helper()
		finish := store.JobFinish{JobRef: store.JobRef{User: ada, ID: parked(t, s).ID()}, State: state, Time: day}
		if _, err := s.FinishJob(t.Context(), finish); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RetireSegments(t.Context(), store.RetireQuery{User: &ada}); err != nil {
			t.Fatal(err)
		}
		index(t, broken)
	}
	t.Run("one that panics again after its job was applied has another job", func(t *testing.T) {
		again(t, memory.JobApplied)
		if next := parked(t, s); next.Generation != 2 || next.Range() != job.Range() {
			t.Errorf("job %+v", next)
		}
	})
	t.Run("one that a person skipped has none", func(t *testing.T) {
		again(t, memory.JobSkipped)
		if jobs := parkedJobs(t, s); len(jobs) != 0 {
			t.Errorf("jobs %+v", jobs)
		}
	})
}

// A retry that finds the message in no segment takes it for one that is to be indexed anyway, and is done.
func TestNoProcessRetriesAMessageBeforeItsSegmentIsStored(t *testing.T) {
	s := open(t)
	say(t, s, memory.RoleUser, "a", "the night train to Vienna")
	say(t, s, memory.RoleUser, "b", "a poisoned apple")
	points := 0
	index(t, indexing.NewIndexer(indexing.IndexerOptions{
		Store: s, Owner: "one", Log: slog.New(slog.DiscardHandler), Turns: panicky{word: "poisoned"},
		Failpoints: func(point string) {
			if point != indexing.FailpointBeforeIndex {
				return
			}
			points++
			jobs := jobsIn(t, s, memory.JobOpen)
			if len(jobs) != 1 || len(parkedJobs(t, s)) != 0 {
				t.Fatalf("jobs %+v, parked %+v: a person may have it retried", jobs, parkedJobs(t, s))
			}
			now := time.Now()
			_, err := s.ClaimJob(t.Context(), store.JobClaim{
				JobRef: store.JobRef{User: ada, ID: jobs[0].ID()}, Owner: "another", Now: now, Until: now.Add(time.Minute),
			})
			if memory.ReasonOf(err) != memory.ReasonContention {
				t.Errorf("another process claims it: %v", err)
			}
		},
	}))
	if job := parked(t, s); points != 1 || job.Attempts != 1 || job.Range() != (memory.SeqRange{From: 2, To: 2}) {
		t.Errorf("after %d segments the job is %+v", points, job)
	}
}

// index indexes what is pending.
func index(t *testing.T, x *indexing.Indexer) {
	t.Helper()
	if _, err := x.Index(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
}

// parked is the one parked job of a message that cannot be indexed.
func parked(t *testing.T, s store.Journal) memory.Job {
	t.Helper()
	jobs := parkedJobs(t, s)
	if len(jobs) != 1 {
		t.Fatalf("jobs %+v, want one", jobs)
	}
	return jobs[0]
}

func parkedJobs(t *testing.T, s store.Journal) []memory.Job {
	t.Helper()
	return jobsIn(t, s, memory.JobParked)
}

// jobsIn are ada's jobs of messages that cannot be indexed, in a state.
func jobsIn(t *testing.T, s store.Journal, state memory.JobState) []memory.Job {
	t.Helper()
	jobs, err := s.ListJobs(t.Context(), store.JobQuery{
		Tenant: ada.Tenant, UserID: ada.UserID, Kinds: []memory.JobKind{memory.JobIndex}, States: []memory.JobState{state}, Limit: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func TestAnIndexerWhoseWorkPanicsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		say(t, s, memory.RoleUser, "a", "the night train to Vienna")
		var log strings.Builder
		panics := 0
		x := indexing.NewIndexer(indexing.IndexerOptions{
			Store: s, Turns: wordsOnly{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Failpoints: func(point string) {
				if point == indexing.FailpointBeforeIndex && panics < 2 {
					panics++
					panic("a user's words")
				}
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- x.Run(ctx) }()
		time.Sleep(5 * time.Minute) // sweeps find the user again
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if found(t, s, "Vienna") != 1 {
			t.Error("the message was not indexed")
		}
		if out := log.String(); strings.Count(out, "panic of type string") != 2 || strings.Contains(out, "words") {
			t.Errorf("the log says %s", out)
		}
	})
}
