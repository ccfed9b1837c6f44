package storetest

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testPaging(t *testing.T, open Open[store.PrimaryStore]) {
	s, ref := open(t), alice.Session("s")
	first, second := chat("a", 7), chat("b", 3)
	first[1].Pinned, first[3].Origin, second[1].Tags = true, memory.OriginRecalled, []string{"kept"}
	mustAppend(t, s, turn(ref, first...))
	mustAppend(t, s, turn(ref, second...))
	mustAppend(t, s, turn(alice.Session("before"), chat("x", 3)...))
	cases := []struct {
		promise string
		q       store.MessageQuery
		want    []int64
	}{
		{
			"Messages must return a contiguous run of the session's messages, in the order asked for",
			store.MessageQuery{Limit: 3},
			[]int64{1, 2, 3},
		},
		{"the newest first", store.MessageQuery{Limit: 3, NewestFirst: true}, []int64{10, 9, 8}},
		{"only seqs above After", store.MessageQuery{After: 8, Limit: 5}, []int64{9, 10}},
		{"only seqs below Before", store.MessageQuery{Before: 3, Limit: 5}, []int64{1, 2}},
		{"only seqs below Before, the newest first", store.MessageQuery{Before: 8, Limit: 2, NewestFirst: true}, []int64{7, 6}},
		{"only seqs between After and Before", store.MessageQuery{After: 3, Before: 6, Limit: 9, NewestFirst: true}, []int64{5, 4}},
		{"nothing between neighbours", store.MessageQuery{After: 3, Before: 4, Limit: 9}, nil},
		{"nothing beyond the end", store.MessageQuery{After: 10, Limit: 9}, nil},
		{"nothing beyond any end", store.MessageQuery{After: 1 << 40, Limit: 9}, nil},
		{"nothing before the first", store.MessageQuery{Before: 1, Limit: 9}, nil},
		{"stop once the tokens add up to MaxTokens", store.MessageQuery{Limit: 9, MaxTokens: 21}, []int64{1, 2, 3}},
		{"stop at MaxTokens exactly", store.MessageQuery{Limit: 9, MaxTokens: 20, NewestFirst: true}, []int64{10, 9}},
		{"after at least MinMessages", store.MessageQuery{Limit: 9, MaxTokens: 1, MinMessages: 4}, []int64{1, 2, 3, 4}},
		{"stop before the stored bytes pass MaxBytes, after at least one message", store.MessageQuery{Limit: 9, MaxBytes: 1}, []int64{1}},
		{"only those that are pinned, tagged or recalled, where Marked", store.MessageQuery{Limit: 9, Marked: true}, []int64{2, 4, 9}},
		{"as many marked ones as asked for, the newest first", store.MessageQuery{Limit: 2, NewestFirst: true, Marked: true}, []int64{9, 4}},
		{
			"marked ones between After and Before, with originals",
			store.MessageQuery{After: 2, Before: 9, Limit: 9, Marked: true, WithOriginal: true},
			[]int64{4},
		},
	}
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) {
			c.q.Ref = ref
			got, err := s.Messages(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			for _, m := range got {
				seqs = append(seqs, m.Seq)
			}
			wantEqual(t, seqs, c.want)
		})
	}
	t.Run("a page never holds more than MaxBytes of words", func(t *testing.T) { testMaxBytes(t, open(t)) })
	t.Run("Messages of an unknown user or session is an error", func(t *testing.T) {
		_, err := s.Messages(t.Context(), store.MessageQuery{Ref: alice.Session("none"), Limit: 1})
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, err = s.Messages(t.Context(), store.MessageQuery{Ref: bob.Session("s"), Limit: 1})
		wantReason(t, err, memory.ReasonUserNotFound)
	})
}

func testMaxBytes(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	for _, id := range []string{"a", "b", "c"} {
		m := say(id, memory.RoleUser, strings.Repeat("x", 1000))
		m.Original = &memory.Original{Format: "f", Data: make([]byte, 5000)}
		mustAppend(t, s, turn(ref, m))
	}
	for _, c := range []struct {
		original bool
		want     int
	}{{false, 2}, {true, 1}} {
		got, err := s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 9, MaxBytes: 2500, WithOriginal: c.original})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, len(got), c.want)
	}
}
