package extract_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// stated is a job with one proposal, said at that minute.
func stated(minute int, text, attribute string) job {
	at := noon.Add(time.Duration(minute) * time.Minute)
	return job{id: fmt.Sprintf("%s@%d", text, minute), proposals: []extract.Proposal{{Fact: memory.Fact{
		Text: text, Attribute: attribute, Category: memory.CategoryPreference, Significance: 5, ValidFrom: at,
		Evidence: []memory.Evidence{{Session: "s", Seq: int64(minute), Time: at, Quote: text}},
	}}}}
}

func (s job) superseding(factID string) job {
	s.proposals[0].Supersedes = factID
	return s
}

func (s job) factID() string { return memory.EffectID(s.id, 0) }

func byID(t *testing.T, s extract.State, id string) memory.Fact {
	t.Helper()
	if f, ok := s.Facts.Get(id); ok {
		return f
	}
	t.Fatalf("there is no fact %s", id)
	return memory.Fact{}
}

func wantHolding(t *testing.T, s extract.State, want ...string) {
	t.Helper()
	for i := range want {
		want[i] = ": " + want[i]
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, holding(s)); diff != "" {
		t.Errorf("what holds (-want +got):\n%s", diff)
	}
}

// homeCity is a job with one proposal of a home city, said in a message.
func homeCity(seq int64, city string, create, record time.Time) job {
	m := said(memory.RoleUser, "I live in "+city+".")
	m.Seq, m.ID, m.CreateTime, m.RecordTime = seq, fmt.Sprint("m", seq), create, record
	task := extract.NewTask(extract.Input{Session: "s", SessionID: "chat", Messages: []memory.Message{m}})
	proposals, _ := extract.Verify(task, []extract.Op{{
		Op: "add", Text: "Lives in " + city + ".", Category: "personal_info", Attribute: "home_city", Message: "m1", Quote: "I live in " + city,
	}})
	return job{id: fmt.Sprint("job", seq), proposals: proposals}
}

func TestAClockThatIsAheadPinsNoFact(t *testing.T) {
	far := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	ahead := homeCity(1, "Bern", far, noon)
	for promise, next := range map[string]time.Time{
		"what is said in the next message holds":                                noon.Add(10 * time.Second),
		"and so it does when the next message is dated a little before it":      noon.Add(-10 * time.Second),
		"what the same clock says next holds":                                   far,
		"what is said long after holds":                                         noon.AddDate(1, 0, 0),
		"and so it does in whatever order the two are learnt (the clock ahead)": far,
	} {
		t.Run(promise, func(t *testing.T) {
			later := homeCity(2, "Lisbon", next, noon.Add(10*time.Second))
			wantHolding(t, applied(extract.State{}, ahead, later), "Lives in Lisbon.")
			wantHolding(t, applied(extract.State{}, later, ahead), "Lives in Lisbon.")
		})
	}
	t.Run("one that an earlier version stored with the client's time ends when another is said, at that time", func(t *testing.T) {
		old := memory.Fact{
			ID: "old", Text: "Lives in Bern.", Attribute: "home_city", Category: memory.CategoryPersonalInfo, Origin: memory.FactExtracted, Revision: 1,
			ValidFrom: far, CreateTime: noon, UpdateTime: noon, Evidence: []memory.Evidence{{Session: "before", Seq: 1, Time: far}},
		}
		at := noon.Add(time.Hour)
		after := applied(extract.State{Facts: extract.NewFacts(old)}, homeCity(1, "Lisbon", at, at))
		wantHolding(t, after, "Lives in Lisbon.")
		if f := byID(t, after, "old"); !f.ValidTo.Equal(at) {
			t.Errorf("the old one held until %v, want %v", f.ValidTo, at)
		}
	})
}

