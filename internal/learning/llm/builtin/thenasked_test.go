package builtin_test

import (
	"slices"
	"testing"
)

func TestAQuestionThatBeginsWithWhoAsksTeachesThat(t *testing.T) {
	for said, want := range map[string][]string{
		"As a vegan, what can I eat in Lyon?":                 {"Is vegan."},
		"As a strict vegetarian, where should I eat?":         nil, // no rule reads how strict
		"As a nurse working nights, how do I fix my sleep?":   {"Is a nurse."},
		"Hi, as a student, do I get a discount on my pass?":   {"Is a student."},
		"As someone with asthma, should I worry about smoke?": {"Has asthma."},
		"Since I'm celiac, is couscous okay?":                 {"Is celiac."},
		"Because I live in Oslo, what time is sunset for me?": {"Lives in Oslo."},
		"I'm vegan, what can I eat in Japan?":                 {"Is vegan."},
		"Como vegetariana, ¿qué puedo comer en Argentina?":    {"Es vegetariana."},
		"Soy celíaca, ¿qué puedo pedir en un bar?":            {"Es celíaca."},
		"채식주의자인데 제주에서 뭐 먹을까요?":                                {"채식주의자이다."},
		"저는 땅콩 알레르기가 있는데 이거 먹어도 돼요?":                          {"땅콩 알레르기가 있다."},
		"ベジタリアンですが、京都で何を食べられますか？":                             {"ベジタリアンです。"},
		"卵アレルギーがあるのですが、これは食べられますか？":                           {"卵アレルギーがあります。"},
		"我吃素，去重庆能吃什么？":                                        {"吃素。"},
		// nobody says who he is
		"As an AI, what do you think about poetry?":            nil,
		"As a doctor, what would you say to a patient?":        nil,
		"As a first step, what should I install?":              nil,
		"As a beginner, which guitar should I buy?":            nil,
		"As a joke, what can I tell my boss?":                  nil,
		"As a child, what did my idol do?":                     nil,
		"Since I moved, what changed?":                         nil,
		"서울인데 뭐 먹을까요?":                                         nil,
		"Como siempre, ¿qué hago?":                             nil,
		"Como mi hermana es vegana, ¿qué cocino?":              nil,
		"我想去重庆，能吃什么？":                                          nil,
		"As a gift, what should I give my vegan sister?":       nil,
		"As a teacher once asked me, what is my dream?":        nil,
		"If I live in Oslo, what taxes do I pay?":              nil,
		"Since my boss is vegan, what do I order for my team?": {"Boss is vegan."},
	} {
		t.Run(said, func(t *testing.T) {
			got := textsLearntOf(t, said)
			if !slices.Equal(got, want) {
				t.Errorf("learnt %q, want %q", got, want)
			}
		})
	}
}
