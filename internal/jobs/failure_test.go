package jobs

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/summary"
)

func TestJudge(t *testing.T) {
	call := func(class llm.Class, after time.Duration) failure {
		return callFailure(&llm.Error{Class: class, RetryAfter: after, Err: errors.New("scripted")})
	}
	refused := refusal(summary.RefusalShrunk, llm.Answer{Finish: llm.FinishStop})
	cut := refusal(summary.RefusalCut, llm.Answer{Finish: llm.FinishLength})
	rows := map[string]struct {
		failure  failure
		attempts int
		splitAt  int64
		want     verdict
	}{
		"what may pass is tried again after half of a second on average":        {call(llm.ClassTransient, 0), 0, 0, verdict{attempts: 1, wait: 500 * time.Millisecond}},
		"the bound of the pause doubles with every failure":                     {call(llm.ClassTransient, 0), 3, 0, verdict{attempts: 4, wait: 4 * time.Second}},
		"an endpoint that asks for more time gets it":                           {call(llm.ClassLimited, time.Minute), 0, 0, verdict{attempts: 1, wait: time.Minute}},
		"after eight failures nothing helps":                                    {call(llm.ClassTransient, 0), 7, 4, verdict{gaveUp: true}},
		"what is too long is split":                                             {call(llm.ClassTooLong, 0), 0, 4, verdict{splitAt: 4}},
		"what is too long and cannot be split is given up":                      {call(llm.ClassTooLong, 0), 0, 0, verdict{gaveUp: true}},
		"an answer of no use about one turn is asked for once more":             {unusable(reasonCut, llm.Answer{}), 0, 0, verdict{attempts: 1}},
		"after two of them nothing helps":                                       {unusable(reasonCut, llm.Answer{}), 1, 0, verdict{gaveUp: true}},
		"an answer of no use about several turns is asked for of fewer":         {unusable(reasonCut, llm.Answer{}), 0, 4, verdict{splitAt: 4}},
		"what a person must mend is given up at once":                           {call(llm.ClassPermanent, 0), 0, 4, verdict{gaveUp: true}},
		"an open circuit burns no attempt":                                      {call(llm.ClassOpen, time.Minute), 7, 0, verdict{attempts: 7, wait: time.Minute}},
		"an open circuit that does not say for how long is left alone a second": {call(llm.ClassOpen, 0), 2, 0, verdict{attempts: 2, wait: time.Second}},
		"an error of no class may pass":                                         {callFailure(errors.New("scripted")), 0, 0, verdict{attempts: 1, wait: 500 * time.Millisecond}},
		"a summary that may not stand is asked for once more":                   {refused, 1, 4, verdict{attempts: 2}},
		"after three of them nothing helps":                                     {refused, 2, 4, verdict{gaveUp: true}},
		"a summary that was cut off is made of fewer messages":                  {cut, 0, 4, verdict{splitAt: 4}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			if got := judge(memory.Slot{Attempts: row.attempts}, row.failure, row.splitAt, 0.5); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Run("lies between nothing and five minutes, or is what the endpoint asks for", rapid.MakeCheck(func(t *rapid.T) {
		attempts := rapid.IntRange(1, 100).Draw(t, "attempts")
		asked := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "asked"))
		got := backoff(attempts, asked, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
		if got < asked || got > max(asked, 5*time.Minute) {
			t.Fatalf("%v", got)
		}
	}))
}

func TestSplitPoint(t *testing.T) {
	t.Run("is the end of the turn nearest to the middle", func(t *testing.T) {
		if got := splitPoint(turns(2, 2, 2, 2)); got != 4 {
			t.Errorf("after %d", got)
		}
	})
	t.Run("is nowhere in a single turn", func(t *testing.T) {
		if got := splitPoint(turns(5)); got != 0 {
			t.Errorf("after %d", got)
		}
	})
	t.Run("keeps a tool call with its result, and is nowhere when that takes all", func(t *testing.T) {
		messages := turns(1, 1, 1, 1)
		messages[1].Parts = []memory.Part{{Kind: memory.PartToolCall, CallID: "c"}}
		messages[2].Parts = []memory.Part{{Kind: memory.PartToolResult, CallID: "c"}}
		if got := splitPoint(messages); got != 1 && got != 3 {
			t.Errorf("after %d", got)
		}
		if got := splitPoint(messages[1:3]); got != 0 {
			t.Errorf("after %d", got)
		}
	})
	t.Run("leaves something on both sides", rapid.MakeCheck(func(t *rapid.T) {
		messages := turns(rapid.SliceOfN(rapid.IntRange(1, 4), 0, 10).Draw(t, "turns")...)
		at := splitPoint(messages)
		if at != 0 && (at < messages[0].Seq || at >= messages[len(messages)-1].Seq) {
			t.Fatalf("after %d of %d", at, len(messages))
		}
	}))
}

// turns are messages of turns of so many each.
func turns(sizes ...int) []memory.Message {
	var out []memory.Message
	for turn, size := range sizes {
		for range size {
			seq := int64(len(out) + 1)
			out = append(out, memory.Message{ID: fmt.Sprint(seq), Seq: seq, TurnNo: int64(turn + 1), Role: memory.RoleUser})
		}
	}
	return out
}

func TestWatermarks(t *testing.T) {
	slot := func(kind memory.SlotKind, state memory.SlotState, from int64) memory.Slot {
		return memory.Slot{SlotKey: memory.SlotKey{Kind: kind, From: from}, State: state}
	}
	t.Run("facts are extracted up to the cursor, or to the first slot that is not done", func(t *testing.T) {
		w := store.SessionWork{ExtractCursor: 20}
		if got := ExtractedThrough(w); got != 20 {
			t.Errorf("got %d", got)
		}
		w.Slots = []memory.Slot{
			slot(memory.SlotExtract, memory.SlotParked, 7), slot(memory.SlotExtract, memory.SlotOpen, 11), slot(memory.SlotLeaf, memory.SlotOpen, 1),
		}
		if got := ExtractedThrough(w); got != 6 {
			t.Errorf("got %d", got)
		}
	})
	t.Run("messages are summarised up to the first leaf that is not stored", func(t *testing.T) {
		w := store.SessionWork{Session: memory.Session{LastSeq: 30}, LeafCursor: 20}
		if got := SummarisedThrough(w); got != 20 {
			t.Errorf("got %d", got)
		}
		w.Slots = []memory.Slot{
			slot(memory.SlotExtract, memory.SlotOpen, 1), slot(memory.SlotLeaf, memory.SlotParked, 13),
			slot(memory.SlotLeaf, memory.SlotOpen, 15), slot(memory.SlotMerge, memory.SlotOpen, 1),
		}
		if got := SummarisedThrough(w); got != 12 {
			t.Errorf("got %d", got)
		}
	})
}

func TestQuote(t *testing.T) {
	t.Run("an unreadable answer is kept as JSON of four KiB at most", rapid.MakeCheck(func(t *rapid.T) {
		s := rapid.String().Draw(t, "answer")
		for len(s) < 10_000 && s != "" {
			s += s
		}
		if got := quote(s); len(got) > maxOperationBytes || len(got) < 2 {
			t.Fatalf("%d bytes", len(got))
		}
	}))
}
