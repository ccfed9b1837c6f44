package builtin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// learntOfEach are the texts that are learnt of messages of a user as a server does it: of each alone, after those before it.
func learntOfEach(t *testing.T, messages []memory.Message) []string {
	t.Helper()
	var out []string
	for i := range messages {
		shown := max(0, i-3)
		out = append(out, textsOf(t, extract.NewTask(extract.Input{
			Session: "s", Earlier: messages[:shown], Context: messages[shown:i], Messages: messages[i : i+1],
		}))...)
	}
	return out
}

func TestNothingIsLearntFromAPartThatIsPlayedUntilItIsOver(t *testing.T) {
	for name, tc := range map[string]struct{ said, want []string }{
		"from the message after the one that began it": {
			said: []string{"Let's do a role play: you are a doctor and I'm a patient.", "I'm allergic to penicillin, and I live in Glasgow."},
		},
		"from messages long after": {
			said: []string{"Let's role-play a job interview.", "Sure.", "I did.", "Go on.", "Fine.", "And?", "I'm a lawyer.", "I live in Leeds."},
		},
		"but from what is said when it is over": {
			said: []string{"Pretend I'm a customer.", "I hate leather.", "OK, end of the role play. I'm a nurse.", "I live in Leeds."},
			want: []string{"Is a nurse.", "Lives in Leeds."},
		},
		"in Spanish": {said: []string{"Finjamos que estamos en un juicio.", "Soy abogada y vivo en Toledo."}},
		"in Korean":  {said: []string{"우리 역할극 하자.", "저는 땅콩 알레르기가 있어요."}},
		"in Japanese": {
			said: []string{"ロールプレイをしましょう。", "卵アレルギーがあります。"},
		},
		"in Chinese":                            {said: []string{"我们来角色扮演吧。", "我对花生过敏。"}},
		"what is only supposed ends at the end": {said: []string{"Imagine I had two kids.", "I live in Graz."}, want: []string{"Lives in Graz."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, learntOfEach(t, chat(tc.said))); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a pause of more than an hour ends it", func(t *testing.T) {
		messages := chat([]string{"Let's role-play.", "I live in Leeds."})
		messages[1].CreateTime = messages[0].CreateTime.Add(time.Hour + time.Second)
		if diff := cmp.Diff([]string{"Lives in Leeds."}, learntOfEach(t, messages)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what is said in it to no learner is not heard", func(t *testing.T) {
		messages := chat([]string{"Let's role-play.", "I live in Leeds."})
		messages[0].Extract = memory.ExtractNone
		if diff := cmp.Diff([]string{"Lives in Leeds."}, learntOfEach(t, messages)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNothingIsLearntFromSomebodyElsesWords(t *testing.T) {
	for _, said := range []string{
		"From: Dana\nSubject: trip\nHi, I live in Utrecht now and I have two cats.",
		"The email says: I am moving to Berlin and I need a flat.",
		"A customer wrote: I'm allergic to wool. I live in Leeds.",
		"[INFO] started\nuser: I live in Leeds",
		"2026-03-04 10:22:11 boot\nI have two cats",
		"Let's say my name is Bob and I live in Paris.",
		"Mi jefa escribió: vivo en Toledo y tengo dos gatos.",
		"他说：我住在北京。",
	} {
		for _, f := range learntOf(t, said) {
			t.Errorf("%q teaches %q", said, f.Text)
		}
	}
	for said, want := range map[string]string{
		"As I said: I live in Leeds.":                                                 "Lives in Leeds.",
		"My doctor says I'm fine. I live in Leeds.":                                   "Lives in Leeds.",
		"You are a helpful assistant.\nuser: I live in Leeds.":                        "Lives in Leeds.",
		"Human: I live in Leeds.\nAI:":                                                "Lives in Leeds.",
		"I live in Leeds. Why this?\nUser: I live in Rome.\nAssistant: Nice to know.": "Lives in Leeds.",
	} {
		got := textsLearntOf(t, said)
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%q: %s", said, diff)
		}
	}
}

func TestAFactIsASentence(t *testing.T) {
	for said, want := range map[string][]string{
		"My train to Lisbon leaves at 6:40 am.":    {"Train to Lisbon leaves at 6:40 am."},
		"The deadline moved to 15 July.":           {"Deadline is 15 July."},
		"The deadline is now by 15 July.":          {"Deadline is by 15 July."},
		"My cousin lives in Oslo, my sister does.": {"Cousin lives in Oslo."},
	} {
		got := textsLearntOf(t, said)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", said, diff)
		}
	}
}
