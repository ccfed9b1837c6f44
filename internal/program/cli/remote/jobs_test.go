package remote

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

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
