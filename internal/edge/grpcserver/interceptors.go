package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// HandlerTimeTrailer is the trailer that says how many microseconds a call took between its decoded request and its
// reply, so that a client can separate the server's time from the network's.
const HandlerTimeTrailer = "strata-handler-us"

// WaitingTimeTrailer is the trailer that says how many of those microseconds the call waited for other servers, such as
// MongoDB, Milvus, Elasticsearch or an embedder; waits side by side count once.
const WaitingTimeTrailer = "strata-waiting-us"

// LongestWaitTrailer is the trailer that says how many microseconds the longest single request to one of those servers took.
const LongestWaitTrailer = "strata-longest-wait-us"

// LateError is the failure of a call whose deadline passed: context.DeadlineExceeded, with whose deadline it was.
type LateError struct {
	RequestTimeout time.Duration // the server's, where that one passed; 0 where the caller's own did
	Err            error
}

func (e *LateError) Error() string {
	if e.RequestTimeout > 0 {
		return "request-timeout passed: " + e.Err.Error()
	}
	return "the caller's deadline passed: " + e.Err.Error()
}

func (e *LateError) Unwrap() error { return e.Err }

// errRequestTimeout is the cause of a context that ended by the server's request-timeout.
var errRequestTimeout = errors.New("the request-timeout passed")

// withDeadline caps how long a call may take; a shorter deadline of the client wins. A call that fails by either says by which.
func withDeadline(longest time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, longest, errRequestTimeout)
		defer cancel()
		reply, err := next(ctx, req)
		switch {
		case !errors.Is(err, context.DeadlineExceeded) || !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return reply, err
		case errors.Is(context.Cause(ctx), errRequestTimeout):
			return nil, &LateError{RequestTimeout: longest, Err: err}
		}
		return nil, &LateError{Err: err}
	}
}

// withCount counts the calls that are being answered.
func withCount(calls *atomic.Int64) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		calls.Add(1)
		defer calls.Add(-1)
		return next(ctx, req)
	}
}

// Meter counts calls. It must not block.
type Meter interface {
	// Served is called with every call: its method such as /memory.v1.MemoryService/Record, its code such as NotFound, and the
	// time from its decoded request to its reply.
	Served(method, code string, took time.Duration)
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Served(string, string, time.Duration) {}

// withMeter reports every call to the meter. It comes first, so that it sees the code that the caller gets.
func withMeter(m Meter) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		start := time.Now()
		reply, err := next(ctx, req)
		m.Served(info.FullMethod, status.Code(err).String(), time.Since(start))
		return reply, err
	}
}

// withOutcome maps errors, contains panics, logs one line per call and reports the handler's time. Neither the log
// nor an error holds content: a panic's value may, so only its type is kept.
func withOutcome(log *slog.Logger, api API) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		start := time.Now()
		watched, clock := backendlatency.Watch(ctx)
		reply, err := contained(watched, req, next)
		took := time.Since(start)
		trailer := metadata.Pairs(
			HandlerTimeTrailer, micros(took), WaitingTimeTrailer, micros(clock.Waited()), LongestWaitTrailer, micros(clock.Longest()),
		)
		if e := grpc.SetTrailer(ctx, trailer); e != nil {
			log.DebugContext(ctx, "trailer not sent", "error", e)
		}
		if err == nil {
			log.DebugContext(ctx, "call", "method", info.FullMethod, "code", "OK", "took", took)
			return reply, nil
		}
		st, known := api.Status(err)
		if own, ok := status.FromError(err); ok && !strings.HasPrefix(info.FullMethod, "/"+APIPackage+".") {
			st, known = own, true // of gRPC's health service
		}
		level := slog.LevelInfo
		if !known {
			level = slog.LevelError
		}
		log.Log(ctx, level, "call", "method", info.FullMethod, "code", st.Code().String(), "took", took, "error", err)
		return nil, st.Err()
	}
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

func contained(ctx context.Context, req any, next grpc.UnaryHandler) (reply any, err error) {
	err = safegroup.Contain(func() (err error) {
		reply, err = next(ctx, req)
		return err
	})
	return reply, err
}

// withWellFormed refuses what the codec could not decode.
func withWellFormed(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, ok := req.(proto.Message); ok {
		if fault, bad := DecodeFault(m); bad {
			return nil, memory.InvalidField(fault.Field, "%s", fault.Description)
		}
	}
	return next(ctx, req)
}
