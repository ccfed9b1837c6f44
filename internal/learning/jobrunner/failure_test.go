package jobrunner

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

func TestJudge(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	call := func(class llm.Class, after time.Duration) failure {
		return callFailure(&llm.Error{Class: class, RetryAfter: after, Err: errors.New("scripted")})
	}
	probe := callFailure(&llm.Error{Class: llm.ClassTransient, Probe: true, RetryAfter: 20 * time.Second, Err: errors.New("scripted")})
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
		"eight failures that may pass are no reason to give up":                 {call(llm.ClassTransient, 0), 7, 4, verdict{attempts: 8, wait: time.Minute + 4*time.Second}},
		"pauses grow to a quarter of an hour":                                   {call(llm.ClassTransient, 0), 99, 4, verdict{attempts: 100, wait: 7*time.Minute + 30*time.Second}},
		"after eight faults of the program nothing helps":                       {failure{reason: reasonInternal, remedy: later}, 7, 4, verdict{gaveUp: true}},
		"a failed probe burns no attempt":                                       {probe, 7, 0, verdict{attempts: 7, wait: 20 * time.Second}},
		"no endpoint is left alone for longer than an hour":                     {call(llm.ClassLimited, 90*time.Hour), 0, 0, verdict{attempts: 1, wait: time.Hour}},
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
			if got := judge(memory.Job{JobKey: memory.JobKey{Kind: memory.JobExtract}, Attempts: row.attempts}, row.failure, row.splitAt, noon, 0.5); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestPatience(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	failed := func(kind memory.JobKind, since time.Duration, attempts int, f failure) verdict {
		job := memory.Job{JobKey: memory.JobKey{Kind: kind}, Attempts: attempts, FailingSince: noon.Add(-since)}
		return judge(job, f, 0, noon, 0.5)
	}
	transient := failure{reason: "transient", remedy: recovery}
	open := failure{reason: "circuit_open", remedy: hold}
	t.Run("an extraction is tried for a day, however often", func(t *testing.T) {
		if failed(memory.JobExtract, 23*time.Hour, 500, transient).gaveUp || !failed(memory.JobExtract, 24*time.Hour, 1, transient).gaveUp {
			t.Error("not a day")
		}
	})
	t.Run("so is what an open circuit holds up", func(t *testing.T) {
		if failed(memory.JobExtract, 23*time.Hour, 0, open).gaveUp || !failed(memory.JobExtract, 24*time.Hour, 0, open).gaveUp {
			t.Error("not a day")
		}
	})
	t.Run("a summary is left to the built-in summariser after eight calls of its own", func(t *testing.T) {
		if failed(memory.JobLeaf, time.Minute, 6, transient).gaveUp || !failed(memory.JobLeaf, time.Minute, 7, transient).gaveUp ||
			failed(memory.JobLeaf, time.Hour, 7, open).gaveUp {
			t.Error("not eight")
		}
	})
	t.Run("a time to come was noted by a clock that was ahead, and counts from now", func(t *testing.T) {
		if failed(memory.JobExtract, -400*24*time.Hour, 1, transient).gaveUp || !failingSince(memory.Job{FailingSince: noon.Add(time.Hour)}, transient, noon).Equal(noon) {
			t.Error("a day to come")
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Run("lies between nothing and a quarter of an hour, or is what the endpoint asks for", rapid.MakeCheck(func(t *rapid.T) {
		attempts := rapid.IntRange(1, 100).Draw(t, "attempts")
		asked := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "asked"))
		got := retryWait(attempts, asked, rapid.Float64Range(0, 0.999).Draw(t, "jitter"))
		if got < asked || got > max(asked, 15*time.Minute) {
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
