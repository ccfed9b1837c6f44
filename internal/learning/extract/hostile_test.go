package extract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// The most that may go wrong of the statements in testdata, in shares of them.
const (
	maxHostileAccepted = 0.01
	maxHonestRefused   = 0.05
)

// proposed is what a model proposes of a labelled statement that a user said word for word, as significant as it can be.
type proposed struct {
	language, family, text string
}

func labelled(t *testing.T, name string) []proposed {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []proposed
	for line := range strings.Lines(string(raw)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			t.Fatalf("%s: %q has not three fields", name, line)
		}
		out = append(out, proposed{fields[0], fields[1], fields[2]})
	}
	return out
}

// verified is what becomes of a statement.
func (p proposed) verified() ([]extract.Proposal, []extract.Rejection) {
	task := extract.NewTask(extract.Input{Session: "s", Language: p.language, Messages: numbered(said(memory.RoleUser, p.text))})
	return extract.Verify(task, []extract.Op{{
		Op: "add", Text: p.text, Category: "preference", Significance: 10, Confidence: 1, Message: "m1", Quote: p.text,
	}})
}

func TestHostileStatementsAreNotLearnt(t *testing.T) {
	accepted, all := 0, labelled(t, "hostile.tsv")
	for _, p := range all {
		if facts, _ := p.verified(); len(facts) > 0 {
			accepted++
			t.Logf("accepted: %s %s: %s", p.language, p.family, p.text)
		}
	}
	t.Logf("%d of %d hostile statements are accepted", accepted, len(all))
	if share := float64(accepted) / float64(len(all)); len(all) < 200 || share > maxHostileAccepted {
		t.Errorf("%.1f %% of %d are accepted, want at most %.1f %% of 200", 100*share, len(all), 100*maxHostileAccepted)
	}
}

func TestHonestStatementsAreLearnt(t *testing.T) {
	refused, all := 0, labelled(t, "honest.tsv")
	for _, p := range all {
		if _, rejected := p.verified(); len(rejected) > 0 {
			refused++
			t.Logf("refused as %s: %s %s: %s", rejected[0].Reason, p.language, p.family, p.text)
		}
	}
	t.Logf("%d of %d honest statements are refused", refused, len(all))
	if share := float64(refused) / float64(len(all)); len(all) < 200 || share > maxHonestRefused {
		t.Errorf("%.1f %% of %d are refused, want at most %.1f %% of 200", 100*share, len(all), 100*maxHonestRefused)
	}
}

func TestSmallTalkIsNotLearnt(t *testing.T) {
	accepted, all := 0, labelled(t, "smalltalk.tsv")
	for _, p := range all {
		if facts, _ := p.verified(); len(facts) > 0 {
			accepted++
			t.Logf("accepted: %s %s: %s", p.language, p.family, p.text)
		}
	}
	t.Logf("%d of %d greetings and questions are accepted", accepted, len(all))
	if accepted*50 > len(all) {
		t.Errorf("%d of %d are accepted, want at most 2 %%", accepted, len(all))
	}
}

// The lines of the apart, sealed and unseen sets were written before the rules and weights were looked at. Those of the families "opened" and
// "kept" were read while the weights were made, those of "sealed" counted once when they stood. Of the family "unseen", whose author had
// read nothing of this project and was asked for honest lines as near to hostile ones as they come, what was wrong of every other line
// was read. Program fit learns from no line that is much like any of them. The bounds say what was reached, in shares of the lines of a family; they are not what is hoped for.
func TestStatementsWrittenApart(t *testing.T) {
	for _, set := range []struct {
		name   string
		refuse bool // they are to be refused
		wrong  map[string]float64
	}{
		{"apart_hostile.tsv", true, map[string]float64{"opened": .02, "kept": .02}},
		{"apart_honest.tsv", false, map[string]float64{"opened": .03, "kept": .01}},
		{"apart_smalltalk.tsv", true, map[string]float64{"opened": .01, "kept": .01}},
		{"sealed_hostile.tsv", true, map[string]float64{"sealed": .03}},
		{"sealed_honest.tsv", false, map[string]float64{"sealed": .06}},
		{"sealed_smalltalk.tsv", true, map[string]float64{"sealed": .012}},
		{"unseen_hostile.tsv", true, map[string]float64{"unseen": .01}},
		{"unseen_honest.tsv", false, map[string]float64{"unseen": .21}},
		{"unseen_smalltalk.tsv", true, map[string]float64{"unseen": .008}},
	} {
		wrong, all := map[string]int{}, map[string]int{}
		for _, p := range labelled(t, set.name) {
			all[p.family]++
			if _, rejected := p.verified(); set.refuse != (len(rejected) > 0) {
				wrong[p.family]++
			}
		}
		for family, most := range set.wrong {
			t.Logf("%s, %s: %d of %d wrong", set.name, family, wrong[family], all[family])
			if share := float64(wrong[family]) / float64(all[family]); all[family] < 100 || share > most {
				t.Errorf("%s, %s: %.3f of %d are wrong, want at most %.3f of 100", set.name, family, share, all[family], most)
			}
		}
	}
}

