package retention

import (
	"reflect"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func ago(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }

const day = 24 * time.Hour

func TestSessions(t *testing.T) {
	for promise, c := range map[string]struct {
		p    contextprofile.Retention
		s    memory.Session
		want bool
	}{
		"is due when nobody spoke for longer":              {contextprofile.Retention{Sessions: 30 * day}, memory.Session{LastMessageTime: ago(31), UpdateTime: ago(1)}, true},
		"stays while somebody spoke":                       {contextprofile.Retention{Sessions: 30 * day}, memory.Session{LastMessageTime: ago(29), UpdateTime: ago(99)}, false},
		"counts from its last change without a message":    {contextprofile.Retention{Sessions: 30 * day}, memory.Session{UpdateTime: ago(31)}, true},
		"stays for ever where no age is set":               {contextprofile.Retention{}, memory.Session{LastMessageTime: ago(9999)}, false},
		"stays at the instant at which the age is reached": {contextprofile.Retention{Sessions: 30 * day}, memory.Session{LastMessageTime: ago(30)}, false},
	} {
		t.Run(promise, func(t *testing.T) {
			if got := isSessionDue(c.p, c.s, now); got != c.want {
				t.Errorf("due: %v", got)
			}
		})
	}
}

// messages are of the given ages in days, by seq from 1; a negative age is one of a pinned message, 0 of a deleted one.
func messages(ages ...int) []memory.Message {
	var all []memory.Message
	for i, age := range ages {
		m := memory.Message{Seq: int64(i + 1), CreateTime: ago(max(age, -age)), RecordTime: ago(0), Pinned: age < 0, Deleted: age == 0}
		all = append(all, m)
	}
	return all
}

func TestMessages(t *testing.T) {
	p := contextprofile.Retention{Messages: 10 * day}
	for promise, c := range map[string]struct {
		ages []int
		want []memory.SeqRange
		end  bool
	}{
		"the oldest go, up to the first that is not too old": {[]int{20, 15, 9, 30}, []memory.SeqRange{{From: 1, To: 2}}, true},
		"pinned and deleted ones are passed over":            {[]int{0, 20, -20, 15, 1}, []memory.SeqRange{{From: 2, To: 2}, {From: 4, To: 4}}, true},
		"all go where all are too old":                       {[]int{20, 19}, []memory.SeqRange{{From: 1, To: 2}}, false},
	} {
		t.Run(promise, func(t *testing.T) {
			got, end := oldMessages(p, messages(c.ages...), now)
			if !reflect.DeepEqual(got, c.want) || end != c.end {
				t.Errorf("got %v, end %v; want %v, end %v", got, end, c.want, c.end)
			}
		})
	}
	t.Run("of too many the first go", func(t *testing.T) {
		got, taken := firstMessages(messages(0, 5, -5, 5, 5), 2)
		if want := []memory.SeqRange{{From: 2, To: 2}, {From: 4, To: 4}}; !reflect.DeepEqual(got, want) || taken != 2 {
			t.Errorf("got %v, taken %d", got, taken)
		}
	})
}

// fact is one that was made, and last changed, that many days ago.
func fact(id string, age, significance int, change func(*memory.Fact)) memory.Fact {
	f := memory.Fact{ID: id, CreateTime: ago(age), UpdateTime: ago(age), Significance: significance, Category: memory.CategoryGoal}
	if change != nil {
		change(&f)
	}
	return f
}

func TestFacts(t *testing.T) {
	pinned := func(f *memory.Fact) { f.Pinned = true }
	edited := func(f *memory.Fact) { f.Protected = true }
	used := func(f *memory.Fact) { f.LastUsedTime = ago(1) }
	past := func(f *memory.Fact) { f.ValidTo = ago(1) }
	again := func(f *memory.Fact) { f.Evidence = []memory.Evidence{{Time: ago(2)}} }
	preference := func(f *memory.Fact) { f.Category = memory.CategoryPreference }
	for promise, c := range map[string]struct {
		p     contextprofile.Retention
		facts []memory.Fact
		want  []dueFact
	}{
		"one that was stated too long ago is due": {
			contextprofile.Retention{Facts: 10 * day},
			[]memory.Fact{fact("old", 11, 9, nil), fact("new", 9, 1, nil), fact("again", 30, 1, again)},
			[]dueFact{{"old", RuleFactAge}},
		},
		"a category has an age of its own": {
			contextprofile.Retention{Facts: 10 * day, Categories: contextprofile.CategoriesRetention{Preference: 100 * day}},
			[]memory.Fact{fact("goal", 11, 5, nil), fact("liking", 11, 5, preference)},
			[]dueFact{{"goal", RuleFactAge}},
		},
		"one of little significance that nobody used is due": {
			contextprofile.Retention{Unused: 10 * day, UnusedSignificance: 3},
			[]memory.Fact{fact("small", 20, 3, nil), fact("large", 20, 4, nil), fact("used", 20, 1, used), fact("edited", 20, 1, edited)},
			[]dueFact{{"small", RuleUnused}},
		},
		"of too many those go first that hold no more, then the least significant, then the oldest": {
			contextprofile.Retention{MaxFacts: 2},
			[]memory.Fact{fact("a", 1, 5, nil), fact("b", 2, 5, nil), fact("c", 1, 4, nil), fact("d", 1, 9, past), fact("e", 9, 9, nil)},
			[]dueFact{{"d", RuleMaxFacts}, {"c", RuleMaxFacts}, {"b", RuleMaxFacts}},
		},
		"of too many those stay that a person wrote": {
			contextprofile.Retention{MaxFacts: 1}, []memory.Fact{fact("a", 1, 1, edited), fact("b", 2, 1, edited)}, nil,
		},
		"pinned ones stay, whatever the rules say": {
			contextprofile.Retention{Facts: day, Unused: day, UnusedSignificance: 10, MaxFacts: 1},
			[]memory.Fact{fact("a", 100, 1, pinned), fact("b", 100, 1, pinned)},
			nil,
		},
		"all stay where nothing is set": {contextprofile.Retention{UnusedSignificance: 3}, []memory.Fact{fact("a", 9999, 1, nil)}, nil},
	} {
		t.Run(promise, func(t *testing.T) {
			if got := dueFacts(c.p, c.facts, now); !reflect.DeepEqual(got, c.want) {
				t.Errorf("due: %v, want %v", got, c.want)
			}
		})
	}
}
