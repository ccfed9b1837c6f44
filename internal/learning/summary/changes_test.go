package summary

import "testing"

func conversation(lines ...string) []Statement {
	out := make([]Statement, len(lines))
	for i, l := range lines {
		who, said := SplitLabel(l)
		out[i] = Statement{Who: who, Role: roleOf(who), Text: said}
	}
	return out
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		gone  map[int]int // the statement that is replaced: by which
		leans bool
	}{
		{"a sign-up is cancelled", []string{"user: Okay, sign me up for Gold then.", "assistant: You are now a Gold member.", "user: No, cancel that.", "assistant: Cancelled, no charge."}, map[int]int{0: 2, 1: 2}, true},
		{"a denial is settled", []string{"user: I never agreed to $49.", "assistant: I can offer $39.", "user: Fine, $49 it is, I accept."}, map[int]int{0: 2}, false},
		{"what waits for a decision is decided", []string{"assistant: Okay, I'll leave gorm in place until Priya decides.", "user: Priya decided: sqlc."}, map[int]int{0: 1}, false},
		{"a diet is given up", []string{"user: I am vegan.", "user: I'm not vegan anymore."}, map[int]int{0: 1}, false},
		{"a number is corrected", []string{"user: Deliver coffee every 4 weeks.", "user: Actually, make it every 6 weeks instead."}, map[int]int{0: 1}, true},
		{"a slip of the tongue", []string{"user: I live in London.", "user: Sorry, I meant Lyon."}, map[int]int{0: 1}, true},
		{"the same denied", []string{"user: I like olives.", "user: I don't like olives."}, map[int]int{0: 1}, false},
		{"Korean: undecided, then decided", []string{"user: 아직 결정은 안 했어.", "user: 네이버에 지원하기로 했어."}, map[int]int{0: 1}, false},
		{"Korean: cancelled", []string{"user: 골드 회원으로 가입해 주세요.", "assistant: 골드 회원이 되셨습니다.", "user: 아니요, 취소할게요."}, map[int]int{0: 2, 1: 2}, true},
		{"Spanish: no longer", []string{"user: Como carne los domingos.", "user: Ya no como carne los domingos."}, map[int]int{0: 1}, false},
		{"Spanish: cancelled", []string{"user: Quiero el plan Oro.", "assistant: Ya tiene el plan Oro.", "user: Mejor no, cancélalo."}, map[int]int{0: 2, 1: 2}, true},
		{"Japanese: cancelled", []string{"user: ゴールドプランに申し込みます。", "user: やっぱりやめます。"}, map[int]int{0: 1}, true},
		{"Chinese: cancelled", []string{"user: 帮我订一间大床房。", "user: 算了，不要了。"}, map[int]int{0: 1}, true},
		{"two values side by side hold", []string{"user: My locker number is 4417.", "user: My badge number is 5030.", "user: We decided to use Postgres.", "user: We decided to learn Go."}, nil, false},
		{"what another person says changes nothing", []string{"mina: I love dogs.", "jun: Actually, I love dogs too."}, nil, false},
		{"a plan that stands", []string{"user: Order K-1 costs 900 euros.", "user: Order K-2 costs 700 euros now."}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, got := range Changes(conversation(c.lines...)) {
				want, gone := c.gone[i]
				if !gone {
					want = -1
				}
				if got.By != want {
					t.Errorf("%q: by %d, want %d", c.lines[i], got.By, want)
				}
				if i == 0 && got.Leans != c.leans {
					t.Errorf("leans: %t", got.Leans)
				}
			}
		})
	}
}
