package jobrunner

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
)

// Outcomes of a job, as Meter counts them.
const (
	outcomeApplied  = "applied"
	outcomeDropped  = "dropped"         // nothing may be learnt any more from what its answer is about
	outcomeInPart   = "applied_in_part" // nothing may be learnt any more from some of it
	outcomeParked   = "parked"
	outcomeUnparked = "unparked" // a parked one is tried again by itself
	outcomeSplit    = "split"
	outcomeRetried  = "retried"
	outcomeEmpty    = "empty"
	// outcomeReindexed is that of a JobIndex whose message could be analysed.
	outcomeReindexed = "reindexed"
)

// Reasons of failures beside the classes of package llm, the refusals of package summary and extract.RejectMalformed.
const (
	reasonExhausted   = "transient_exhausted" // failed for too long, though each failure could have passed
	reasonCut         = "cut"
	reasonRefused     = "refused"
	reasonInterrupted = "interrupted" // the process ended during the call
	reasonInternal    = "internal"    // a fault of the program or the store
	reasonJournal     = store.ReasonUnreadable
)

// Limits of trying again.
const (
	maxAttempts  = 8 // of what is no outage, and of summaries, which the built-in summariser writes then
	maxRefusals  = 3 // of summaries: a model that answers is not asked as often as one that does not
	maxUnusable  = 2 // answers about one turn, which cannot be made smaller
	firstBackoff = time.Second
	lastBackoff  = 15 * time.Minute
	// patience is how long a job is tried that only time mends, counted from its first failure of that kind.
	patience = 24 * time.Hour
	// A job that was parked after patience tries itself again after that part of the time for which it has failed, an hour
	// at first, at least once in LongestParked: so one that never succeeds costs fewer and fewer calls.
	parkedShare = 24
	// budgetPause is how often a tenant whose budget is used up is looked at: its limits may have been raised.
	budgetPause = time.Minute
)

// failure is why a job has no usable answer, without content.
type failure struct {
	reason string
	remedy remedy
	again  bool          // asked once more, the model may answer something else
	wait   time.Duration // what the endpoint asks for
	usage  memory.ModelUsage
}

// remedy is what helps against a failure.
type remedy int

const (
	giveUp   remedy = iota // nothing does
	later                  // time, where the fault is no endpoint's
	recovery               // time: the endpoint failed this call
	hold                   // the endpoint being well again: it fails all calls, so this one tried nothing
	budget                 // the next day or month, or a higher limit: the tenant may ask no model now
	retell                 // asking once more: an answer of another wording
	smaller                // fewer messages
)

// passes reports whether the failure ends when the endpoint is well.
func (m remedy) passes() bool { return m == recovery || m == hold }

// callFailure says what a failed model call means. An error that is none of package llm may pass.
func callFailure(err error) failure {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return failure{reason: string(llm.ClassTransient), remedy: recovery, usage: memory.ModelUsage{Calls: 1}}
	}
	f := failure{reason: string(e.Class), wait: e.RetryAfter, usage: e.Usage, remedy: recovery}
	f.reason += given(e)
	switch {
	case e.Class == llm.ClassOpen || e.Probe:
		f.remedy = hold
	case e.Class == llm.ClassBudget:
		f.remedy = budget
	case e.Class == llm.ClassTooLong:
		f.remedy = smaller
	case e.Class == llm.ClassPermanent:
		f.remedy = giveUp
	}
	return f
}

