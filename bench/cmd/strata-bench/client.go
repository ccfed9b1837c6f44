package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// handlerTrailer is the trailer in which the server says how many microseconds its handler took.
const handlerTrailer = "strata-handler-us"

// perTurn is how many messages one Record call of a prepared conversation carries.
const perTurn = 10

// running is a server with a connection to it.
type running struct {
	*measure.Server
	conn *grpc.ClientConn
	memoryv1.MemoryServiceClient
}

func start(ctx context.Context, binary, data string, args ...string) (*running, error) {
	return startWith(ctx, measure.ServerOptions{Binary: binary, Data: data, Args: args})
}

func startWith(ctx context.Context, o measure.ServerOptions) (*running, error) {
	s, err := measure.StartServer(ctx, o)
	if err != nil {
		return nil, err
	}
	conn, err := measure.Dial(s.Addr)
	if err != nil {
		return nil, err
	}
	return &running{s, conn, memoryv1.NewMemoryServiceClient(conn)}, nil
}

// stop ends the server in order.
func (r *running) stop() error {
	r.conn.Close()
	return r.Stop()
}

// kill ends the server without warning.
func (r *running) kill() error {
	err := r.Kill()
	r.conn.Close()
	return err
}

func protoRole(r memory.Role) memoryv1.Role { return memoryv1.Role(r) }

func protoMessage(m memory.Message) *memoryv1.Message {
	return &memoryv1.Message{
		Id: m.ID, Role: protoRole(m.Role), Name: m.Name, Text: m.PlainText(), CreateTime: timestamppb.New(m.CreateTime),
	}
}

// load records a user's conversations and waits until the background work has done what it has to: what is measured
// afterwards does not share the machine with it.
func load(ctx context.Context, c memoryv1.MemoryServiceClient, user string, shape conversations.Shape) error {
	sessions := shape.Conversations()
	for _, s := range sessions {
		for i := 0; i < len(s.Messages); i += perTurn {
			req := &memoryv1.RecordRequest{UserId: user, SessionId: s.ID}
			for _, m := range s.Messages[i:min(i+perTurn, len(s.Messages))] {
				req.Messages = append(req.Messages, protoMessage(m))
			}
			if _, err := c.Record(ctx, req); err != nil {
				return fmt.Errorf("record %s: %w", s.ID, err)
			}
		}
	}
	for _, s := range sessions {
		if err := waitDone(ctx, c, user, s.ID); err != nil {
			return err
		}
	}
	return nil
}

// rawAtMost is one message less than what triggers a summary by default.
const rawAtMost = 10

func waitDone(ctx context.Context, c memoryv1.MemoryServiceClient, user, session string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return measure.Until(ctx, "wait for index, facts and summaries", func(ctx context.Context) (bool, error) {
		r, err := c.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: user, SessionId: session, Query: "index"})
		w := r.GetWatermarks()
		return w.GetIndexed() >= w.GetRecorded() && w.GetExtracted() >= w.GetRecorded() && w.GetSummarised()+rawAtMost >= w.GetRecorded(), err
	})
}

// noNewJob is for how long no job is created when nothing is left to do.
const noNewJob = 3 * time.Second

// waitQuiet waits until background work creates no more jobs: weeks and months come after their sessions.
func waitQuiet(ctx context.Context, c memoryv1.WorkServiceClient) error {
	latest, since := "", time.Now()
	states := []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED, memoryv1.JobState_JOB_STATE_APPLIED}
	return measure.Until(ctx, "wait until no job is created", func(ctx context.Context) (bool, error) {
		r, err := c.ListJobs(ctx, &memoryv1.ListJobsRequest{PageSize: 1, States: states})
		if err != nil || len(r.GetJobs()) == 0 {
			return err == nil, err
		}
		if id := r.GetJobs()[0].GetJobId(); id != latest {
			latest, since = id, time.Now()
		}
		return time.Since(since) > noNewJob, nil
	})
}

// timed is one call's time as the client and as the server's handler saw it.
type timed struct{ client, handler time.Duration }

func timedContext(
	ctx context.Context,
	c memoryv1.MemoryServiceClient,
	req *memoryv1.BuildContextRequest,
) (*memoryv1.BuildContextResponse, timed, error) {
	var trailer metadata.MD
	begin := time.Now()
	r, err := c.BuildContext(ctx, req, grpc.Trailer(&trailer))
	t := timed{client: time.Since(begin)}
	if err != nil {
		return nil, t, fmt.Errorf("build context: %w", err)
	}
	t.handler, err = handlerTime(trailer)
	return r, t, err
}

func handlerTime(trailer metadata.MD) (time.Duration, error) { return timeIn(trailer, handlerTrailer) }

// timeIn reads a trailer of microseconds.
func timeIn(trailer metadata.MD, name string) (time.Duration, error) {
	values := trailer.Get(name)
	if len(values) != 1 {
		return 0, fmt.Errorf("the reply has no trailer %s", name)
	}
	us, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("trailer %s: %w", name, err)
	}
	return time.Duration(us) * time.Microsecond, nil
}
