package console

import (
	"slices"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// jobsData is a page of background work.
type jobsData struct {
	*memoryv1.ListJobsResponse
	State  memoryv1.JobState // unspecified for all that is not done
	States []memoryv1.JobState
	Parked bool // whether some of the page are parked

	MayRetryAll, MayRetry, MaySkip bool // what the reader's role allows
}

func (v *visit) showJobs() error {
	p := v.ofUser("jobs", "jobs.title")
	data := jobsData{State: memoryv1.JobState(memoryv1.JobState_value[v.argument("state")]), States: jobStates()}
	in := &memoryv1.ListJobsRequest{UserId: p.User, SessionId: p.Session, PageSize: rowsOfList, PageToken: v.argument("page")}
	if data.State != 0 {
		in.States = []memoryv1.JobState{data.State}
	}
	reply, err := v.api.work.ListJobs(v.ctx(), in)
	if err != nil {
		return err
	}
	data.ListJobsResponse = reply
	data.MayRetryAll = v.may(memoryv1.WorkService_RetryJobs_FullMethodName)
	data.MayRetry, data.MaySkip = v.may(memoryv1.WorkService_RetryJob_FullMethodName), v.may(memoryv1.WorkService_SkipJob_FullMethodName)
	data.Parked = slices.ContainsFunc(reply.GetJobs(), func(j *memoryv1.Job) bool {
		return j.GetState() == memoryv1.JobState_JOB_STATE_PARKED
	})
	p.Data = data
	return v.show("jobs.html", p)
}

// jobStates are those that a reader may ask for.
func jobStates() []memoryv1.JobState {
	return []memoryv1.JobState{
		memoryv1.JobState_JOB_STATE_PARKED, memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED,
		memoryv1.JobState_JOB_STATE_APPLIED, memoryv1.JobState_JOB_STATE_SKIPPED,
	}
}

// listedJob is a job with the page that lists it.
type listedJob struct {
	Job  *memoryv1.Job
	Page jobsData
}
