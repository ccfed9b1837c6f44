package builtin_test

import (
	"slices"
	"testing"
)

func TestANameThatAnotherStatementFollowsIsKept(t *testing.T) {
	for said, want := range map[string][]string{
		"혜진이고 부산에 살아요.":                                            {"이름은 혜진.", "부산에 산다."},
		"저는 박준호이고 개발자예요.":                                          {"이름은 박준호.", "직업은 개발자."},
		"안녕하세요, 민서고 대학원생이에요.":                                      {"이름은 민서.", "직업은 대학원생."},
		"서울이고 날씨가 좋아요.":                                            nil,
		"수원이고 날씨가 좋아요.":                                            nil,
		"Don't do that in this paragraph.":                         nil,
		"Oh great, I just love being woken at 4 am by car alarms.": nil,
		"Don't use tables in this document.":                       nil,
	} {
		t.Run(said, func(t *testing.T) {
			got := textsLearntOf(t, said)
			if !slices.Equal(got, want) {
				t.Errorf("learnt %q, want %q", got, want)
			}
		})
	}
	for _, said := range []string{"학생이고 부산에 살아요.", "가수고 부산에 살아요.", "친구가 민서이고 부산에 살아요.", "수원이고 부산에 살아요."} {
		for _, f := range learntOf(t, said) {
			if f.Attribute == "name" {
				t.Errorf("%q teaches %q", said, f.Text)
			}
		}
	}
}
