package tokens_test

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/stratamem/strata/internal/testconversations"
	"github.com/stratamem/strata/internal/tokens"
)

// Counting in remembered pieces must come to what the vocabulary counts of the whole.
func FuzzPieces(f *testing.F) {
	for _, s := range []string{
		"the cat's hat, the cats hats. it's here don't stop", "a b c  d\n e f\t g", "one,two three.four five' six", "MiXed camelCase words aNd more",
		"word \u00a0word e\u0301 te\u0301 ", "x y's z'LL we've", "ends with blank ", " begins with blank", "num 123 bers 4567 x1 y2 z", "tail word", "한국어 word 日本 word",
		"기억은 오래 남는다 그래서 word도 한국어word 좋다. 네, 그래요 ㅋㅋ 좋아 'll 가's 나 다\u0301 라", "각 각 \u1100\u1161 가 나", "漢字 한글 漢 한 1한 한1 한 A 한",
	} {
		f.Add(s)
	}
	whole := map[string]*codec.Codec{tokens.O200K: codec.NewO200kBase(), tokens.CL100K: codec.NewCl100kBase()}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 200 { // longer runs of white space are cut by maxSpaceRun, which has its own test
			return
		}
		for name, vocabulary := range whole {
			c, err := tokens.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := vocabulary.Count(s)
			if err != nil {
				return
			}
			if got := c.Cost(s); got != int64(want) {
				t.Errorf("%s of %q: %d, the whole counts %d", name, s, got, want)
			}
		}
	})
}

func BenchmarkCost(b *testing.B) {
	benchmarkCost(b, "English", testconversations.Text(1, 1000))
	benchmarkCost(b, "Korean", strings.Repeat("지난주에 부산에서 친구를 만나 바다를 보고 왔어요. 다음에는 기차로 가려고 해요, 아마 봄에요. ", 500))
}

func benchmarkCost(b *testing.B, language, text string) {
	for name, vocabulary := range map[string]*codec.Codec{tokens.O200K: codec.NewO200kBase(), tokens.CL100K: codec.NewCl100kBase()} {
		c, err := tokens.ByName(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(language+"/"+name+"/pieces", func(b *testing.B) {
			for b.Loop() {
				c.Cost(text)
			}
		})
		b.Run(language+"/"+name+"/whole", func(b *testing.B) {
			for b.Loop() {
				if _, err := vocabulary.Count(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
