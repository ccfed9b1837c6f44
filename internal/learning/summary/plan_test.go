package summary

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// unitsFrom are messages of 20 tokens, each a turn of its own, of user and assistant in turn.
func unitsFrom(from, to int64) []PlanMessage {
	var out []PlanMessage
	for seq := from; seq <= to; seq++ {
		role := memory.RoleUser
		if seq%2 == 0 {
			role = memory.RoleAssistant
		}
		out = append(out, PlanMessage{Seq: seq, TurnNo: seq, Role: role, Tokens: 20})
	}
	return out
}

func ranges(pairs ...int64) []memory.SeqRange {
	var out []memory.SeqRange
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, memory.SeqRange{From: pairs[i], To: pairs[i+1]})
	}
	return out
}

// standardPolicy is that of the default profile: a summary at more than ten messages, which leaves the last five raw.
func standardPolicy() Policy {
	return Policy{
		Form: FormTree, TriggerMessages: 11, Idle: 5 * time.Minute, KeepMessages: 5,
		Merge: 4, MaxTokens: 500, ChunkTokens: 6000,
	}
}

func TestMakePlan(t *testing.T) {
	tools := unitsFrom(1, 12)
	tools[5].Calls, tools[6].Results, tools[8].Results = []string{"a", "b"}, []string{"b"}, []string{"a"}
	tools[6].Role, tools[7].Role, tools[8].Role = memory.RoleTool, memory.RoleTool, memory.RoleTool
	oneTurn := unitsFrom(1, 12)
	for i := 3; i < 9; i++ {
		oneTurn[i].TurnNo = 4
	}
	waiting := unitsFrom(1, 12)
	waiting[11].Calls = []string{"a"}
	givenUp := append(slices.Clone(waiting), PlanMessage{Seq: 13, TurnNo: 13, Role: memory.RoleUser, Tokens: 20})
	long := unitsFrom(1, 12)
	long[1].Tokens = 9000

	standard := standardPolicy()
	tokens := Policy{TriggerTokens: 200, KeepTokens: 60}
	window := Policy{TriggerFraction: 0.5, Window: 400, KeepFraction: 0.1, KeepMessages: 1}
	both := Policy{TriggerMessages: 5, TriggerTokens: 1 << 40, KeepMessages: 1, KeepTokens: 50}
	chunked := Policy{TriggerMessages: 11, KeepMessages: 5, ChunkTokens: 100}
	idle := noon.Add(5 * time.Minute)
	for _, c := range []struct {
		name   string
		policy Policy
		units  []PlanMessage
		idle   time.Duration
		want   Plan
	}{
		{"ten messages are not due before the session is idle", standard, unitsFrom(1, 10), 0, Plan{Next: idle}},
		{"at eleven, all but the last five are due", standard, unitsFrom(1, 11), 0, Plan{Ranges: ranges(1, 6), Next: idle}},
		{"an idle session is summarised whole", standard, unitsFrom(1, 10), 5 * time.Minute, Plan{Ranges: ranges(1, 10)}},
		{"what a trigger keeps is a range of its own once idle", standard, unitsFrom(1, 11), 5 * time.Minute, Plan{Ranges: ranges(1, 6, 7, 11)}},
		{"nothing is never due", standard, nil, time.Hour, Plan{}},
		{"tokens trigger and keep", tokens, unitsFrom(1, 10), 0, Plan{Ranges: ranges(1, 7)}},
		{"one token less does not trigger", tokens, unitsFrom(1, 9), 0, Plan{}},
		{"a fraction of the window triggers and keeps", window, unitsFrom(1, 10), 0, Plan{Ranges: ranges(1, 8)}},
		{"any trigger is enough, and the largest keep counts", both, unitsFrom(1, 10), 0, Plan{Ranges: ranges(1, 8)}},
		{"parallel calls stay with all their results", standard, tools, 0, Plan{Ranges: ranges(1, 5), Next: idle}},
		{"a turn stays whole", standard, oneTurn, 0, Plan{Ranges: ranges(1, 3), Next: idle}},
		{"a turn that alone reaches the trigger is cut between its messages", standard, inOneTurn(unitsFrom(1, 16)), 0, Plan{Ranges: ranges(1, 11), Next: idle}},
		{"but never between a call and its results", standard, inOneTurn(tools), 0, Plan{Ranges: ranges(1, 5), Next: idle}},
		{"nor is a shorter one", standard, inOneTurn(unitsFrom(1, 10)), 0, Plan{Next: idle}},
		{"a chunk may end within a long turn", chunked, inOneTurn(unitsFrom(1, 15)), 0, Plan{Ranges: ranges(1, 5, 6, 10)}},
		{"a call that waits for its results is not summarised", standard, waiting, time.Hour, Plan{Ranges: ranges(1, 7, 8, 11)}},
		{"unless a user went on without them", standard, givenUp, time.Hour, Plan{Ranges: ranges(1, 8, 9, 13)}},
		{"a message larger than a chunk is a chunk of its own", standard, long, 0, Plan{Ranges: ranges(1, 1, 2, 2, 3, 7), Next: idle}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := MakePlan(c.policy, Backlog{Messages: c.units, Said: noon, Recorded: noon, Now: noon.Add(c.idle)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// inOneTurn are the units as one Record stored them.
func inOneTurn(units []PlanMessage) []PlanMessage {
	out := slices.Clone(units)
	for i := range out {
		out[i].TurnNo = 1
	}
	return out
}

func TestIdlenessCountsFromWhatWasSaid(t *testing.T) {
	p := standardPolicy()
	for _, c := range []struct {
		name     string
		said     time.Time
		recorded time.Time
		want     time.Time // when the session is idle
	}{
		{"in a conversation, five minutes after its last message", noon, noon.Add(time.Second), noon.Add(5 * time.Minute)},
		{"of an import, half a minute after the last Record", noon.AddDate(0, 0, -20), noon, noon.Add(30 * time.Second)},
		{"of messages of some minutes ago, when those are over", noon.Add(-3 * time.Minute), noon, noon.Add(2 * time.Minute)},
		{"a sender's clock that is ahead puts nothing off", noon.Add(time.Hour), noon, noon.Add(5 * time.Minute)},
		{"without a time of its own, from the Record", time.Time{}, noon, noon.Add(5 * time.Minute)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Backlog{Messages: unitsFrom(1, 4), Said: c.said, Recorded: c.recorded, Now: c.want.Add(-time.Second)}
			if plan := MakePlan(p, b); len(plan.Ranges) > 0 || !plan.Next.Equal(c.want) {
				t.Errorf("before: %+v, want next %s", plan, c.want)
			}
			b.Now = c.want
			if plan := MakePlan(p, b); len(plan.Ranges) != 1 {
				t.Errorf("then: %+v", plan)
			}
		})
	}
	t.Run("where idleness is shorter than the pause of an import, that counts", func(t *testing.T) {
		p := Policy{Idle: 10 * time.Second}
		if plan := MakePlan(p, Backlog{Messages: unitsFrom(1, 4), Said: noon.AddDate(0, 0, -1), Recorded: noon, Now: noon.Add(10 * time.Second)}); len(plan.Ranges) != 1 {
			t.Errorf("%+v", plan)
		}
	})
}

func TestPlansLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := drawUnits(t, 60)
		p := drawPolicy(t)
		plan := MakePlan(p, Backlog{Messages: units, Said: noon, Recorded: noon, Now: noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "idle")) * time.Minute)})
		checkRanges(t, p, units, plan.Ranges)
		all := PlanAll(p, units)
		checkRanges(t, p, units, all)
		if end, last := answered(units, p.groupEnds(units)), len(all); end > 0 && all[last-1].To != units[end-1].Seq {
			t.Fatalf("%v does not reach %d", all, units[end-1].Seq)
		}
	})
}

