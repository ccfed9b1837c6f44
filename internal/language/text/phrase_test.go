package text_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

func phrase(t interface {
	Helper()
	Fatalf(string, ...any)
}, s string,
) text.Phrase {
	t.Helper()
	p, ok := text.NewPhrase(s)
	if !ok {
		t.Fatalf("%q is no phrase", s)
	}
	return p
}

func TestAPhraseIsWhatIsWritten(t *testing.T) {
	for _, c := range []struct {
		phrase, in string
		want       string // what it stands on; "" for nowhere
	}{
		{"night train", "Book the Night  Train to Vienna.", "Night  Train"},
		{"train night", "Book the night train to Vienna.", ""},
		{"night trains", "Book the night train to Vienna.", ""}, // no stems
		{"to be or not to be", "He said: to be, or not to be!", "to be, or not to be"},
		{"don't", "I DON’T know", "DON’T"},
		{"dont", "I don't know", ""},
		{"rain", "the train", ""}, // whole words
		{"v2.1", "Release V2.1 is out", "V2.1"},
		{"manana por la manana", "Nos vemos mañana por la mañana, ¿sí?", "mañana por la mañana"},
		{"años", "hace dos anos", "anos"},
		{"커피", "오늘 커피를 마셨어요", "커피를"}, // a particle clings to the last word
		{"커피를 마셨", "오늘 커피를 마셨어요", "커피를 마셨어요"},
		{"커피 마셨", "오늘 커피를 마셨어요", ""}, // only the last word may go on
		{"커피", "블랙커피를 마셨어요", ""},     // a word is found from its beginning
		{"우유 주세요", "우유, 주세요!", "우유, 주세요"},
		{"東京タワー", "昨日、東京タワーに行きました", "東京タワー"},
		{"京都", "東京都に住む", "京都"}, // characters are units
		{"東京", "東、京", ""},      // side by side
		{"リンゴ", "りんごを食べた", ""},
		{"コーヒー", "ｺｰﾋｰを飲む", "ｺｰﾋｰ"}, // the same character in half width
		{"我喜欢喝茶", "其实我喜欢喝茶。", "我喜欢喝茶"},
		{"喜欢茶", "其实我喜欢喝茶。", ""},
		{"iphone 15", "ＩＰＨＯＮＥ　１５を買った", "ＩＰＨＯＮＥ　１５"},
		{"iPhone 手机", "新的iPhone手机", "iPhone手机"},
		{"🎉", "Done 🎉!", "🎉"},
		{"ship it 🎉", "Ship it! 🎉🎉", "Ship it! 🎉"},
	} {
		found := text.Write(c.in).Find(phrase(t, c.phrase))
		got := ""
		if len(found) > 0 {
			got = found[0].Of(c.in)
		}
		if got != c.want {
			t.Errorf("%q in %q stands on %q, want %q", c.phrase, c.in, got, c.want)
		}
	}
}

func TestAPhraseNeedsALetterADigitOrAnEmoji(t *testing.T) {
	for _, s := range []string{"", "  ", "?!", "…", "\u200d", "—"} {
		if _, ok := text.NewPhrase(s); ok {
			t.Errorf("%q is a phrase", s)
		}
	}
}

func TestAPhraseIsFoundOnceWhereItOverlapsItself(t *testing.T) {
	if got := text.Write("ha ha ha ha ha").Find(phrase(t, "ha ha")); len(got) != 2 {
		t.Errorf("found %v", got)
	}
}

// written are texts as people write them, in five languages, with what is hard of each.
var written = []string{
	"Book the night train to Vienna; it's the 9:40 one, isn't it? To be or not to be, that is the question.",
	"Mañana por la mañana iré al médico porque me duele la espalda desde hace dos años. ¿Sí? Él lo sabrá.",
	"오늘은 회사에서 커피를 마셨어요. 고양이가 아파서 동물병원에 갔었는데, 의사 선생님이 괜찮다고 하셨습니다. 그래서 안심했어요 ㅋㅋ",
	"여행하는 것을 좋아해요. 물어보니까 도와주셨고, 맛있는 떡볶이를 먹었던 곳이었다. 더워서 걸어갔다.",
	"昨日、東京タワーに行きました。コーヒーを飲みながら、人々を見ていた。りんごジュースも美味しかったです。",
	"其实我喜欢喝茶，不过昨天在北京的咖啡馆喝了一杯拿铁。我们会再去的吗？他的手机是iPhone 15。",
	"Mixed: el café de 東京 was 최고였어요 🎉🎉, really the best — ＡＢＣ 123½ Straße naïve café 🇰🇷!",
	"The the the. Was it? Él, ella y yo: the Las Vegas de antes. Los Angeles soy yo.",
}

