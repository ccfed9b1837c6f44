package grpcapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/sessions/porter"
)

// maxChunk is the most bytes of a file in one message.
const maxChunk = 1 << 20

// sentChunk is how many bytes of a file are sent at once: few enough to be no burden to a server or client, and so many that
// the messages cost little.
const sentChunk = 256 << 10

const conflictNames = "ON_CONFLICT_SKIP, ON_CONFLICT_OVERWRITE or ON_CONFLICT_NEW_IDS"

// userPorter exports and imports users.
type userPorter interface {
	Export(ctx context.Context, what porter.Exporting, out io.Writer) error
	Import(ctx context.Context, user memory.UserRef, rule memory.OnConflict, in io.Reader) (porter.Imported, error)
}

func (s *UserService) ExportUser(req *memoryv1.ExportUserRequest, out grpc.ServerStreamingServer[memoryv1.ExportUserResponse]) error {
	ctx, c := out.Context(), &requests.Checker{}
	if fault, bad := grpcserver.DecodeFault(req); bad {
		return memory.InvalidField(fault.Field, "%s", fault.Description)
	}
	ref := c.UserRef(ctx, req.GetUserId())
	if err := c.Err(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(chunks{out}, sentChunk)
	if err := s.Porter.Export(ctx, porter.Exporting{User: ref, Vectors: req.GetVectors()}, w); err != nil {
		return err
	}
	return w.Flush()
}

// chunks sends what is written to it.
type chunks struct {
	out grpc.ServerStreamingServer[memoryv1.ExportUserResponse]
}

// Write sends b in messages of at most maxChunk. The transport has encoded them when it returns.
func (w chunks) Write(b []byte) (n int, err error) {
	for n < len(b) {
		size := min(len(b)-n, maxChunk)
		if err := w.out.Send(&memoryv1.ExportUserResponse{Chunk: b[n : n+size]}); err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

func (s *UserService) ImportUser(in grpc.ClientStreamingServer[memoryv1.ImportUserRequest, memoryv1.ImportUserResponse]) error {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	first, err := in.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	c := &requests.Checker{}
	ref := memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.Label("user_id", first.GetUserId())}
	rule := requests.OneOf(c, "on_conflict", enums.ConflictRules, first.GetOnConflict(), conflictNames)
	if err := c.Err(); err != nil {
		return err
	}
	imported, err := s.Porter.Import(ctx, ref, rule, receive(ctx, in, first.GetChunk(), s.Patience))
	if err != nil {
		return err
	}
	return in.SendAndClose(&memoryv1.ImportUserResponse{
		User: userProto(imported.User), Sessions: imported.Sessions, Messages: imported.Messages, Facts: imported.Facts,
		LeftSessions: imported.SessionsLeft, LeftFacts: imported.FactsLeft,
		Vectors: imported.Vectors, LeftVectors: imported.VectorsLeft,
		Documents: imported.Documents, LeftDocuments: imported.DocumentsLeft,
	})
}

// received reads the chunks of a stream. gRPC waits for the next message as long as the call lasts, so that happens beside: a
// client that sends nothing for too long is given up.
type received struct {
	ctx      context.Context //nolint:containedctx // of the call that reads
	patience time.Duration
	chunk    []byte
	next     chan []byte
	ended    chan error // holds the end of the stream: io.EOF, or why it broke
}

// receive returns a reader of the chunks, the first of which has come. It ends with ctx.
func receive(
	ctx context.Context, in grpc.ClientStreamingServer[memoryv1.ImportUserRequest, memoryv1.ImportUserResponse], first []byte,
	patience time.Duration,
) *received {
	r := &received{ctx: ctx, patience: patience, chunk: first, next: make(chan []byte), ended: make(chan error, 1)}
	if len(first) > maxChunk {
		r.chunk = nil
		r.ended <- chunkTooLong(len(first))
		return r
	}
	safegroup.Go(func() error { return r.receiveAll(in) }, func(err error) { r.ended <- err })
	return r
}

func (r *received) receiveAll(in grpc.ClientStreamingServer[memoryv1.ImportUserRequest, memoryv1.ImportUserResponse]) error {
	for {
		m, err := in.Recv()
		if err != nil {
			return err
		}
		if len(m.GetChunk()) > maxChunk {
			return chunkTooLong(len(m.GetChunk()))
		}
		select {
		case r.next <- m.GetChunk():
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
}

func chunkTooLong(n int) error {
	return memory.InvalidField("chunk", "has %d bytes; the limit is %d: send more of them", n, maxChunk)
}

// Read implements io.Reader.
func (r *received) Read(b []byte) (int, error) {
	for len(r.chunk) == 0 {
		late := time.NewTimer(r.patience)
		var err error
		select {
		case r.chunk = <-r.next:
		case err = <-r.ended:
			r.ended <- err // for who reads again
		case <-late.C:
			err = memory.InvalidField("chunk", "did not come for %s: the import is given up; send the file without a pause", r.patience)
		case <-r.ctx.Done():
			err = fmt.Errorf("receive the file: %w", r.ctx.Err())
		}
		late.Stop()
		if err != nil {
			return 0, err
		}
	}
	n := copy(b, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}