func drawPolicy(t *rapid.T) Policy {
	n := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	return Policy{
		TriggerMessages: n("trigger", 15), TriggerTokens: int64(n("trigger tokens", 500)), KeepMessages: n("keep", 8),
		KeepTokens: int64(n("keep tokens", 200)), Idle: time.Duration(n("idle after", 2)) * time.Minute,
		Merge: 2 + n("merge", 3), ChunkTokens: int64(n("chunk", 300)),
	}
}

// drawUnits makes turns of one to four messages, some with calls that are answered at once, later, or never.
func drawUnits(t *rapid.T, most int) []PlanMessage {
	count := rapid.IntRange(0, most).Draw(t, "messages")
	var out []PlanMessage
	var open []string
	turn := int64(1)
	for i := range count {
		u := PlanMessage{Seq: int64(i + 1), TurnNo: turn, Role: memory.RoleUser, Tokens: int64(rapid.IntRange(1, 80).Draw(t, "tokens"))}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			u.Role = memory.RoleAssistant
		case 2:
			u.Role = memory.RoleAssistant
			u.Calls = []string{fmt.Sprint("call", i), fmt.Sprint("other", i)}
			open = append(open, u.Calls...)
		case 3, 4:
			if len(open) > 0 {
				u.Role, u.Results, open = memory.RoleTool, open[:1], open[1:]
			}
		}
		out = append(out, u)
		if rapid.IntRange(0, 3).Draw(t, "next turn") > 0 {
			turn++
		}
	}
	return out
}