func TestDecide(t *testing.T) {
	busan, seoul := stated(1, "Lives in Busan.", "home_city"), stated(2, "Lives in Seoul.", "home_city")
	t.Run("a new fact is the job's, at the first revision", func(t *testing.T) {
		f := byID(t, applied(extract.State{}, busan), busan.factID())
		if f.Revision != 1 || f.Origin != memory.FactExtracted || f.CreateTime.IsZero() || !f.IsCurrent() {
			t.Errorf("it is %+v", f)
		}
	})
	t.Run("a newer value supersedes the older one, which is kept", func(t *testing.T) {
		s := applied(extract.State{}, busan, seoul)
		wantHolding(t, s, "Lives in Seoul.")
		if old := byID(t, s, busan.factID()); old.SupersededBy != seoul.factID() || !old.ValidTo.Equal(noon.Add(2*time.Minute)) {
			t.Errorf("the old one is %+v", old)
		}
	})
	t.Run("an older value that comes late is a past one", func(t *testing.T) {
		s := applied(extract.State{}, seoul, busan)
		wantHolding(t, s, "Lives in Seoul.")
		if old := byID(t, s, busan.factID()); old.SupersededBy != seoul.factID() {
			t.Errorf("the old one is %+v", old)
		}
	})
	t.Run("one that comes back holds anew", func(t *testing.T) {
		s := applied(extract.State{}, busan, seoul, stated(3, "Lives in Busan.", "home_city"))
		wantHolding(t, s, "Lives in Busan.")
		if s.Facts.Len() != 3 {
			t.Errorf("%d facts, want the history of three", s.Facts.Len())
		}
	})
	t.Run("of two values said in one second the later message counts", func(t *testing.T) {
		later := stated(2, "Lives in Seoul.", "home_city")
		later.proposals[0].Fact.Evidence[0].Time = noon.Add(time.Minute)
		wantHolding(t, applied(extract.State{}, later, busan), "Lives in Seoul.")
	})
	t.Run("a named fact is superseded, or what took its place", func(t *testing.T) {
		tea := stated(1, "Drinks tea at breakfast.", "")
		s := applied(extract.State{}, tea, stated(2, "Has coffee in the morning.", "").superseding(tea.factID()))
		wantHolding(t, s, "Has coffee in the morning.")
		s = applied(s, stated(3, "Skips breakfast.", "").superseding(tea.factID()))
		wantHolding(t, s, "Skips breakfast.")
	})
	t.Run("likes and does not like exclude each other", func(t *testing.T) {
		s := applied(extract.State{}, stated(1, "Likes coffee.", "likes_coffee"), stated(2, "Does not like coffee.", "likes_coffee"))
		wantHolding(t, s, "Does not like coffee.")
	})
	t.Run("different properties stand beside each other", func(t *testing.T) {
		wantHolding(t, applied(extract.State{}, stated(1, "Likes coffee.", "likes_coffee"), stated(2, "Likes tea.", "likes_tea")), "Likes coffee.", "Likes tea.")
	})
}

