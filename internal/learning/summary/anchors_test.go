package summary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Sizes of the figure: 40 anchors among 400 messages that hold none worth keeping, summarised in 50 rounds by a model
// that loses 3 % of the sentences each time it rewrites them, shown in 500 tokens of o200k_base.
const (
	plantedCount    = 40
	distractorCount = 400
	rounds          = 50
	lossRate        = 0.03
	shownTokens     = 500
	leastKept       = 0.9
)

// planted is a message with an anchor, and the words by which it is found again.
type planted struct{ sentence, mark string }

// plantedAnchors are ten names, ten numbers, ten dates and ten decisions.
var plantedAnchors = sync.OnceValue(func() []planted {
	var out []planted
	for i, p := range []string{"dentist", "landlord", "coach", "tutor", "vet", "lawyer", "baker", "tailor", "editor", "cousin"} {
		name := strings.Fields("Ilse Tomas Priya Yusuf Agnes Bjorn Chloe Dmitri Elif Farid")[i] + " " +
			strings.Fields("Brandt Ruiz Nair Kaya Holm Lund Petit Orlov Demir Aziz")[i]
		out = append(out, planted{fmt.Sprintf("My %s is called %s.", p, name), name})
	}
	for i, p := range []string{"locker", "badge", "gate code", "rent", "loan", "meter", "room", "ticket", "policy", "budget"} {
		n := fmt.Sprint(4417 + 613*i)
		out = append(out, planted{fmt.Sprintf("My %s number is %s.", p, n), n})
	}
	for i, p := range []string{"wedding", "exam", "move", "surgery", "flight", "audit", "concert", "launch", "hearing", "reunion"} {
		d := time.Date(2027, time.Month(1+i), 3+2*i, 0, 0, 0, 0, time.UTC).Format("2 January 2006")
		out = append(out, planted{fmt.Sprintf("The %s is on %s.", p, d), d})
	}
	for _, p := range []string{
		"use Postgres", "skip the gym", "rent in Busan", "learn Go", "sell the car", "adopt a cat", "drop the lease",
		"hire a cleaner", "bike to work", "eat no meat",
	} {
		out = append(out, planted{fmt.Sprintf("We decided to %s.", p), "decided to " + p})
	}
	return out
})

// smallTalk is what distractors say. One in twenty holds a detail that looks like an anchor.
func smallTalk(i int) string {
	if i%20 == 0 {
		return []string{
			"See you on Friday then, have a good one!", "It took me 20 minutes to find my keys, typical.",
			"Thanks Sam, you too.", "We will see how the weather turns out.",
		}[i/20%4]
	}
	first := []string{
		"What a lovely morning it is.", "I slept rather badly, but never mind.", "The coffee here is really good.",
		"How are things on your side?", "That made me laugh out loud.", "I was just thinking the same thing.",
		"The traffic was awful again.", "My back hurts a little from sitting.", "It keeps raining and raining.",
	}
	second := []string{
		"Anyway, good to hear from you.", "Ha, you always say that.", "Let me get another cup.", "Well, such is life.",
		"I guess everybody feels like that.", "So it goes, as they say.", "Never a dull moment around here.",
	}
	return first[i%len(first)] + " " + second[i%len(second)]
}

// transcript is the messages of the figure, anchors at random places.
func transcript(r *rand.Rand) []SourceText {
	said := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	var texts []string
	for i := range distractorCount {
		texts = append(texts, smallTalk(i))
	}
	for _, p := range plantedAnchors() {
		texts = slices.Insert(texts, r.IntN(len(texts)+1), p.sentence)
	}
	lines := make([]SourceText, len(texts))
	for i, text := range texts {
		lines[i] = SourceText{Speaker: "Mina", Role: memory.RoleUser, Time: said.Add(time.Duration(i) * time.Hour), Text: text}
		if i%2 == 1 {
			lines[i].Speaker, lines[i].Role = "Jun", memory.RoleAssistant
		}
	}
	return lines
}

// lossyModel copies every sentence but small talk, of which it keeps one in a call, and loses some of them. It keeps to
// MaxTokens by giving up small talk first and the oldest sentences then.
type lossyModel struct{ random *rand.Rand }

func (m lossyModel) summarize(t Task) string {
	var kept []string
	talk := 0
	take := func(s string) {
		for _, sentence := range text.Sentences(s) {
			if isTalk(sentence) {
				talk++
			}
			if m.random.Float64() >= lossRate && (!isTalk(sentence) || talk == 1) {
				kept = append(kept, sentence)
			}
		}
	}
	if t.Rewrite {
		take(t.Previous)
	}
	for _, p := range t.Parts {
		take(p.Text)
	}
	for _, l := range t.Lines {
		take(l.Text)
	}
	for o200k(strings.Join(kept, " ")) > t.MaxTokens {
		kept = slices.Delete(kept, max(0, slices.IndexFunc(kept, isTalk)), max(0, slices.IndexFunc(kept, isTalk))+1)
	}
	return strings.Join(kept, " ")
}

// isTalk reports whether a sentence holds nothing that was planted.
func isTalk(sentence string) bool {
	return !slices.ContainsFunc(plantedAnchors(), func(p planted) bool { return strings.Contains(sentence, p.mark) })
}