// checkRanges checks that ranges start at the first unit, leave no hole, cut nothing apart and fit.
func checkRanges(t *rapid.T, p Policy, units []PlanMessage, got []memory.SeqRange) {
	next := int64(1)
	for _, r := range got {
		if r.From != next || r.To < r.From {
			t.Fatalf("%v leave a hole before %v", got, r)
		}
		next = r.To + 1
		checkCut(t, p, units, r.To)
		part := units[r.From-1 : r.To]
		if size := tokensOf(part); p.ChunkTokens > 0 && size > p.ChunkTokens && slices.Contains(p.groupEnds(units)[r.From-1:r.To-1], true) {
			t.Fatalf("%v has %d tokens and could be cut", r, size)
		}
	}
}

func checkCut(t *rapid.T, p Policy, units []PlanMessage, at int64) {
	calls := map[string]bool{}
	for _, u := range units[:at] {
		for _, id := range u.Calls {
			calls[id] = true
		}
	}
	turn := slices.DeleteFunc(slices.Clone(units), func(u PlanMessage) bool { return u.TurnNo != units[at-1].TurnNo })
	for _, u := range units[at:] {
		if u.TurnNo == units[at-1].TurnNo && !p.triggered(turn) {
			t.Fatalf("the cut after %d splits a turn", at)
		}
		for _, id := range u.Results {
			if calls[id] {
				t.Fatalf("the cut after %d separates call %s from its result", at, id)
			}
		}
	}
}

// session plays a session through its plans and merges, as the runner does, and counts the calls.
type session struct {
	policy         Policy
	units          []PlanMessage
	nodes          []memory.SummaryNode
	leaves, merges int
}

func (s *session) covered() int64 {
	var end int64
	for _, n := range s.nodes {
		end = max(end, n.Range.To)
	}
	return end
}

func (s *session) step(idle time.Duration) {
	plan := MakePlan(s.policy, Backlog{Messages: s.units[s.covered():], Said: noon, Recorded: noon, Now: noon.Add(idle)})
	for _, r := range plan.Ranges {
		s.leaves++
		s.add(memory.SummaryNode{Range: r, Cumulative: s.policy.Form == FormRecursive})
	}
	for s.policy.Form == FormTree {
		children := PlanMerge(s.nodes, s.policy.Merge)
		if children == nil {
			return
		}
		s.merges++
		s.add(memory.SummaryNode{Level: children[0].Level + 1, Range: memory.SeqRange{From: children[0].Range.From, To: children[len(children)-1].Range.To}})
	}
}

func (s *session) add(n memory.SummaryNode) {
	n.ID, n.Kind, n.Generation = fmt.Sprintf("n%04d", len(s.nodes)), memory.SummarySession, 1
	s.nodes = append(s.nodes, n)
}

func TestCallsForAHundredMessages(t *testing.T) {
	t.Run("one by one at the defaults: at most 16 leaves, idle flush included, and 5 merges", func(t *testing.T) {
		s := session{policy: standardPolicy()}
		for _, u := range unitsFrom(1, 100) {
			s.units = append(s.units, u)
			s.step(0)
		}
		s.step(5 * time.Minute)
		if s.covered() != 100 || s.leaves > 16 || s.merges > 5 {
			t.Errorf("%d leaves and %d merges cover %d messages", s.leaves, s.merges, s.covered())
		}
		t.Logf("%d leaves, %d merges", s.leaves, s.merges)
	})
	t.Run("as one burst of small messages: at most 15 in all", func(t *testing.T) {
		s := session{policy: standardPolicy(), units: unitsFrom(1, 100)}
		s.step(0)
		s.step(5 * time.Minute)
		if s.covered() != 100 || s.leaves+s.merges > 15 {
			t.Errorf("%d leaves and %d merges cover %d messages", s.leaves, s.merges, s.covered())
		}
		t.Logf("%d leaves, %d merges", s.leaves, s.merges)
	})
}