func TestSaidAgain(t *testing.T) {
	first := stated(1, "Prefers green tea from Boseong.", "")
	t.Run("it adds evidence and nothing else", func(t *testing.T) {
		s := applied(extract.State{}, first, stated(2, "prefers green tea, from Boseong", ""))
		f := s.Facts.All()[0]
		if s.Facts.Len() != 1 || len(f.Evidence) != 2 || f.Text != "Prefers green tea from Boseong." || f.Significance != 5 || f.Revision != 2 {
			t.Errorf("facts are %+v", s.Facts.All())
		}
	})
	t.Run("nearly the same words are the same", func(t *testing.T) {
		if s := applied(extract.State{}, first, stated(2, "Prefers the green teas from Boseong.", "")); s.Facts.Len() != 1 {
			t.Errorf("facts are %v", holding(s))
		}
	})
	t.Run("the same words in another order are another fact", func(t *testing.T) {
		s := applied(extract.State{}, stated(1, "Prefers tea to coffee.", "prefers_tea_or_coffee"), stated(2, "Prefers coffee to tea.", "prefers_tea_or_coffee"))
		wantHolding(t, s, "Prefers coffee to tea.")
	})
	t.Run("another number or a denial is another fact", func(t *testing.T) {
		s := applied(extract.State{}, stated(1, "Has 2 cats at home.", ""), stated(2, "Has 3 cats at home.", ""), stated(3, "Never has 3 cats at home.", ""))
		if s.Facts.Len() != 3 {
			t.Errorf("facts are %v", holding(s))
		}
	})
	t.Run("at most eight places are kept, the first and the latest", func(t *testing.T) {
		var s extract.State
		for minute := range 20 {
			s = applied(s, stated(minute+1, "Likes tea.", ""))
		}
		var seqs []int64
		for _, e := range s.Facts.All()[0].Evidence {
			seqs = append(seqs, e.Seq)
		}
		if diff := cmp.Diff([]int64{1, 14, 15, 16, 17, 18, 19, 20}, seqs); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAPersonsWordCounts(t *testing.T) {
	byHand := memory.Fact{ID: "by-hand", Text: "Lives in Daegu.", Attribute: "home_city", UpdateTime: noon}
	t.Run("what a person writes supersedes what was learnt, and is protected", func(t *testing.T) {
		s := applied(extract.State{}, stated(1, "Lives in Busan.", "home_city"))
		s = after(s, extract.Insert(s, byHand))
		wantHolding(t, s, "Lives in Daegu.")
		if f := byID(t, s, "by-hand"); !f.Protected || f.Origin != memory.FactByUser || f.Revision != 1 || !f.ValidFrom.Equal(noon) {
			t.Errorf("it is %+v", f)
		}
	})
	t.Run("what speaks against it is refused, however new", func(t *testing.T) {
		s := after(extract.State{}, extract.Insert(extract.State{}, byHand))
		d := extract.Decide(s, stated(9, "Lives in Seoul.", "home_city").proposals, extract.Source{JobID: "x", Now: noon})
		if len(d.Changes) != 0 || len(d.Rejected) != 1 || d.Rejected[0].Reason != extract.RejectProtected {
			t.Errorf("decided %+v", d)
		}
	})
	t.Run("an edit is the next revision of the same fact", func(t *testing.T) {
		s := after(extract.State{}, extract.Insert(extract.State{}, byHand))
		edit := byHand
		edit.Text = "Lives in Jeju."
		d := extract.Insert(s, edit)
		if len(d.Changes) != 1 || d.Changes[0].Cause != memory.CauseEdited || d.Changes[0].Fact.Revision != 2 {
			t.Errorf("decided %+v", d)
		}
	})
	t.Run("a forgotten fact is not learnt again", func(t *testing.T) {
		scope := memory.HashKey("scope")
		s := extract.State{HashKey: scope, Forgotten: map[memory.KeyedHash]time.Time{scope.Keyed(extract.KeyDigest("", "lives in BUSAN")): {}}}
		d := extract.Decide(s, stated(1, "Lives in Busan.", "home_city").proposals, extract.Source{JobID: "x", Now: noon})
		if len(d.Changes) != 0 || len(d.Rejected) != 1 || d.Rejected[0].Reason != extract.RejectForgotten {
			t.Errorf("decided %+v", d)
		}
	})
	t.Run("a restored fact holds again, protected, in place of what superseded it", func(t *testing.T) {
		busan, seoul := stated(1, "Lives in Busan.", "home_city"), stated(2, "Lives in Seoul.", "home_city")
		s := applied(extract.State{}, busan, seoul)
		d, superseded := extract.Restore(s, busan.factID(), memory.FactRevision{Fact: byID(t, applied(extract.State{}, busan), busan.factID())}, noon.Add(time.Hour))
		s = after(s, d)
		wantHolding(t, s, "Lives in Busan.")
		if diff := cmp.Diff([]string{seoul.factID()}, superseded); diff != "" {
			t.Errorf("superseded (-want +got):\n%s", diff)
		}
		if f := byID(t, s, busan.factID()); !f.Protected || f.Revision != 3 || f.SupersededBy != "" {
			t.Errorf("it is %+v", f)
		}
	})
	t.Run("restoring an unknown fact changes nothing", func(t *testing.T) {
		if d, ids := extract.Restore(extract.State{}, "x", memory.FactRevision{}, noon); len(d.Changes)+len(ids) != 0 {
			t.Errorf("decided %+v", d)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	for _, facts := range []int{10_000, 50_000} {
		s := songs(facts)
		for _, n := range []int{1, 20} {
			b.Run(fmt.Sprintf("facts=%d/proposals=%d", facts, n), func(b *testing.B) {
				var proposals []extract.Proposal
				for i := range n {
					p := stated(1, fmt.Sprintf("Likes the song number %d of the band called %d.", i*9, i*64), "").proposals[0]
					p.Index = i
					proposals = append(proposals, p)
				}
				for b.Loop() {
					extract.Decide(s, proposals, extract.Source{JobID: "x", Now: noon})
				}
			})
		}
	}
}

// BenchmarkDecideAmongTheLike decides about a fact that shares a telling word with all others.
func BenchmarkDecideAmongTheLike(b *testing.B) {
	facts := make([]memory.Fact, 50)
	for i := range facts {
		text := fmt.Sprintf("My locker at the gym has the number %d.", 1000+i)
		facts[i] = memory.Fact{
			ID: fmt.Sprint(i), Text: text, Category: memory.CategoryOther, Revision: 1, ValidFrom: noon, CreateTime: noon, UpdateTime: noon,
			Evidence: []memory.Evidence{{Session: "s", Seq: int64(i), Quote: text, Time: noon.Add(time.Duration(i) * time.Second)}},
		}
	}
	s := extract.State{Facts: extract.NewFacts(facts...)}
	proposals := stated(100, "My locker at the gym has the number 2000.", "").proposals
	for b.Loop() {
		extract.Decide(s, proposals, extract.Source{JobID: "x", Now: noon})
	}
}

// songs is a state of many facts whose words are mostly the same.
func songs(n int) extract.State {
	facts := make([]memory.Fact, n)
	for i := range facts {
		facts[i] = memory.Fact{ID: fmt.Sprint(i), Text: fmt.Sprintf("Likes the song number %d of the band called %d.", i, i*7), Category: memory.CategoryPreference, Revision: 1}
	}
	return extract.State{Facts: extract.NewFacts(facts...)}
}