// figure is one session under a form, with or without what Check appends.
type figure struct {
	policy   Policy
	model    lossyModel
	append   bool
	lines    []SourceText
	nodes    []memory.SummaryNode
	appended int
}

func (f *figure) round(t *testing.T, from, to int) {
	t.Helper()
	task := Task{Kind: memory.SummarySession, MaxTokens: f.policy.MaxTokens, Lines: f.lines[from-1 : to], Location: time.UTC}
	task.Rewrite = f.policy.Form == FormRecursive && from > 1
	for _, n := range Frontier(f.nodes, int64(from-1)) {
		task.Previous += n.Text + "\n"
	}
	task.Previous = strings.TrimSpace(task.Previous)
	f.add(t, task, memory.SummaryNode{Range: memory.SeqRange{From: int64(from), To: int64(to)}, Cumulative: f.policy.Form == FormRecursive})
	for f.policy.Form == FormTree {
		children := PlanMerge(f.nodes, f.policy.Merge)
		if children == nil {
			return
		}
		first, last := children[0], children[len(children)-1]
		merge := Task{Kind: memory.SummarySession, Level: first.Level + 1, MaxTokens: f.policy.MaxTokens, Location: time.UTC}
		for _, c := range children {
			merge.Parts = append(merge.Parts, Part{From: f.lines[c.Range.From-1].Time, To: f.lines[c.Range.To-1].Time, Text: c.Text})
		}
		f.add(t, merge, memory.SummaryNode{Level: merge.Level, Range: memory.SeqRange{From: first.Range.From, To: last.Range.To}})
	}
}

func (f *figure) add(t *testing.T, task Task, n memory.SummaryNode) {
	t.Helper()
	n.ID, n.Kind, n.Generation = fmt.Sprint(len(f.nodes)), memory.SummarySession, 1
	checked, reason := f.ask(task, &n)
	for range 3 { // the runner asks again, too
		if reason != "" {
			checked, reason = f.ask(task, &n)
		}
	}
	if reason != "" {
		t.Fatalf("the answer for %v was refused (%s): %s", n.Range, reason, n.Text)
	}
	if f.append {
		n.Text = checked.Text
		f.appended += checked.Appended
	}
	f.nodes = append(f.nodes, n)
}

func (f *figure) ask(task Task, n *memory.SummaryNode) (Checked, RefusalReason) {
	n.Text = f.model.summarize(task)
	return Check(task, Answer{Text: n.Text})
}

// shown is the running summary as a context shows it.
func (f *figure) shown(through int) string {
	var texts []string
	for _, n := range Frontier(f.nodes, int64(through)) {
		texts = append(texts, n.Text)
	}
	fitted, _ := Fit(strings.Join(texts, "\n"), shownTokens, o200k)
	return fitted
}

func o200k(s string) int64 {
	c, err := tokens.ByName(tokens.O200K)
	if err != nil {
		panic(err)
	}
	return tokens.Tokens(c, c.Cost(s))
}

// kept is the share of the anchors said so far that a text holds.
func kept(lines []SourceText, shown string) float64 {
	said, found := 0, 0
	for _, l := range lines {
		for _, p := range plantedAnchors() {
			if l.Text == p.sentence {
				said++
				if strings.Contains(shown, p.mark) {
					found++
				}
			}
		}
	}
	if said == 0 {
		return 1
	}
	return float64(found) / float64(said)
}

// TestAnchorsSurviveFiftyRounds prints, for each round, the share of the anchors said so far that the running summary
// shows: in the tree and in the chain, with what code appends and without.
func TestAnchorsSurviveFiftyRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes on one goroutine: make test runs it")
	}
	if n := len(plantedAnchors()); n != plantedCount {
		t.Fatalf("%d anchors", n)
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("with seed %d", seed), func(t *testing.T) { testSurvival(t, seed) })
	}
}

func testSurvival(t *testing.T, seed uint64) {
	lines := transcript(rand.New(rand.NewPCG(seed, 1)))
	form := func(form Form, appends bool) *figure {
		p := standardPolicy()
		p.Form = form
		return &figure{policy: p, model: lossyModel{rand.New(rand.NewPCG(seed, 2))}, append: appends, lines: lines}
	}
	figures := []*figure{form(FormTree, true), form(FormRecursive, true), form(FormTree, false), form(FormRecursive, false)}
	t.Log("round  tree %  chain %  tree, model alone %  chain, model alone %")
	var last [4]float64
	for round := range rounds {
		from, to := round*len(lines)/rounds+1, (round+1)*len(lines)/rounds
		for i, f := range figures {
			f.round(t, from, to)
			last[i] = 100 * kept(lines[:to], f.shown(to))
		}
		t.Logf("%5d  %6.1f  %7.1f  %19.1f  %20.1f", round+1, last[0], last[1], last[2], last[3])
	}
	t.Logf("anchors that code appended: %d in the tree, %d in the chain", figures[0].appended, figures[1].appended)
	if last[0] < 100*leastKept {
		t.Errorf("the tree kept %.1f %% of the anchors, less than %.0f %%", last[0], 100*leastKept)
	}
}
