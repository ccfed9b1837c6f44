package mongostore

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/stratamem/strata/internal/memory/backendlatency"
)

// roundtrips adds the time that each command took at the server to the clock of its call.
type roundtrips struct {
	running sync.Map               // of func() by request id
	watch   func(command bson.Raw) // nil for nobody
}

func newRoundtrips(watch func(command bson.Raw)) *roundtrips { return &roundtrips{watch: watch} }

func (r *roundtrips) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if r.watch != nil {
				r.watch(e.Command)
			}
			r.running.Store(e.RequestID, backendlatency.Begin(ctx))
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
