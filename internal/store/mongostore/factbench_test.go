package mongostore_test

import (
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

// BenchmarkFacts measures a user with 1,000 facts: the read of every context when nothing changed, and a write of one.
func BenchmarkFacts(b *testing.B) {
	s := open(b, database(b))
	w := store.FactWrite{User: learner, Time: morning}
	for i := range 1000 {
		w.Changes = append(w.Changes, learntFact(fmt.Sprint(i)))
	}
	applied(b, s, w)
	state := factsOf(b, s)
	b.Run("FactsSince/unchanged", func(b *testing.B) {
		for b.Loop() {
			_, err := s.FactsSince(b.Context(), learner, state.Revision)
			must(b, err)
		}
	})
	b.Run("FactsSince/all", func(b *testing.B) {
		for b.Loop() {
			factsOf(b, s)
		}
	})
	b.Run("ApplyFacts/1", func(b *testing.B) {
		w := store.FactWrite{User: learner, Scope: state.Scope, Time: morning}
		for b.Loop() {
			now, err := s.FactsSince(b.Context(), learner, 1<<40)
			must(b, err)
			w.Base, w.Changes = now.Revision, []store.FactChange{learntFact(fmt.Sprint("more", now.Revision))}
			applied(b, s, w)
		}
	})
}

// BenchmarkSummaries measures a user with four sessions of 64 leaves each under a tree of eights.
func BenchmarkSummaries(b *testing.B) {
	s := open(b, database(b))
	for i := range 4 {
		growTree(b, s, learner.Session(fmt.Sprint(i)))
	}
	b.Run("TopNodes", func(b *testing.B) {
		for b.Loop() {
			nodes, err := s.TopNodes(b.Context(), learner.Session("0"), 70)
			must(b, err)
			same(b, len(nodes), 2+6)
		}
	})
	b.Run("RecentSessions/3", func(b *testing.B) {
		for b.Loop() {
			recent, err := s.RecentSessions(b.Context(), store.RecentQuery{User: learner, Exclude: "0", Limit: 3})
			must(b, err)
			same(b, []int{len(recent), len(recent[2].Nodes)}, []int{3, 8})
		}
	})
}

// growTree stores 70 leaves of one message, 8 nodes of eight of them, and one of the first four of these.
func growTree(b *testing.B, s *mongostore.Store, ref memory.SessionRef) {
	ids := make([]string, 70)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	mustAppend(b, s, say(ref, ids...))
	head := mustSession(b, s, ref)
	put := func(level int, from, to int64) {
		p := jobFrom(head, from, to)
		if level > 0 {
			p.Kind, p.Level = memory.JobMerge, level
		}
		job := mustOpen(b, s, p)
		must(b, s.PutNode(b.Context(), store.NodeWrite{
			User: ref.UserRef, Scope: head.ScopeKey, JobID: job.ID(), Time: morning,
			Node: memory.SummaryNode{
				ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: head.Key, Level: level, Generation: 1,
				Range: memory.SeqRange{From: from, To: to}, Text: "words", FromTime: morning, ToTime: morning, CreateTime: morning,
			},
		}))
	}
	for i := range int64(70) {
		put(0, i+1, i+1)
	}
	for i := range int64(8) {
		put(1, 8*i+1, 8*i+8)
	}
	put(2, 1, 56)
}

// BenchmarkSessionWork measures the first read of every context.
func BenchmarkSessionWork(b *testing.B) {
	s := open(b, database(b))
	ref := learner.Session("0")
	growTree(b, s, ref)
	for b.Loop() {
		_, err := s.SessionWork(b.Context(), ref)
		must(b, err)
	}
}
