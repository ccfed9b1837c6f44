package extract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// takeBack is an operation that takes back the first known fact by all of the first message.
func takeBack(quote string) extract.Op {
	return extract.Op{Op: "retract", Supersedes: "f1", Message: "m1", Quote: quote}
}

func TestAModelTakesBackWhatIsDenied(t *testing.T) {
	for _, row := range strings.Split(strings.TrimSpace(denials), "\n") {
		f := strings.Split(row, "\t")
		if len(f) != 3 || f[2] != "ends" && f[2] != "stays" {
			t.Fatalf("not a row: %q", row)
		}
		t.Run(f[0]+" / "+f[1], func(t *testing.T) {
			ended, reasons := answered(storedFacts(f[0]), []extract.Op{takeBack(f[1])}, f[1])
			if got := len(ended) == 1; got != (f[2] == "ends") || got != (len(reasons) == 0) {
				t.Errorf("ended %v, refused %v, want that it %s", ended, reasons, f[2])
			}
		})
	}
}

// denials are a known fact, a line of the user, and whether a retract that quotes the line ends the fact.
const denials = `Is vegan.	I'm not vegan anymore	ends
Is vegan.	I am no longer vegan.	ends
Is allergic to nuts.	Turns out I'm not allergic to nuts after all.	ends
Is married.	I got divorced	ends
Is married.	My wife and I got divorced last month.	ends
Lives in Paris.	I don't live in Paris anymore, too loud.	ends
Works at Acme.	I quit my job.	ends
Works at Acme.	I've left Acme.	ends
Is learning Rust.	I gave up learning Rust	ends
Has a dog named Biscuit.	We don't have a dog anymore.	ends
Plays tennis on weekends.	I stopped playing tennis.	ends
Is vegan.	I'm not vegan enough for that party	stays
Is vegan.	my sister isn't vegan anymore	stays
Is vegan.	What if I'm not vegan anymore?	stays
Is vegan.	If I were not vegan anymore, I'd eat cheese.	stays
Is vegan.	She told me: "I'm not vegan anymore"	stays
Is vegan.	I'm not just vegan, I'm an activist.	stays
Is vegan.	I love being vegan.	stays
Is vegan.	I'm not tired.	stays
Is allergic to nuts.	I'm not allergic to milk.	stays
Is allergic to nuts.	I'm allergic to nuts, not to milk.	stays
Is married.	My parents got divorced.	stays
Lives in Paris.	I used to think I'd not live in Paris.	stays
Works at Acme.	My brother quit his job.	stays
Works at Acme.	I don't work on Mondays.	stays
Plays tennis.	I don't play tennis on Mondays.	stays
Is learning Rust.	I gave up learning Go	stays
커피를 좋아한다.	이제 커피 안 좋아해요	ends
네이버에서 일한다.	네이버 그만뒀어요.	ends
네이버에서 일한다.	지난달에 퇴사했어요.	ends
땅콩 알레르기가 있다.	알고 보니 땅콩 알레르기가 없어요.	ends
결혼했다.	저 작년에 이혼했어요.	ends
커피를 좋아한다.	동생은 이제 커피를 안 좋아해요.	stays
커피를 좋아한다.	이제 커피 안 좋아하면 어떡해요	stays
커피를 좋아한다.	녹차는 안 좋아해요.	stays
땅콩 알레르기가 있다.	새우 알레르기는 없어요.	stays
네이버에서 일한다.	네이버 그만둘까요?	stays
ピアノを習っている。	もうピアノは習っていません。	ends
東京に住んでいる。	もう東京には住んでいない。	ends
ベジタリアンだ。	もうベジタリアンではありません。	ends
結婚している。	去年離婚しました。	ends
ベジタリアンだ。	妹はもうベジタリアンではありません。	stays
東京に住んでいる。	大阪には住んでいません。	stays
ナッツアレルギーがある。	エビアレルギーはありません。	stays
東京に住んでいる。	東京に住んでいないかもしれない。	stays
住在北京。	我不住在北京了。	ends
对花生过敏。	原来我对花生不过敏。	ends
喜欢喝咖啡。	我不喝咖啡了。	ends
已婚。	我去年离婚了。	ends
对花生过敏。	我对牛奶不过敏。	stays
喜欢喝咖啡。	我妹妹不喝咖啡了。	stays
住在北京。	如果我不住在北京了呢	stays
住在北京。	我不住在上海。	stays
Es vegetariano.	Ya no soy vegetariano.	ends
Vive en Madrid.	Ya no vivo en Madrid.	ends
Está casado.	Me divorcié el año pasado.	ends
Es alérgica a los frutos secos.	Resulta que no soy alérgica a los frutos secos.	ends
Trabaja en Telefónica.	Dejé el trabajo.	ends
Es vegetariano.	Mi hermano ya no es vegetariano.	stays
Vive en Madrid.	No vivo en Sevilla.	stays
Es alérgica a los frutos secos.	No soy alérgica a la leche.	stays
Vive en Madrid.	Si ya no vivo en Madrid, me avisas.	stays
Es vegetariano.	¿Ya no soy vegetariano?	stays`