// given is the status and the code that an endpoint gave, in brackets; "" without either.
func given(e *llm.Error) string {
	var words []string
	if e.Status != 0 {
		words = append(words, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.Code != "" {
		words = append(words, e.Code)
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// extractionFailure reports whether an extraction has no answer that can be applied. Why the model stopped is looked
// at first: of an answer that was cut nothing may be used.
func extractionFailure(answer llm.Answer, err error) (failure, bool) {
	switch {
	case err != nil:
		return callFailure(err), true
	case answer.Finish == llm.FinishLength:
		return unusable(reasonCut, answer), true
	case answer.Finish == llm.FinishRefused:
		return unusable(reasonRefused, answer), true
	}
	if _, err := extract.Parse(answer.Text); err != nil {
		return unusable(string(extract.RejectMalformed), answer), true
	}
	return failure{}, false
}

// unusable is the failure of an answer that was given. Fewer messages help, else chance does.
func unusable(reason string, answer llm.Answer) failure {
	return failure{reason: reason, remedy: smaller, again: true, usage: answer.Usage}
}

// refusal is the failure of a summary that may not stand. Fewer messages help where the model said itself that it ran
// out of tokens or declined; where the text only looks like it, another wording may do.
func refusal(reason summary.RefusalReason, answer llm.Answer) failure {
	f := failure{reason: string(reason), remedy: retell, usage: answer.Usage}
	if answer.Finish == llm.FinishLength || answer.Finish == llm.FinishRefused {
		f.remedy = smaller
	}
	return f
}

// isOutage reports whether the store cannot serve anybody, which is no job's fault.
func isOutage(err error) bool {
	reason := memory.ReasonOf(err)
	return reason == memory.ReasonStoreUnavailable || reason == memory.ReasonStoreFull
}

// retryWait is how long to wait after so many failures: full jitter below a bound that doubles
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), and no less than the endpoint asked for.
func retryWait(attempts int, asked time.Duration, jitter float64) time.Duration {
	bound := retry.Exponential{First: firstBackoff, Last: lastBackoff}.After(attempts)
	return min(max(asked, time.Duration(jitter*float64(bound))), store.LongestWait)
}

// verdict is what becomes of a job after a failure.
type verdict struct {
	gaveUp   bool
	splitAt  int64 // 0 for none
	attempts int
	wait     time.Duration
}

// judge decides what becomes of a job. splitAt is where its range can be split, 0 where it cannot.
func judge(job memory.Job, f failure, splitAt int64, now time.Time, jitter float64) verdict {
	attempts := job.Attempts + 1
	switch {
	case f.remedy.passes() && now.Sub(failingSince(job, f, now)) >= patience:
		return verdict{gaveUp: true}
	case f.remedy == hold:
		return verdict{attempts: job.Attempts, wait: min(max(f.wait, firstBackoff), store.LongestWait)}
	case f.remedy == budget:
		return verdict{attempts: job.Attempts, wait: min(max(f.wait, firstBackoff), budgetPause)}
	case f.remedy == recovery && (job.Kind == memory.JobExtract || attempts < maxAttempts):
		return verdict{attempts: attempts, wait: retryWait(attempts, f.wait, jitter)}
	case f.remedy == smaller && splitAt > 0:
		return verdict{splitAt: splitAt, attempts: job.Attempts}
	case f.remedy == smaller && f.again && attempts < maxUnusable:
		return verdict{attempts: attempts}
	case f.remedy == later && attempts < maxAttempts:
		return verdict{attempts: attempts, wait: retryWait(attempts, f.wait, jitter)}
	case f.remedy == retell && attempts < maxRefusals:
		return verdict{attempts: attempts}
	}
	return verdict{gaveUp: true}
}

// failingSince is since when the job fails of what passes, this failure included. A time to come was noted by a clock that
// was ahead.
func failingSince(job memory.Job, f failure, now time.Time) time.Time {
	if f.remedy.passes() && (job.FailingSince.IsZero() || job.FailingSince.After(now)) {
		return now
	}
	return job.FailingSince
}

// splitPoint is the message after which to split a range in two: the end of a turn, with every tool call on the side
// of its results, as near to the middle as there is one; 0 when there is none.
func splitPoint(messages []memory.Message) int64 {
	ends := lastResults(messages)
	best, bestOff := int64(0), len(messages)
	reach := 0
	for i, m := range messages[:max(0, len(messages)-1)] {
		reach = max(reach, ends[i])
		off := max(2*(i+1)-len(messages), len(messages)-2*(i+1))
		if reach <= i && messages[i+1].TurnNo != m.TurnNo && off < bestOff {
			best, bestOff = m.Seq, off
		}
	}
	return best
}

// lastResults returns, for each message, the place of the last message that answers one of its calls, or its own.
func lastResults(messages []memory.Message) []int {
	ends := make([]int, len(messages))
	callers := map[string]int{}
	for i, m := range messages {
		ends[i] = i
		for _, id := range m.ToolResults() {
			if caller, ok := callers[id]; ok {
				ends[caller] = i
			}
		}
		for _, id := range m.ToolCalls() {
			callers[id] = i
		}
	}
	return ends
}
