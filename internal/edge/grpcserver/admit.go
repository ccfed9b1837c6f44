package grpcserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/memory"
)

// Sizes from which requests and replies need to be admitted. Below them a connection's calls hold maxStreams × smallBytes
// at most, and none waits.
const (
	smallBytes   = 64 << 10
	trackedBytes = 4 << 10 // of replies: smaller ones are not watched for whether they are read
)

// admitted keeps what requests and replies hold, between the codec and the interceptors: gRPC hands both only the message.
type admitted struct {
	gate     *admission.Gate
	longest  time.Duration
	heavy    func(request proto.Message) int64 // see API
	requests sync.Map                          // proto.Message → incoming
	replies  sync.Map                          // proto.Message → *outgoing
}

// outgoing is a reply that is about to be encoded.
type outgoing struct {
	by      *connection // nil where it is not known
	release func()
}

// request waits for the memory of a request that is about to be decoded. Where there is none the request is not decoded,
// and withRequests returns the error.
func (a *admitted) request(m proto.Message, encoded mem.BufferSlice) error {
	if m.ProtoReflect().Descriptor().ParentFile().Package() != APIPackage {
		return nil
	}
	began, raw := time.Now(), encoded.Materialize()
	inside := messagesIn(raw, m.ProtoReflect().Descriptor(), 0)
	if inside > maxInside {
		err := memory.InvalidField("request", "is made of more than %d messages, those in messages counted; split the call", maxInside)
		a.requests.Store(m, incoming{began: began, bytes: int64(len(raw)), err: err})
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.longest)
	defer cancel()
	release, err := a.gate.Request(ctx, 2*int64(len(raw))+structBytes*inside)
	a.requests.Store(m, incoming{began, int64(len(raw)), release, err})
	return err
}

// incoming is a request that was admitted, or why it was not.
type incoming struct {
	began   time.Time
	bytes   int64 // encoded
	release func()
	err     error
}

// APIPackage is the package of the API's messages: only its calls pass the interceptors that give memory back.
const APIPackage = "memory.v1"

// withRequests gives the memory of requests back when they are answered, and refuses those for which there was none.
func (a *admitted) withRequests(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if in, ok := a.requests.LoadAndDelete(req); ok {
		in := in.(incoming) //nolint:forcetypeassert // nothing else is stored
		if by := connectionOf(ctx); by != nil {
			by.decoded(in.bytes)
		}
		if in.err != nil {
			return nil, in.err
		}
		defer in.release()
		ctx = withBytes(ctx, in.bytes)
		var cancel context.CancelFunc // what it waited for memory is part of its time
		ctx, cancel = context.WithDeadline(ctx, in.began.Add(a.longest))
		defer cancel()
	}
	return next(ctx, req)
}

// outgoing is the reply that a message was admitted as.
func (a *admitted) outgoing(v any) (*outgoing, bool) {
	if m, ok := v.(proto.Message); ok {
		if out, ok := a.replies.LoadAndDelete(m); ok {
			return out.(*outgoing), true //nolint:forcetypeassert // nothing else is stored
		}
	}
	return nil, false
}

// withHeavy admits calls that are heavy by their request. What turns out to be heavy later asks the gate itself.
func (a *admitted) withHeavy(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, call := a.gate.Begin(ctx)
	defer call.End()
	bytes := int64(0)
	if m, ok := req.(proto.Message); ok {
		bytes = a.heavy(m)
	}
	if bytes == 0 {
		return next(ctx, req)
	}
	if err := a.gate.Heavy(ctx, bytes); err != nil {
		return nil, err
	}
	var reply any
	err := a.gate.Aside(ctx, func() (err error) {
		reply, err = next(ctx, req)
		return err
	})
	return reply, err
}

// withTurns has calls wait for the turn of their tenant, outside withHeavy: who waits there holds up its own tenant alone.
func withTurns(turns *admission.Turns, api API) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		p, ok := auth.From(ctx)
		if turns == nil || !ok {
			return next(ctx, req)
		}
		kind := admission.Ordinary
		if api.Habits[info.FullMethod] == ShedLast {
			kind = admission.ShedLast
		}
		ctx, leave, err := turns.Enter(ctx, p.Tenant, kind)
		if err != nil {
			return nil, err
		}
		defer leave()
		return next(ctx, req)
	}
}

// withStoreLimit bounds how many calls at once ask the primary store while that does not keep up. longest is what a call may take.
func withStoreLimit(limit *admission.StoreLimit, longest time.Duration, api API) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if limit == nil || !api.asksStore(info.FullMethod) {
			return next(ctx, req)
		}
		deadline, ok := ctx.Deadline()
		patient := !ok || time.Until(deadline) >= longest/2
		leave, err := limit.Enter()
		if err != nil {
			return nil, err
		}
		shows := admission.ShowsNothing // also where the handler panics
		defer func() { leave(shows) }()
		reply, err := next(ctx, req)
		shows = storeOutcome(err)
		if shows == admission.StoreFailed && !patient && ctx.Err() != nil { // it gave the store little time
			shows = admission.ShowsNothing
		}
		return reply, err
	}
}

// asksStore reports that a call is done by asking the primary store. What waits for background work holds no place meanwhile.
func (a API) asksStore(method string) bool {
	s := a.Calls[method].Scope
	return s != OfNobody && s != Open && a.Habits[method] != WaitsForWork
}

// storeOutcome is what the error of a call shows of the primary store. A store that refuses by a rule of its own, such as while a user is
// imported, has no cause to name.
func storeOutcome(err error) admission.Outcome {
	if err == nil {
		return admission.Succeeded
	}
	if e, ok := errors.AsType[*memory.Error](err); ok && e.Reason == memory.ReasonStoreUnavailable && e.Err != nil {
		return admission.StoreFailed
	}
	return admission.ShowsNothing
}

// withReplies waits for the memory of replies. It stands outside withHeavy, so that a call whose reply waits is heavy no
// more.
func (a *admitted) withReplies(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	out, err := next(ctx, req)
	if err != nil {
		return nil, err
	}
	m, ok := out.(proto.Message)
	if !ok {
		return out, nil
	}
	if err := a.reply(ctx, m); err != nil {
		return nil, err
	}
	return out, nil
}

// reply waits for the memory of a message that is about to be sent, and notes it for the codec.
func (a *admitted) reply(ctx context.Context, m proto.Message) (err error) {
	size := proto.Size(m)
	by := connectionOf(ctx)
	if size < trackedBytes || by == nil {
		return nil
	}
	release := func() {}
	if size >= smallBytes {
		if release, err = a.gate.Reply(ctx, int64(size), by.all.cutSlowest); err != nil {
			return err
		}
	}
	a.replies.Store(m, &outgoing{by: by, release: release})
	return nil
}

// What decoding makes of a request: each message takes structBytes beside its words, and these are held twice, as they
// came and decoded. Two bytes can be a message, so that their number is limited: what is within the other limits has far
// fewer.
const (
	structBytes  = 256
	maxInside    = 200_000
	maxSizeDepth = 64
)

// messagesIn counts the messages in an encoded one, itself too, as far as maxInside.
func messagesIn(b []byte, desc protoreflect.MessageDescriptor, depth int) int64 {
	count := int64(1)
	for len(b) > 0 && depth < maxSizeDepth && count <= maxInside {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return count
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return count
		}
		if field := desc.Fields().ByNumber(num); field != nil && typ == protowire.BytesType && field.Message() != nil {
			value, _ := protowire.ConsumeBytes(b[n:])
			count += messagesIn(value, field.Message(), depth+1)
		}
		b = b[n+size:]
	}
	return count
}