func TestARetractionIsVerified(t *testing.T) {
	refusal := func(facts []memory.Fact, o extract.Op, messages ...memory.Message) []extract.RejectReason {
		task := extract.NewTask(extract.Input{Session: "s", Messages: numbered(messages...), Known: facts, Learn: []memory.Role{memory.RoleUser, memory.RoleAssistant}})
		proposals, refused := extract.Verify(task, []extract.Op{o})
		d := extract.Decide(extract.State{Facts: extract.NewFacts(facts...)}, proposals, extract.Source{JobID: "job"})
		var out []extract.RejectReason
		for _, r := range append(refused, d.Rejected...) {
			out = append(out, r.Reason)
		}
		return out
	}
	want := func(t *testing.T, got []extract.RejectReason, reason extract.RejectReason) {
		t.Helper()
		if !slices.Equal(got, []extract.RejectReason{reason}) {
			t.Errorf("refused as %v, want %s", got, reason)
		}
	}
	const denied = "I'm not vegan anymore"
	user := said(memory.RoleUser, denied)
	vegan := storedFacts("Is vegan.")
	t.Run("the words must be the user's own", func(t *testing.T) {
		want(t, refusal(vegan, takeBack(denied), said(memory.RoleAssistant, denied)), extract.RejectMessage)
	})
	t.Run("the words must have been said", func(t *testing.T) {
		want(t, refusal(vegan, takeBack("I am not vegan at all"), user), extract.RejectQuote)
	})
	t.Run("a quote cannot leave out whom the sentence is about", func(t *testing.T) {
		want(t, refusal(vegan, takeBack("isn't vegan anymore"), said(memory.RoleUser, "My sister isn't vegan anymore")), extract.RejectSubject)
	})
	t.Run("a quote cannot leave out that the sentence supposes", func(t *testing.T) {
		want(t, refusal(vegan, takeBack(denied), said(memory.RoleUser, "Suppose I'm not vegan anymore")), extract.RejectNoEnding)
	})
	t.Run("the fact must be known", func(t *testing.T) {
		op := takeBack(denied)
		op.Supersedes = "f7"
		want(t, refusal(vegan, op, user), extract.RejectAlias)
	})
	t.Run("something must be named", func(t *testing.T) {
		op := takeBack(denied)
		op.Supersedes = ""
		want(t, refusal(vegan, op, user), extract.RejectLength)
	})
	t.Run("what a person wrote is not ended, and what is pinned neither", func(t *testing.T) {
		for _, protect := range []func(*memory.Fact){func(f *memory.Fact) { f.Protected = true }, func(f *memory.Fact) { f.Pinned = true }} {
			facts := storedFacts("Is vegan.")
			protect(&facts[0])
			want(t, refusal(facts, takeBack(denied), user), extract.RejectProtected)
			byText := extract.Op{Op: "retract", Text: "Is vegan.", Message: "m1", Quote: denied}
			want(t, refusal(facts, byText, user), extract.RejectProtected)
		}
	})
	t.Run("of somebody else only by name", func(t *testing.T) {
		facts := storedFacts("Is vegan.")
		facts[0].Subject = "Mina"
		want(t, refusal(facts, takeBack(denied), user), extract.RejectSubject)
		if got := refusal(facts, takeBack("Mina is not vegan anymore"), said(memory.RoleUser, "Mina is not vegan anymore")); len(got) != 0 {
			t.Errorf("refused as %v", got)
		}
	})
	t.Run("one quote ends two facts at most", func(t *testing.T) {
		facts := storedFacts("Is vegan.", "Is vegan for ten years.", "Is vegan for the animals.")
		byText := extract.Op{Op: "retract", Text: "Is vegan", Message: "m1", Quote: denied}
		want(t, refusal(facts, byText, user), extract.RejectEndings)
	})
	t.Run("a date before there were any is refused", func(t *testing.T) {
		op := takeBack(denied)
		op.ValidFrom = "0000-01-01"
		want(t, refusal(vegan, op, user), extract.RejectRange)
	})
}

