package eval

import (
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Scores are the figures of one question, or the means of several, by name. A figure that is not defined is not there.
type Scores map[string]float64

// Depths are at how many turns recall is taken.
func Depths() []int { return []int{5, 10, 20} }

// SessionDepths are at how many sessions it is asked whether all evidence is there.
func SessionDepths() []int { return []int{5, 10} }

// Budgets are the sizes of contexts, in tokens of four characters, rounded up.
func Budgets() []int64 { return []int64{500, 1000, 2000, 4000} }

// The kinds of a context's figures.
const (
	Evidence = "evidence" // turns that stand in the context
	Known    = "known"    // those, and the turns that a fact in it was learnt from
	Turns    = "turns"    // turns in a context without facts and summaries
	NoFacts  = "no_facts" // turns in a context without facts
)

// RecallAt names the share of the evidence among the first k turns.
func RecallAt(k int) string { return fmt.Sprintf("recall_%d", k) }

// The recall at ten of what users said and of what assistants said, where a dialogue has both: a search that prefers the
// one pays with the other.
const (
	RecallUser      = "recall_10_user"
	RecallAssistant = "recall_10_assistant"
)

// SessionAllAt names whether all sessions with evidence are among the first k, a session standing where its best turn does.
func SessionAllAt(k int) string { return fmt.Sprintf("session_all_%d", k) }

// In names the share of the evidence in a context of a budget.
func In(kind string, budget int64) string {
	if budget%1000 == 0 {
		return fmt.Sprintf("%s_%dk", kind, budget/1000)
	}
	return fmt.Sprintf("%s_%d", kind, budget)
}

// AllIn names whether all evidence is in a context of a budget.
func AllIn(kind string, budget int64) string { return "all_" + In(kind, budget) }

// Metrics are all names, in the order in which they are printed.
func Metrics() []string {
	var out []string
	for _, k := range Depths() {
		out = append(out, RecallAt(k))
	}
	out = append(out, RecallUser, RecallAssistant)
	for _, kind := range []string{Evidence, Known, Turns, NoFacts} {
		for _, b := range Budgets() {
			out = append(out, In(kind, b))
		}
		for _, b := range Budgets() {
			out = append(out, AllIn(kind, b))
		}
	}
	for _, k := range SessionDepths() {
		out = append(out, SessionAllAt(k))
	}
	return out
}

// Index says of each turn's ID what evidence calls it, in which session it is and who said it.
type Index map[string]Spot

// Spot is where a turn stands.
type Spot struct {
	Label, Session string
	Role           memory.Role
}

// Index makes the dialogue's.
func (d Dialogue) Index() Index {
	ix := Index{}
	for _, s := range d.Sessions {
		for _, t := range s.Turns {
			ix[t.ID] = Spot{t.Label, s.ID, t.Role}
		}
	}
	return ix
}

// Ranked adds the figures of a list of turns, best first.
func (s Scores) Ranked(q Question, ix Index, ids []string) {
	var labels, sessions []string
	for _, id := range ids {
		spot := ix[id]
		labels = append(labels, spot.Label)
		if !slices.Contains(sessions, spot.Session) {
			sessions = append(sessions, spot.Session)
		}
	}
	for _, k := range Depths() {
		s.set(RecallAt(k), q.Evidence, labels[:min(k, len(labels))])
	}
	if said := ix.evidenceBy(q); said[memory.RoleAssistant] != nil {
		first := labels[:min(10, len(labels))]
		s.set(RecallUser, said[memory.RoleUser], first)
		s.set(RecallAssistant, said[memory.RoleAssistant], first)
	}
	for _, k := range SessionDepths() {
		s[SessionAllAt(k)] = whole(share(q.Sessions, sessions[:min(k, len(sessions))]))
	}
}

// evidenceBy sorts the question's evidence by who said it. There is no assistant where none said anything in the dialogue.
func (ix Index) evidenceBy(q Question) map[memory.Role][]string {
	said := map[memory.Role][]string{}
	for _, spot := range ix {
		if said[spot.Role] == nil {
			said[spot.Role] = []string{}
		}
		if slices.Contains(q.Evidence, spot.Label) && !slices.Contains(said[spot.Role], spot.Label) {
			said[spot.Role] = append(said[spot.Role], spot.Label)
		}
	}
	return said
}

// Rendered adds the figures of the turns in a context of a budget, of one of the kinds.
func (s Scores) Rendered(q Question, ix Index, kind string, budget int64, ids []string) {
	var labels []string
	for _, id := range ids {
		labels = append(labels, ix[id].Label)
	}
	s.set(In(kind, budget), q.Evidence, labels)
	if v, ok := s[In(kind, budget)]; ok {
		s[AllIn(kind, budget)] = whole(v)
	}
}

// set adds the share of the evidence, where there is any.
func (s Scores) set(name string, evidence, found []string) {
	if len(evidence) > 0 {
		s[name] = share(evidence, found)
	}
}

func share(wanted, found []string) float64 {
	hits := 0
	for _, w := range wanted {
		if slices.Contains(found, w) {
			hits++
		}
	}
	return float64(hits) / float64(len(wanted))
}

func whole(share float64) float64 {
	if share == 1 {
		return 1
	}
	return 0
}

// Row is what was found for one question.
type Row struct {
	Question string   `json:"question"` // its ID
	Dialogue string   `json:"dialogue"`
	Type     string   `json:"type"`
	Apart    bool     `json:"apart,omitempty"`
	Evidence int      `json:"evidence"` // turns
	Scores   Scores   `json:"scores"`
	Degraded []string `json:"degraded,omitempty"` // tiers that could not do their part
}

// Group is the mean of some questions.
type Group struct {
	Name      string `json:"name"`
	Questions int    `json:"questions"`
	Mean      Scores `json:"mean"` // each over the questions that have the figure
}

// All is the name of the group of all questions that are not apart. It is the last.
const All = "all"

// Groups are the dialogues in their order, unless each has one question alone, the types by name, and all.
func Groups(rows []Row) []Group {
	var out []Group
	add := func(name string, keep func(Row) bool) {
		var in []Row
		for _, r := range rows {
			if keep(r) {
				in = append(in, r)
			}
		}
		if len(in) > 0 {
			out = append(out, Group{name, len(in), mean(in)})
		}
	}
	if dialogues := distinct(rows, func(r Row) string { return r.Dialogue }); len(dialogues) < len(rows) {
		for _, d := range dialogues {
			add("dialogue "+d, func(r Row) bool { return r.Dialogue == d && !r.Apart })
		}
	}
	for _, t := range slices.Sorted(slices.Values(distinct(rows, func(r Row) string { return r.Type }))) {
		add(t, func(r Row) bool { return r.Type == t })
	}
	add(All, func(r Row) bool { return !r.Apart })
	return out
}

func distinct(rows []Row, of func(Row) string) []string {
	seen := map[string]bool{}
	var out []string
	for _, r := range rows {
		if v := of(r); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

func mean(rows []Row) Scores {
	sum, n := Scores{}, map[string]int{}
	for _, r := range rows {
		for name, v := range r.Scores {
			sum[name] += v
			n[name]++
		}
	}
	for name := range sum {
		sum[name] /= float64(n[name])
	}
	return sum
}
