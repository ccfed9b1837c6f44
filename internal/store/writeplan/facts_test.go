package writeplan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

func changed(id string, revision int64, words string) store.FactChange {
	return store.FactChange{Fact: memory.Fact{ID: id, Revision: revision, Text: words}, Cause: memory.CauseExtracted}
}

// summary shows what was decided in one line.
func summary(f writeplan.Facts) string {
	var parts []string
	for _, r := range f.Revisions {
		parts = append(parts, fmt.Sprintf("%s@%d=%s", r.Fact.ID, r.Fact.Revision, r.Fact.Text))
	}
	for _, c := range f.Changed {
		parts = append(parts, fmt.Sprintf("%s new %t reworded %t", f.Revisions[c.Revision].Fact.ID, c.New, c.Reworded))
	}
	for _, g := range f.Forgotten {
		parts = append(parts, "forgotten "+g.FactID)
	}
	for _, id := range f.DropEarlier {
		parts = append(parts, "purged "+id)
	}
	return strings.Join(parts, ", ")
}

func TestApply(t *testing.T) {
	stored := map[string]writeplan.StoredFact{"a": {Revision: 2, Text: "old", LastUsed: noon}, "b": {Revision: 1, Text: "same"}}
	for _, c := range []struct {
		promise, want string
		w             store.FactWrite
	}{
		{
			"a change is a revision, and knows whether the fact is new and its text another one",
			"a@3=new, b@2=same, c@1=x, a new false reworded true, b new false reworded false, c new true reworded true",
			store.FactWrite{Changes: []store.FactChange{changed("a", 3, "new"), changed("b", 2, "same"), changed("c", 1, "x")}},
		},
		{
			"a fact may change several times, and is reworded by what is left at the end",
			"a@3=new, a@4=old, a new false reworded false",
			store.FactWrite{Changes: []store.FactChange{changed("a", 3, "new"), changed("a", 4, "old")}},
		},
		{
			"of a fact that is changed and forgotten no revision is left",
			"b@2=same, b new false reworded false, forgotten a, forgotten c",
			store.FactWrite{
				Changes: []store.FactChange{changed("a", 3, "new"), changed("b", 2, "same"), changed("c", 1, "x")},
				Forget:  []store.ForgetFact{{FactID: "a"}, {FactID: "c"}},
			},
		},
		{
			"of a fact that is purged the last revision is left",
			"b@2=same, a@4=newer, b new false reworded false, a new false reworded true, purged a",
			store.FactWrite{
				Changes: []store.FactChange{changed("a", 3, "new"), changed("b", 2, "same"), changed("a", 4, "newer")}, DropEarlier: []string{"a", "a"},
			},
		},
		{
			"a fact that does not change is not purged",
			"b@2=same, b new false reworded false",
			store.FactWrite{Changes: []store.FactChange{changed("b", 2, "same")}, DropEarlier: []string{"a"}},
		},
	} {
		t.Run(c.promise, func(t *testing.T) {
			got, err := writeplan.Apply(c.w, "key", 7, stored)
			if err != nil || summary(got) != c.want {
				t.Errorf("decided: %s, %v\nwant:    %s", summary(got), err, c.want)
			}
			for _, r := range got.Revisions {
				if r.Fact.Change != 7 {
					t.Errorf("a revision is of change %d, want 7", r.Fact.Change)
				}
			}
		})
	}
	t.Run("a change of another revision than the stored one is refused", func(t *testing.T) {
		for _, ch := range []store.FactChange{changed("a", 2, "x"), changed("a", 4, "x"), changed("new", 2, "x")} {
			_, err := writeplan.Apply(store.FactWrite{Changes: []store.FactChange{ch}}, "key", 7, stored)
			wantReason(t, err, memory.ReasonContention)
		}
	})
	t.Run("when a fact was last used never moves back", func(t *testing.T) {
		earlier, later := changed("a", 3, "old"), changed("a", 3, "old")
		earlier.Fact.LastUsedTime, later.Fact.LastUsedTime = noon.Add(-time.Hour), noon.Add(time.Hour)
		for ch, want := range map[*store.FactChange]time.Time{&earlier: noon, &later: noon.Add(time.Hour)} {
			got, err := writeplan.Apply(store.FactWrite{Changes: []store.FactChange{*ch}}, "key", 7, stored)
			if err != nil || !got.Revisions[0].Fact.LastUsedTime.Equal(want) {
				t.Errorf("it was last used at %v, %v, want %v", got.Revisions[0].Fact.LastUsedTime, err, want)
			}
		}
	})
	t.Run("a fact that is not there, or was forgotten by the same write, cannot be forgotten", func(t *testing.T) {
		for _, forget := range [][]store.ForgetFact{{{FactID: "none"}}, {{FactID: "a"}, {FactID: "a"}}} {
			_, err := writeplan.Apply(store.FactWrite{Forget: forget}, "key", 7, stored)
			wantReason(t, err, memory.ReasonFactNotFound)
		}
	})
	t.Run("a forgotten fact leaves the keyed hashes of its keys, and its time unless a job is taken back", func(t *testing.T) {
		key := memory.IDDigest("k")
		w := store.FactWrite{Forget: []store.ForgetFact{{FactID: "a", Keys: []memory.Digest{key, key}}, {FactID: "b"}}, Time: noon}
		got, err := writeplan.Apply(w, "key", 7, stored)
		want := []writeplan.Forgotten{
			{FactID: "a", Keys: []memory.KeyedHash{memory.HashKey("key").Keyed(key)}, Time: noon},
			{FactID: "b", Keys: []memory.KeyedHash{{}}, Time: noon},
		}
		if err != nil || fmt.Sprint(got.Forgotten) != fmt.Sprint(want) {
			t.Errorf("forgotten are %v, %v, want %v", got.Forgotten, err, want)
		}
		w.Reverts = "job"
		if got, err := writeplan.Apply(w, "key", 7, stored); err != nil || !got.Forgotten[0].Time.IsZero() {
			t.Errorf("taken back: %+v, %v, want no time", got.Forgotten, err)
		}
	})
	t.Run("a refused operation is kept up to MaxOperation bytes", func(t *testing.T) {
		w := store.FactWrite{Quarantined: []memory.Quarantined{{ID: "q", Operation: strings.Repeat("x", 2*writeplan.MaxOperation)}}}
		got, err := writeplan.Apply(w, "key", 7, nil)
		if err != nil || len(got.Quarantined[0].Operation) > writeplan.MaxOperation || got.Quarantined[0].ID != "q" {
			t.Errorf("kept: %d operations, %v", len(got.Quarantined), err)
		}
		if len(w.Quarantined[0].Operation) != 2*writeplan.MaxOperation {
			t.Error("the caller's operation was changed")
		}
	})
	t.Run("the facts of a write are named once", func(t *testing.T) {
		w := store.FactWrite{Changes: []store.FactChange{changed("b", 2, ""), changed("a", 3, ""), changed("b", 3, "")}, Forget: []store.ForgetFact{{FactID: "a"}}}
		if got := writeplan.FactsOf(w); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("they are %v", got)
		}
	})
}