// holdsGroups reports whether the terms have one of each group.
func holdsGroups(terms []string, groups [][]string) bool {
	for _, g := range groups {
		if !slices.ContainsFunc(g, func(term string) bool { return slices.Contains(terms, term) }) {
			return false
		}
	}
	return true
}

func TestEveryTextWithAPhraseHasItsRequiredTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "texts") {
			parts = append(parts, rapid.SampledFrom(written).Draw(t, "text"))
		}
		s := strings.Join(parts, rapid.SampledFrom([]string{" ", "\n\n", ""}).Draw(t, "between"))
		runes := []rune(s)
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, min(len(runes), from+25)).Draw(t, "to")
		p, ok := text.NewPhrase(string(runes[from:to]))
		if !ok || len(text.Write(s).Find(p)) == 0 {
			return // it begins or ends within a word
		}
		if groups := p.RequiredTerms(); !holdsGroups(text.Terms(s), groups) {
			t.Fatalf("%q has %q, and not its terms %q", s, string(runes[from:to]), groups)
		}
	})
}

func TestEveryKoreanWordHasATermOfItsBeginning(t *testing.T) {
	roots := []string{
		"가", "먹", "마시", "고양이", "커피", "학생", "여행", "사랑하", "예쁘", "돕", "걷", "지내", "달리", "보", "주", "물어보", "도와주", "맛있", "걱정되",
		"것", "그", "저", "나", "우리", "이야기", "친구", "해", "되", "하", "있", "없", "시", "오", "봐", "써", "커", "더우", "골라", "회사", "아이",
	}
	var tails []string
	for _, list := range []languagedata.List{
		languagedata.ParticlesAfterConsonant, languagedata.ParticlesAfterVowel, languagedata.ParticlesAfterAny, languagedata.Endings,
	} {
		tails = append(tails, languagedata.Korean.Words(list)...)
	}
	tails = append(tails, "", "았어요", "었다", "셨습니다", "였던", "했어요", "겠네", "워요", "웠어요", "와서", "왔다", "해요", "합니다")
	groupsOf := map[string][][]string{}
	for _, root := range roots {
		for _, tail := range tails {
			for _, more := range []string{"", "는", "에서는", "요"} {
				word := []rune(root + tail + more)
				terms := text.Terms(string(word))
				for n := 1; n <= len(word); n++ {
					p := string(word[:n])
					groups, known := groupsOf[p]
					if !known {
						groups = phrase(t, p).RequiredTerms()
						groupsOf[p] = groups
					}
					if !holdsGroups(terms, groups) {
						t.Fatalf("%s has %q, and none of %q that %s wants", string(word), terms, groups, p)
					}
				}
			}
		}
	}
}

func TestPhrasesThatSaySomethingAskForIt(t *testing.T) {
	for s, want := range map[string]int{
		"night train": 2, "to be or not to be": 0, "mañana por la mañana": 1, "고양이": 1, "커피를 마셨": 2, "東京タワー": 3, "ありがとう": 0, "🎉": 1, "拿铁": 2,
	} {
		if got := phrase(t, s).RequiredTerms(); len(got) < want || want == 0 && len(got) > 0 {
			t.Errorf("%q asks for %q, want %d groups", s, got, want)
		}
	}
}

func FuzzPhrase(f *testing.F) {
	for _, s := range written {
		f.Add(s, 3, 20)
	}
	f.Fuzz(func(t *testing.T, s string, from, to int) {
		from, to = min(max(from, 0), len(s)), min(max(to, 0), len(s))
		if from > to {
			return
		}
		p, ok := text.NewPhrase(s[from:to])
		if !ok {
			return
		}
		w := text.Write(s)
		found := w.Find(p)
		for _, span := range found {
			if span.Start < 0 || span.End > len(s) || span.Start >= span.End {
				t.Fatalf("stands at %v of %d bytes", span, len(s))
			}
		}
		if len(found) > 0 && !holdsGroups(text.Terms(s), p.RequiredTerms()) {
			t.Fatalf("%q has %q, and not its terms %q", s, s[from:to], p.RequiredTerms())
		}
	})
}
