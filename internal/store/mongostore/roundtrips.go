package mongostore

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/stratamem/strata/internal/waittime"
)

// roundtrips tells the clock of each call how long the server took.
type roundtrips struct {
	running sync.Map // of func() by request id
}

func newRoundtrips() *roundtrips { return &roundtrips{} }

func (r *roundtrips) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			r.running.Store(e.RequestID, waittime.Begin(ctx))
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) { r.end(e.RequestID) },
		Failed:    func(_ context.Context, e *event.CommandFailedEvent) { r.end(e.RequestID) },
	}
}

func (r *roundtrips) end(request int64) {
	if end, ok := r.running.LoadAndDelete(request); ok {
		end.(func())()
	}
}
