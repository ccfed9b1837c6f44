package llm

import (
	"context"
	"errors"
	"time"
)

// WithMeter reports every call to the meter, the failed ones included. now is the clock that measures durations.
func WithMeter(next Chat, m Meter, now func() time.Time) Chat {
	return metered{next, m, now}
}

type metered struct {
	next  Chat
	meter Meter
	now   func() time.Time
}

func (m metered) Complete(ctx context.Context, p Prompt) (Answer, error) {
	start := m.now()
	answer, err := m.next.Complete(ctx, p)
	call := Call{
		Operation: p.Operation,
		Model:     answer.Model,
		Outcome:   string(answer.Finish),
		Usage:     answer.Usage,
		Duration:  m.now().Sub(start),
	}
	if err != nil {
		call.Outcome = string(ClassOf(err))
		var failed *Error
		if errors.As(err, &failed) {
			call.Model, call.Usage = failed.Model, failed.Usage
		}
	}
	m.meter.ModelCalled(ctx, call)
	return answer, err
}