func TestWhatBecomesOfAFactThatIsTakenBack(t *testing.T) {
	const denied = "I'm not vegan anymore"
	facts := storedFacts("Is vegan.")
	facts[0].Origin = memory.FactExtracted
	facts[0].Evidence = []memory.Evidence{{Session: "r", SessionID: "r", Seq: 1, MessageID: "first", Quote: "I am vegan", Time: facts[0].ValidFrom}}
	task := extract.NewTask(extract.Input{Session: "s", SessionID: "s", Messages: numbered(said(memory.RoleUser, denied)), Known: facts})
	proposals, _ := extract.Verify(task, []extract.Op{takeBack(denied)})
	state := extract.State{Facts: extract.NewFacts(facts...)}
	d := extract.Decide(state, proposals, extract.Source{JobID: "job"})
	if len(d.Changes) != 1 {
		t.Fatalf("%+v", d)
	}
	past := d.Changes[0].Fact
	after := extract.State{Facts: state.Facts.With([]memory.Fact{past})}
	t.Run("it is past, with the words that ended it", func(t *testing.T) {
		words, ok := past.Ending()
		if past.IsCurrent() || past.SupersededBy != "" || !ok || words.Quote != denied || d.Changes[0].Cause != memory.CauseRetracted || len(past.Said()) != 1 {
			t.Errorf("%+v because of %d", past, d.Changes[0].Cause)
		}
	})
	t.Run("doing it again changes nothing", func(t *testing.T) {
		if again := extract.Decide(after, proposals, extract.Source{JobID: "job"}); len(again.Changes)+len(again.Rejected) != 0 {
			t.Errorf("%+v", again)
		}
	})
	again := func(at time.Time) extract.Decision {
		p := extract.Proposal{Fact: facts[0]}
		p.Fact.ID, p.Fact.ValidFrom = "", at
		p.Fact.Evidence = []memory.Evidence{{Session: "z", SessionID: "z", Seq: 1, MessageID: "again", Quote: "I am vegan", Time: at}}
		return extract.Decide(after, []extract.Proposal{p}, extract.Source{JobID: "other"})
	}
	t.Run("said again later, it holds again", func(t *testing.T) {
		d := again(past.ValidTo.Add(time.Hour))
		if len(d.Changes) != 1 || !d.Changes[0].Fact.IsCurrent() || d.Changes[0].Fact.ID == past.ID {
			t.Errorf("%+v", d)
		}
	})
	t.Run("what was said before stays past", func(t *testing.T) {
		for _, c := range again(facts[0].ValidFrom.Add(time.Hour)).Changes {
			if c.Fact.IsCurrent() {
				t.Errorf("%+v", c.Fact)
			}
		}
	})
	t.Run("a person restores it, without the words that ended it", func(t *testing.T) {
		d, _ := extract.Restore(after, past.ID, memory.FactRevision{Fact: past}, past.ValidTo.Add(time.Hour))
		f := d.Changes[0].Fact
		if _, ended := f.Ending(); ended || !f.IsCurrent() || !f.Protected || len(f.Evidence) != 1 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("with the job that did it, it is taken back", func(t *testing.T) {
		histories := map[string][]memory.FactRevision{past.ID: {{Fact: past, JobID: "job", Cause: memory.CauseRetracted}, {Fact: facts[0], JobID: "first"}}}
		r := extract.Revert(after, "job", histories, past.ValidTo.Add(time.Hour))
		if len(r.Changes) != 1 || !r.Changes[0].Fact.IsCurrent() || len(r.Changes[0].Fact.Evidence) != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("what was said after the words that deny it stays", func(t *testing.T) {
		newer := facts[0]
		newer.Evidence = append(slices.Clone(newer.Evidence), memory.Evidence{Session: "z", SessionID: "z", Seq: 1, MessageID: "n", Quote: "I am vegan", Time: past.ValidTo.Add(time.Hour)})
		if d := extract.Decide(extract.State{Facts: extract.NewFacts(newer)}, proposals, extract.Source{JobID: "job"}); len(d.Changes) != 0 {
			t.Errorf("%+v", d.Changes)
		}
	})
}

func TestAnAttributeIsOneHoweverItIsSpelt(t *testing.T) {
	for _, pair := range [][2]string{{"favorite_color", "favourite_colour"}, {"home_city", "home_cities"}, {"allergic_to_peanut", "allergic_to_peanuts"}, {"shopping_centre", "shopping_center"}} {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			facts := storedFacts("Old value")
			facts[0].Attribute = pair[0]
			ended, _ := answered(facts, []extract.Op{{
				Op: "add", Text: "Likes the new value", Category: "preference", Attribute: pair[1], Message: "m1", Quote: "new value",
			}}, "The new value is this.")
			if !slices.Equal(ended, []string{"old00"}) {
				t.Errorf("ended %v", ended)
			}
		})
	}
	t.Run("others are not", func(t *testing.T) {
		facts := storedFacts("Old value")
		facts[0].Attribute = "home_city"
		if ended, _ := answered(facts, []extract.Op{{Op: "add", Text: "Likes the new value", Category: "other", Attribute: "home_country", Message: "m1", Quote: "new value"}}, "The new value."); len(ended) != 0 {
			t.Errorf("ended %v", ended)
		}
	})
}