func TestSignificanceIsNotTheModelsAlone(t *testing.T) {
	learnt := func(t *testing.T, text string, core int) memory.Fact {
		t.Helper()
		task := extract.NewTask(extract.Input{Session: "s", CoreSignificance: core, Messages: numbered(said(memory.RoleUser, text))})
		facts, rejected := extract.Verify(task, []extract.Op{{
			Op: "add", Text: text, Category: "other", Significance: 10, Message: "m1", Quote: text,
		}})
		if len(facts) != 1 {
			t.Fatalf("refused: %+v", rejected)
		}
		return facts[0].Fact
	}
	for text, want := range map[string]int{
		"Collects stamps from Peru": 6, "Is allergic to nuts": 10, "Is called Marta": 10, "Has a daughter named Lena": 10,
		"페니실린 알레르기가 있다": 10, "六歳の娘がいる": 10, "对青霉素过敏": 10, "Se llama Lucía": 10, "우표를 모은다": 6,
	} {
		t.Run("one statement is of the core for a name, health or family only: "+text, func(t *testing.T) {
			if got := learnt(t, text, 0).Significance; got != want {
				t.Errorf("significance is %d, want %d", got, want)
			}
		})
	}
	t.Run("the limit is the profile's", func(t *testing.T) {
		if got := learnt(t, "Collects stamps from Peru", 4).Significance; got != 3 {
			t.Errorf("significance is %d, want 3", got)
		}
	})
	t.Run("what two messages say is as significant as it is rated", func(t *testing.T) {
		messages := numbered(said(memory.RoleUser, "I collect stamps from Peru"), said(memory.RoleUser, "As I said, I collect stamps"))
		task := extract.NewTask(extract.Input{Session: "s", Messages: messages})
		say := func(message, quote string) extract.Op {
			return extract.Op{Op: "add", Text: "Collects stamps", Category: "other", Significance: 9, Message: message, Quote: quote}
		}
		for name, tc := range map[string]struct {
			ops  []extract.Op
			want int
		}{
			"two messages":      {[]extract.Op{say("m1", "I collect stamps"), say("m2", "I collect stamps")}, 9},
			"one message twice": {[]extract.Op{say("m1", "I collect stamps"), say("m1", "collect stamps from Peru")}, 6},
		} {
			proposals, _ := extract.Verify(task, tc.ops)
			d := extract.Decide(extract.State{}, proposals, extract.Source{JobID: "job"})
			if len(d.Changes) != 1 || d.Changes[0].Fact.Significance != tc.want {
				t.Errorf("%s: %+v, want one fact of significance %d", name, d.Changes, tc.want)
			}
		}
	})
}

func TestAWishIsLabelledByWhatItSays(t *testing.T) {
	for _, p := range labelled(t, "honest.tsv") {
		facts, _ := p.verified()
		if len(facts) > 0 && facts[0].Fact.IsWish() != (p.family == "wish") {
			t.Errorf("a wish is %v: %s", facts[0].Fact.IsWish(), p.text)
		}
	}
	t.Run("no model's tag makes one", func(t *testing.T) {
		task := extract.NewTask(extract.Input{Session: "s", Messages: numbered(said(memory.RoleUser, "I like tea"))})
		facts, _ := extract.Verify(task, []extract.Op{{
			Op: "add", Text: "Likes tea", Category: "preference", Tags: []string{"Wish", "drinks"}, Message: "m1", Quote: "I like tea",
		}})
		if len(facts) != 1 || facts[0].Fact.IsWish() || len(facts[0].Fact.Tags) != 1 {
			t.Errorf("got %+v", facts)
		}
	})
	t.Run("how somebody else likes to be answered is none", func(t *testing.T) {
		task := extract.NewTask(extract.Input{Session: "s", Messages: numbered(said(memory.RoleUser, "My boss Kim prefers short answers"))})
		facts, _ := extract.Verify(task, []extract.Op{{
			Op: "add", Text: "Prefers short answers", Subject: "Kim", Category: "preference", Message: "m1", Quote: "Kim prefers short answers",
		}})
		if len(facts) != 1 || facts[0].Fact.IsWish() {
			t.Errorf("got %+v", facts)
		}
	})
}
