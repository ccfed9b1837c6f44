package indexing_test

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// said is a store with messages that are indexed, and what embeds them.
type said struct {
	embeddings
	*testing.T
	indexer *indexing.Indexer
}

func withMessages(t *testing.T, words ...string) said {
	return withModel(t, "small", nil, words...)
}

// withModel has some models built in.
func withModel(t *testing.T, name string, builtin []string, words ...string) said {
	t.Helper()
	st := openFile(t, filepath.Join(t.TempDir(), "strata.db"))
	x, err := openBuiltin(t, st, &endpoint{}, name, builtin...)
	if err != nil {
		t.Fatal(err)
	}
	s := said{x, t, indexing.NewIndexer(indexing.IndexerOptions{Store: st, Turns: x, Log: slog.New(slog.DiscardHandler)})}
	s.say(words...)
	return s
}

// say records messages and indexes each by itself.
func (s said) say(words ...string) {
	s.Helper()
	state := searchIndex(s.T, s.store)
	for i, w := range words {
		say(s.T, s.store, memory.RoleUser, strconv.Itoa(len(state.Segments))+"-"+strconv.Itoa(i), w)
		if _, err := s.indexer.Index(s.Context(), ada); err != nil {
			s.Fatal(err)
		}
	}
}

// sayAtOnce records messages and indexes them together.
func (s said) sayAtOnce(words ...string) {
	s.Helper()
	for i, w := range words {
		say(s.T, s.store, memory.RoleUser, strconv.Itoa(i), w)
	}
	if _, err := s.indexer.Index(s.Context(), ada); err != nil {
		s.Fatal(err)
	}
}

