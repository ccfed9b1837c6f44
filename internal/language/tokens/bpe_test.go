package tokens_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"
	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/conversations"
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
			if got := stored(tokens.CountMessage(said(s)), name); got != int64(want) {
				t.Errorf("%s of the message %q: %d, the whole counts %d", name, s, got, want)
			}
		}
	})
}

func said(s string) memory.Message { return memory.Message{Parts: []memory.Part{memory.TextPart(s)}} }

// stored is the count by a vocabulary.
func stored(n memory.TokenCounts, vocabulary string) int64 {
	if vocabulary == tokens.O200K {
		return n.O200K
	}
	return n.CL100K
}

// Words that one vocabulary counted are counted by the other later, and by both at once in other goroutines, while the memo lets
// words go: there are more of them than it has room for in the places that they share.
func TestCountsDoNotDependOnWhatWasCountedBefore(t *testing.T) {
	const texts = 200
	whole := map[string]*codec.Codec{tokens.O200K: codec.NewO200kBase(), tokens.CL100K: codec.NewCl100kBase()}
	text := func(i int) string {
		return fmt.Sprintf("%s q%dx %s", conversations.Text(uint64(i), 300), i, strings.Repeat("한 ", i%5))
	}
	var g errgroup.Group
	for worker := range 4 {
		g.Go(func() error {
			for i := range texts {
				s := text((i*(2*worker+1) + worker) % texts)
				for name, vocabulary := range whole {
					want, err := vocabulary.Count(s)
					if err != nil {
						return err
					}
					c, err := tokens.ByName(name)
					if err != nil {
						return err
					}
					if got := c.Cost(s); worker%2 == 0 && got != int64(want) {
						return fmt.Errorf("%s of %q: %d, want %d", name, s, got, want)
					}
					if got := stored(tokens.CountMessage(said(s)), name); got != int64(want) {
						return fmt.Errorf("%s of the message %q: %d, want %d", name, s, got, want)
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// BenchmarkCountMessage counts messages of 500 bytes by both vocabularies. The baseline counts each by one and then by the other.
func BenchmarkCountMessage(b *testing.B) {
	messages := make([]memory.Message, 512)
	for i := range messages {
		messages[i] = said(conversations.Text(uint64(i), 500))
		tokens.CountMessage(messages[i])
	}
	var counters []tokens.Counter
	for _, name := range []string{tokens.O200K, tokens.CL100K} {
		c, err := tokens.ByName(name)
		if err != nil {
			b.Fatal(err)
		}
		counters = append(counters, c)
	}
	n := 0
	atOnce := func() { tokens.CountMessage(messages[n%len(messages)]) }
	inTurn := func() {
		for _, c := range counters {
			tokens.Content(messages[n%len(messages)], c)
		}
	}
	timed := func(f func()) time.Duration {
		began := time.Now()
		f()
		return time.Since(began)
	}
	var one, two []time.Duration
	for b.Loop() {
		if n++; n%2 == 0 { // the second one finds the words in the processor's cache
			one = append(one, timed(atOnce))
			two = append(two, timed(inTurn))
		} else {
			two = append(two, timed(inTurn))
			one = append(one, timed(atOnce))
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Nanoseconds())
	}
	b.ReportMetric(median(one), "p50-ns")
	b.ReportMetric(median(two), "baseline-p50-ns")
	b.ReportMetric(median(two)/median(one), "times-faster")
}

func BenchmarkCost(b *testing.B) {
	benchmarkCost(b, "English", conversations.Text(1, 1000))
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
