package builtin_test

import (
	"slices"
	"testing"
)

func TestWhatIsSaidInAnotherFormIsLearnt(t *testing.T) {
	for said, want := range map[string][]string{
		"Please never suggest peanuts, my daughter Nele is allergic to them.": {"Never wants to have peanuts suggested.", "Daughter Nele is allergic to peanuts."},
		"Don't recommend anything with nuts, my son is allergic.":             {"Son is allergic to nuts."},
		"No peanuts please, my wife is severely allergic.":                    {"Wife is severely allergic to peanuts."},
		"Never recommend seafood restaurants, I'm allergic to shellfish.":     {"Never wants to have seafood restaurants recommended.", "Is allergic to shellfish."},
		"남편이 땅콩 알레르기가 있으니까 땅콩 들어간 음식은 추천하지 마세요.":                              {"남편이 땅콩 알레르기가 있다."},
		"Could you answer in short bullet points from now on?":                {"Answer in short bullet points from now on."},
		"Can you always reply in Korean?":                                     {"Always reply in Korean."},
		"앞으로는 짧게 답해 주실 수 있나요?":                                                {"앞으로는 짧게 답해 주세요."},
		"これからは短く答えてもらえますか？":                                                   {"これからは短く答えてください。"},
		"以后可以用中文回答吗？":                                                         {"以后用中文回答。"},
		// a question, a request of the moment, or what names nothing by itself
		"Can you give me the best recipe from now on?": nil, "Could you explain why the sky is always blue?": nil,
		"Can you use the function below?": nil, "Don't suggest it.": nil, "Never suggest that I call my mother.": nil,
		"Is your daughter allergic to them?": nil, "앞으로 이 이메일을 번역해 주실 수 있나요?": nil,
	} {
		t.Run(said, func(t *testing.T) {
			got := textsLearntOf(t, said)
			if !slices.Equal(got, want) {
				t.Errorf("learnt %q, want %q", got, want)
			}
		})
	}
}