// waiting is how many messages lack a vector of the version.
func (s said) waiting(version int) int64 {
	s.Helper()
	n, err := s.store.CountMessagesToEmbed(s.Context(), version)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// near is how many messages a query of the version finds in the segments.
func (s said) near(version int) int {
	s.Helper()
	x := rank.NewIndex()
	for _, d := range s.segments() {
		if err := x.AddSegment(d.Data); err != nil {
			s.Fatal(err)
		}
	}
	query := make([]float32, version+1) // small is version 1 and has two dimensions, large 2 and three
	query[0] = 1
	return len(x.SearchVectors(rank.QueryVector{Version: version, Values: query}, rank.Query{}))
}

func (s said) segments() []store.Segment {
	s.Helper()
	var nos []int64
	for _, info := range searchIndex(s.T, s.store).Segments {
		nos = append(nos, info.No)
	}
	data, err := s.store.Segments(s.Context(), ada, nos)
	if err != nil {
		s.Fatal(err)
	}
	return data
}

func TestMessageVectors(t *testing.T) {
	t.Run("a built-in model's are made with the index", func(t *testing.T) {
		s := withModel(t, "small", []string{"small"}, "a quiet river", "a loud street")
		if s.waiting(1) != 0 || s.near(1) != 2 {
			t.Errorf("%d wait, %d are found", s.waiting(1), s.near(1))
		}
	})
	t.Run("an endpoint's are made afterwards, however the segments are merged", func(t *testing.T) {
		s := withMessages(t, "one", "two", "three", "four", "five", "six", "seven")
		if s.near(1) != 0 {
			t.Error("the endpoint was asked while messages were indexed")
		}
		s.run(t, func() bool { return s.waiting(1) == 0 })
		s.say("eight", "nine") // the eighth segment makes them merge
		if n := len(searchIndex(t, s.store).Segments); n != 2 {
			t.Fatalf("%d segments", n)
		}
		if s.near(1) != 7 {
			t.Errorf("a merge left %d of 7 vectors", s.near(1))
		}
		s.run(t, func() bool { return s.waiting(1) == 0 })
		if s.near(1) != 9 {
			t.Errorf("%d of 9 are found", s.near(1))
		}
	})
	t.Run("a model that knows no meanings makes none", func(t *testing.T) {
		s := withModel(t, "hash", []string{"hash"}, "a quiet river")
		addFacts(t, s.store, "drinks tea")
		s.run(t, func() bool { return s.left(t, 1) == 0 })
		if s.waiting(1) != 1 || s.near(1) != 0 {
			t.Errorf("%d wait, %d are found", s.waiting(1), s.near(1))
		}
	})
	t.Run("another model's take their place, and the job is open until they did", func(t *testing.T) {
		s := withMessages(t, "a quiet river", "a loud street")
		addFacts(t, s.store, "drinks tea")
		s.run(t, func() bool { return s.waiting(1) == 0 && s.left(t, 1) == 0 })
		job, err := s.Reembed(t.Context(), "large", 0)
		if err != nil || job.State != memory.JobOpen || job.Total != 3 || job.Done != 0 {
			t.Fatalf("job %+v, %v", job, err)
		}
		s.run(t, func() bool {
			job, err = s.Reembed(t.Context(), "large", 0)
			return err != nil || job.State == memory.JobApplied
		})
		if s.near(2) != 2 || s.near(1) != 0 || job.Done != 3 {
			t.Errorf("%d of the new model, %d of the old, job %+v, %v", s.near(2), s.near(1), job, err)
		}
		if left, err := s.Jobs(t.Context()); len(left) != 0 || err != nil {
			t.Errorf("jobs %v, %v", left, err)
		}
	})
	t.Run("a model whose endpoint is down is replaced all the same", func(t *testing.T) {
		s := withMessages(t, "a quiet river")
		addFacts(t, s.store, "drinks tea")
		if _, err := s.Reembed(t.Context(), "large", 0); err != nil {
			t.Fatal(err)
		}
		s.endpoint.fail("small")
		s.run(t, func() bool { return s.waiting(2) == 0 })
		if v, _ := s.Active(); v.Model != "large" {
			t.Errorf("active %+v", v)
		}
	})
	t.Run("a message that the endpoint refuses is left to its words, and costs the others nothing", func(t *testing.T) {
		s := withMessages(t, "one", "bad")
		s.endpoint.set(false, "bad")
		s.run(t, func() bool { return s.waiting(1) == 1 })
		if s.near(1) != 1 {
			t.Errorf("%d are found", s.near(1))
		}
		s.say("three")
		s.run(t, func() bool { return s.waiting(1) == 1 })
		if s.near(1) != 2 {
			t.Errorf("%d are found", s.near(1))
		}
	})
	t.Run("a damaged segment costs the others nothing", func(t *testing.T) {
		s := withMessages(t, "one", "two")
		state := searchIndex(t, s.store)
		w := store.SegmentWrite{User: ada, Scope: state.Scope, Analyzer: "strata-2", Messages: 1, Data: []byte("x"), Replaces: []int64{state.Segments[0].No}}
		if _, err := s.store.PutSegment(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		s.run(t, func() bool { return s.waiting(1) == 1 })
	})
}

func TestAMessageForWhichABuiltInModelPanics(t *testing.T) {
	const bad = "a poisoned apple"
	for name, words := range map[string][]string{"among others": {"the night train to Vienna", bad, "a ferry to Naxos"}, "alone": {bad}} {
		t.Run(name, func(t *testing.T) {
			s := withModel(t, "small", []string{"small"})
			s.endpoint.panics = bad
			s.sayAtOnce(words...)
			job := parked(t, s.store)
			at := int64(slices.Index(words, bad) + 1)
			if job.Range() != (memory.SeqRange{From: at, To: at}) || job.Reason != store.ReasonAnalysis {
				t.Errorf("job %+v", job)
			}
			for _, word := range []string{"apple", "Vienna", "Naxos"} {
				if want := strings.Contains(strings.Join(words, " "), word); (found(t, s.store, word) == 1) != want {
					t.Errorf("%s is found by its words: %t, want %t", word, !want, want)
				}
			}
			if left, err := s.store.SegmentsToEmbed(t.Context(), 1, 9); err != nil || len(left) != 0 {
				t.Errorf("segments %v are tried again, error %v", left, err)
			}
			if made := len(s.endpoint.made); made != len(words)-1 {
				t.Errorf("%d messages have a vector", made)
			}
			messages, err := s.store.Messages(t.Context(), store.MessageQuery{Ref: ada.Session("s"), After: at - 1, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			message := memory.PlacedMessage{Place: memory.Place{Session: job.Session, Seq: at}, Message: messages[0]}
			if err := s.indexer.Retry(t.Context(), ada, message); !safegroup.IsPanic(err) {
				t.Errorf("a retry while it panics returned %v", err)
			}
			s.endpoint.panics = ""
			if err := s.indexer.Retry(t.Context(), ada, message); err != nil {
				t.Fatal(err)
			}
			if _, err := s.indexer.Index(t.Context(), ada); err != nil || s.endpoint.made[bad] == 0 {
				t.Errorf("the mended model was not asked, error %v", err)
			}
		})
	}
}

// messageOf returns the message that a job is about, with its place.
func (s said) messageOf(job memory.Job) memory.PlacedMessage {
	s.Helper()
	messages, err := s.store.Messages(s.Context(), store.MessageQuery{Ref: ada.Session("s"), After: job.From - 1, Limit: 1})
	if err != nil {
		s.Fatal(err)
	}
	return memory.PlacedMessage{Place: memory.Place{Session: job.Session, Seq: job.From}, Message: messages[0]}
}

func TestAMessageForWhichAnEndpointsClientPanics(t *testing.T) {
	const bad = "a poisoned apple"
	for name, words := range map[string][]string{"among others": {"the night train to Vienna", bad, "a ferry to Naxos"}, "alone": {bad}} {
		t.Run(name, func(t *testing.T) {
			s := withModel(t, "small", nil)
			s.endpoint.breakFor(bad)
			s.sayAtOnce(words...)
			s.run(t, func() bool { return s.waiting(1) == 0 })
			job := parked(t, s.store)
			at := int64(slices.Index(words, bad) + 1)
			if job.Kind != memory.JobIndex || job.Range() != (memory.SeqRange{From: at, To: at}) || job.Reason != store.ReasonAnalysis {
				t.Errorf("job %+v", job)
			}
			if s.near(1) != len(words)-1 || found(t, s.store, "apple") != 1 {
				t.Errorf("%d messages have a vector, the one without is found by its words %d times", s.near(1), found(t, s.store, "apple"))
			}
			message := s.messageOf(job)
			if err := s.indexer.Retry(t.Context(), ada, message); !safegroup.IsPanic(err) {
				t.Errorf("a retry while it panics returned %v", err)
			}
			s.endpoint.breakFor("")
			if err := s.indexer.Retry(t.Context(), ada, message); err != nil {
				t.Fatal(err)
			}
			if s.near(1) != len(words) || s.waiting(1) != 0 {
				t.Errorf("%d messages have a vector, %d wait", s.near(1), s.waiting(1))
			}
			for _, w := range words {
				if n := s.endpoint.times(w); n != 1 {
					t.Errorf("%q was embedded %d times", w, n)
				}
			}
		})
	}
	t.Run("is parked once, however often its vector is made anew", func(t *testing.T) {
		s := withModel(t, "small", nil)
		s.endpoint.breakFor(bad)
		s.sayAtOnce("one", bad)
		s.run(t, func() bool { return s.waiting(1) == 0 })
		if _, err := s.Reembed(t.Context(), "large", 0); err != nil {
			t.Fatal(err)
		}
		s.run(t, func() bool { return s.waiting(2) == 0 })
		if job := parked(t, s.store); job.Attempts != 2 {
			t.Errorf("job %+v", job)
		}
	})
	t.Run("waits where the client panics for every text", func(t *testing.T) {
		s := withModel(t, "small", nil)
		s.endpoint.breakFor("*")
		s.sayAtOnce("one", "two")
		s.run(t, func() bool { return s.endpoint.panicked() > 4 })
		if jobs := parkedJobs(t, s.store); len(jobs) != 0 || s.waiting(1) != 2 {
			t.Errorf("parked %v, %d wait", jobs, s.waiting(1))
		}
		s.endpoint.breakFor("")
		s.run(t, func() bool { return s.waiting(1) == 0 })
		if s.near(1) != 2 {
			t.Errorf("%d messages have a vector", s.near(1))
		}
	})
	t.Run("is given its vector where segments were merged and made anew", func(t *testing.T) {
		s := withModel(t, "small", nil)
		s.endpoint.breakFor(bad)
		s.sayAtOnce("one", bad)
		s.run(t, func() bool { return s.waiting(1) == 0 })
		message := s.messageOf(parked(t, s.store))
		s.endpoint.breakFor("")
		s.say("two", "three", "four", "five", "six", "seven", "eight", "nine")
		s.run(t, func() bool { return s.waiting(1) == 0 })
		if err := s.indexer.Retry(t.Context(), ada, message); err != nil {
			t.Fatal(err)
		}
		if s.near(1) != 10 || s.waiting(1) != 0 {
			t.Errorf("%d messages have a vector, %d wait", s.near(1), s.waiting(1))
		}
	})
}
