package conversations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/testing/conversations"
)

func TestConversations(t *testing.T) {
	small := conversations.Shape{Seed: 7, Sessions: 3, Messages: 20, MedianWords: 25, AssistantWords: 100}
	t.Run("the same seed gives the same conversations", func(t *testing.T) {
		if d := cmp.Diff(small.Conversations(), small.Conversations()); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(small.Queries(5), small.Queries(5)); d != "" {
			t.Error(d)
		}
	})
	t.Run("another seed gives others", func(t *testing.T) {
		other := small
		other.Seed = 8
		if cmp.Equal(small.Conversations(), other.Conversations()) {
			t.Error("seeds 7 and 8 give the same messages")
		}
	})
	t.Run("W is 50 sessions of 200 messages with a median of 25 words", func(t *testing.T) {
		sessions := conversations.W().Conversations()
		var words []int
		for _, s := range sessions {
			for _, m := range s.Messages {
				words = append(words, len(strings.Fields(m.PlainText())))
			}
		}
		slices.Sort(words)
		if len(sessions) != 50 || len(words) != 10_000 {
			t.Fatalf("%d sessions, %d messages", len(sessions), len(words))
		}
		if median := words[len(words)/2]; median < 24 || median > 26 {
			t.Errorf("median length is %d words", median)
		}
		if last := sessions[49].Messages[199].CreateTime; !last.Before(conversations.W().End()) {
			t.Errorf("last message at %v, end %v", last, conversations.W().End())
		}
	})
	t.Run("queries have eight different words", func(t *testing.T) {
		for _, q := range conversations.W().Queries(100) {
			words := strings.Fields(q)
			slices.Sort(words)
			if n := len(slices.Compact(words)); n != 8 {
				t.Errorf("query %q has %d different words", q, n)
			}
		}
	})
}

func TestWord(t *testing.T) {
	t.Run("no two ranks share a word", func(t *testing.T) {
		seen := map[string]int{}
		for r := range conversations.VocabularySize {
			w := conversations.Word(r)
			if other, ok := seen[w]; ok {
				t.Fatalf("ranks %d and %d are both %q", other, r, w)
			}
			seen[w] = r
		}
	})
}

func TestText(t *testing.T) {
	t.Run("a text has exactly the bytes asked for", func(t *testing.T) {
		for _, n := range []int{1, 2, 100, 500, 1000} {
			if got := len(conversations.Text(3, n)); got != n {
				t.Errorf("asked for %d bytes, got %d", n, got)
			}
		}
	})
}