func TestJobOfAWrite(t *testing.T) {
	applied := memory.Job{JobKey: memory.JobKey{Kind: memory.JobExtract}, State: memory.JobApplied}
	for _, c := range []struct {
		promise string
		w       store.FactWrite
		job     memory.Job
		done    bool
		reason  memory.Reason
	}{
		{"an open job is applied", store.FactWrite{JobID: "j"}, memory.Job{State: memory.JobOpen}, false, ""},
		{"a parked job is applied", store.FactWrite{JobID: "j"}, memory.Job{State: memory.JobParked}, false, ""},
		{"a final job is not applied again", store.FactWrite{JobID: "j"}, applied, true, ""},
		{"an applied job is taken back", store.FactWrite{Reverts: "j"}, applied, false, ""},
		{"a job is taken back once", store.FactWrite{Reverts: "j"}, memory.Job{State: memory.JobReverted}, true, ""},
		{"an open job is not taken back", store.FactWrite{Reverts: "j"}, memory.Job{State: memory.JobOpen}, false, memory.ReasonJobNotRevertible},
	} {
		t.Run(c.promise, func(t *testing.T) {
			done, err := writeplan.IsDone(c.w, c.job)
			wantReason(t, err, c.reason)
			if done != c.done || writeplan.JobOf(c.w) != "j" {
				t.Errorf("done is %t, want %t", done, c.done)
			}
			if done || err != nil {
				return
			}
			after, err := writeplan.FinishedJob(c.w, c.job)
			if done, _ := writeplan.IsDone(c.w, after); err != nil || !done {
				t.Errorf("after the write the job is %v, %v: not done", after.State, err)
			}
		})
	}
	t.Run("only a person's first write creates a user, and any other is for one life", func(t *testing.T) {
		for _, c := range []struct {
			w       store.FactWrite
			creates bool
			reason  memory.Reason
		}{
			{store.FactWrite{}, true, ""},
			{store.FactWrite{JobID: "j"}, false, memory.ReasonUserNotFound},
			{store.FactWrite{Scope: "other"}, false, memory.ReasonUserNotFound},
			{store.FactWrite{Scope: "life"}, false, ""},
		} {
			if got := writeplan.CreatesUser(c.w); got != c.creates {
				t.Errorf("%+v creates a user: %t", c.w, got)
			}
			wantReason(t, writeplan.CheckScope(c.w, "life"), c.reason)
		}
	})
}
