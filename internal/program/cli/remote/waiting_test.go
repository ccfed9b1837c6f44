package remote

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

func TestAWordForAShellIsOneWord(t *testing.T) {
	for word, want := range map[string]string{"ada": "ada", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}

func TestAJobThatWaitsForAPersonSaysNoTimeOfItsNextTry(t *testing.T) {
	parkedAt := time.Date(2026, 11, 27, 9, 30, 0, 0, time.UTC)
	at := func(state memoryv1.JobState, again time.Time) *memoryv1.Job {
		return &memoryv1.Job{State: state, NotBefore: timestamppb.New(again), UpdateTime: timestamppb.New(parkedAt)}
	}
	for name, c := range map[string]struct {
		job  *memoryv1.Job
		want string
	}{
		"parked for a person":    {at(memoryv1.JobState_JOB_STATE_PARKED, parkedAt), ""},
		"parked for an endpoint": {at(memoryv1.JobState_JOB_STATE_PARKED, parkedAt.Add(time.Hour)), terminal.Clock(timestamppb.New(parkedAt.Add(time.Hour)))},
		"open":                   {at(memoryv1.JobState_JOB_STATE_OPEN, parkedAt), terminal.Clock(timestamppb.New(parkedAt))},
	} {
		if got := jobAgain(c.job); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestACommandThatWaitsLongAsksSeldom(t *testing.T) {
	const inOneCall = 10 * time.Second // by default the server waits no longer
	for longest, atMost := range map[time.Duration]int{5 * time.Second: 1, time.Minute: 6, time.Hour: 50, 24 * time.Hour: 85} {
		questions := 0
		for waited := time.Duration(0); waited < longest; questions++ {
			if questions > 0 {
				pause := pauseBetween(waited, longest-waited)
				if pause > waited/10 {
					t.Fatalf("after %s: a pause of %s, so that the end is seen late", waited, pause)
				}
				waited += pause
			}
			waited += min(inOneCall, longest-waited)
		}
		if questions > atMost {
			t.Errorf("%s: %d questions, each with an entry in the audit", longest, questions)
		}
	}
}
