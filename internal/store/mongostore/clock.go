package mongostore

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// serverClock is the MongoDB server's clock. Between two readings it advances by this process's monotonic clock, so neither
// a wrong wall clock nor its correction changes it.
type serverClock struct {
	mu     sync.Mutex
	server time.Time // the last reading; zero before the first
	here   time.Time // when, with its monotonic reading
	warned sync.Once
}

// clockAge is how long the server is not asked again: no quartz is off by a millisecond in that time.
const clockAge = 20 * time.Second

// Now implements store.Clock.
func (s *core) Now() time.Time {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if s.clock.server.IsZero() {
		return time.Now()
	}
	return s.clock.server.Add(time.Since(s.clock.here))
}

// askClock reads the server's time, unless it was read lately. When the read fails, the clock goes on from the last
// reading.
func (s *core) askClock(ctx context.Context) {
	s.clock.mu.Lock()
	fresh := !s.clock.server.IsZero() && time.Since(s.clock.here) < clockAge
	s.clock.mu.Unlock()
	if fresh {
		return
	}
	var reply struct {
		LocalTime time.Time `bson:"localTime"`
	}
	before := time.Now()
	err := s.client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&reply)
	took := time.Since(before)
	if err != nil || reply.LocalTime.IsZero() {
		s.clock.warned.Do(func() {
			s.log.WarnContext(ctx, "the database server did not return its time: until it does this machine's clock counts", "error", err)
		})
		return
	}
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.server, s.clock.here = reply.LocalTime.UTC(), before.Add(took/2)
}
