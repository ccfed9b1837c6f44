package grpcserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// longestStream bounds a streaming call. The deadline of other calls does not hold for it: what it moves may be large, and a
// client that stops reading or sending is noticed message by message.
const longestStream = time.Hour

// stream is a streaming call with its context.
type stream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // that is how gRPC hands a stream its context
}

func (s stream) Context() context.Context { return s.ctx }

// admittedStream is one whose messages wait for memory as the requests and replies of other calls do.
type admittedStream struct {
	stream
	admitted *admitted
	guard    *guard
	caller   quota.Caller  // once the first message has come
	last     proto.Message // of what was sent; nil before

	mu    sync.Mutex // a handler may receive beside its own work, and return before that has ended
	held  func()     // of the message that was received last
	bytes int64      // that were received
	first any        // the message that was received first; nil before
	ended bool       // the client has sent all
	over  bool       // the handler has returned
}

// streams is what the interceptors of other calls are to streaming ones, from the outside in: they are counted, reported to
// the meter, get their errors mapped and a principal, and end after longestStream.
func (a *admitted) streams(calls *atomic.Int64, g *guard, trail *auditor, meter Meter) grpc.StreamServerInterceptor {
	return func(srv any, in grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if !strings.HasPrefix(info.FullMethod, "/"+APIPackage+".") { // health and reflection, which may be watched for ever
			return next(srv, in)
		}
		calls.Add(1)
		defer calls.Add(-1)
		start := time.Now()
		ctx, cancel := context.WithTimeout(in.Context(), longestStream)
		defer cancel()
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		found, s := verdict{ctx: ctx}, &admittedStream{admitted: a, guard: g, held: func() {}}
		err := safegroup.Contain(func() error {
			if found.ctx, found.err = g.admit(ctx, info.FullMethod); found.err != nil {
				return found.err
			}
			s.stream = stream{in, found.ctx}
			defer s.end()
			return g.whileVerified(found.ctx, end, func() error { return next(srv, s) })
		})
		if err != nil {
			err = trail.status(ctx, info.FullMethod, time.Since(start), err)
		}
		if e := trail.done(found, done{info.FullMethod, s.received(), s.last, err}); e != nil {
			err = e
		}
		meter.Served(info.FullMethod, status.Code(err).String(), time.Since(start))
		return err
	}
}

// status is what the caller sees of an error, after a line in the log.
func (a *auditor) status(ctx context.Context, method string, took time.Duration, err error) error {
	st, known := a.api.Status(err)
	level := slog.LevelInfo
	if !known {
		level = slog.LevelError
	}
	a.log.Log(ctx, level, "call", "method", method, "code", st.Code().String(), "took", took, "error", err)
	return st.Err()
}

// reverifyEvery is how often the credential of a streaming call is verified again.
const reverifyEvery = 10 * time.Second

// whileVerified makes a streaming call, whose context is ended with the refusal once its credential is good no more, or stands for
// somebody else. A verifier that cannot be reached ends no call that runs.
func (g *guard) whileVerified(ctx context.Context, end context.CancelCauseFunc, call func() error) error {
	if g.verifier == nil {
		return call()
	}
	var watch safegroup.Group
	watch.Go(func() error { g.reverify(ctx, end); return nil })
	err := safegroup.Contain(call)
	refused := ended(ctx)
	end(nil)
	if watched := watch.Wait(); err == nil {
		err = watched
	}
	if err != nil && refused != nil {
		return refused
	}
	return err
}

// reverify verifies the credential of a call every now and then, until ctx ends.
func (g *guard) reverify(ctx context.Context, end context.CancelCauseFunc) {
	was := PrincipalOf(ctx)
	tick := time.NewTicker(reverifyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := g.verify(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case memory.ReasonOf(err) == memory.ReasonUnauthenticated:
			end(err)
			return
		case err == nil && now != was:
			end(unauthenticated(auth.Refuse(auth.CauseUnknown)))
			return
		}
	}
}

// ended is the refusal that ended a streaming call; nil where none did.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); memory.ReasonOf(cause) == memory.ReasonUnauthenticated {
		return cause
	}
	return nil
}

// RecvMsg receives a message and holds its memory until the next one is asked for.
func (s *admittedStream) RecvMsg(m any) error {
	s.hold(func() {})
	if err := ended(s.ctx); err != nil {
		return err
	}
	if err := s.ServerStream.RecvMsg(m); err != nil {
		s.mu.Lock()
		s.ended = errors.Is(err, io.EOF)
		s.mu.Unlock()
		if isUnreadable(err) {
			fault := unreadable()
			return memory.InvalidField(fault.Field, "%s", fault.Description)
		}
		return err
	}
	p, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	bytes := int64(proto.Size(p))
	if in, ok := s.admitted.requests.LoadAndDelete(m); ok {
		in := in.(incoming) //nolint:forcetypeassert // nothing else is stored
		if in.err != nil {
			return in.err
		}
		s.hold(in.release)
		bytes = in.bytes
	}
	s.mu.Lock()
	s.bytes += bytes + messagePrefix
	s.first = cmp.Or(s.first, m)
	s.mu.Unlock()
	if fault, bad := DecodeFault(p); bad {
		return memory.InvalidField(fault.Field, "%s", fault.Description)
	}
	if err := s.guard.confine(s.ctx, p); err != nil {
		return err
	}
	if s.caller.Tenant == "" {
		who := PrincipalOf(s.ctx)
		s.caller = quota.Caller{Tenant: who.Tenant, Key: who.KeyID, User: s.guard.api.namedUser(p)}
		return s.guard.limits.Request(s.ctx, s.caller, bytes)
	}
	return s.guard.limits.Stream(s.ctx, s.caller, bytes)
}

// received is the message that was received first; nil for none.
func (s *admittedStream) received() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// hold gives back what was held, and keeps another release in its place: of a call that is over it is called at once.
func (s *admittedStream) hold(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held()
	s.held = release
	if s.over {
		s.held()
		s.held = func() {}
	}
}

// end gives back what the call held.
func (s *admittedStream) end() {
	s.hold(func() {})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if by := connectionOf(s.ctx); by != nil && s.ended {
		by.streamed(s.bytes)
	}
}

// SendMsg waits for the memory of a message, and for the client to read those before it.
func (s *admittedStream) SendMsg(m any) error {
	if err := ended(s.ctx); err != nil {
		return err
	}
	p, ok := m.(proto.Message)
	if !ok {
		return s.ServerStream.SendMsg(m)
	}
	if err := s.admitted.reply(s.ctx, p); err != nil {
		return err
	}
	s.last = p
	return s.ServerStream.SendMsg(m)
}
