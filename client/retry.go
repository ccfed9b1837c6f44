package client

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/memory/retry"
)

// Retry is how often and how soon a call is made again: full jitter below a bound that doubles up to a most
// (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter), and never sooner than the service asks for. A field
// that is zero has its default.
type Retry struct {
	Attempts int            // calls in all, 7 by default; 1 for no retry
	First    time.Duration  // the bound of the first wait; 100 ms by default
	Most     time.Duration  // the bound of every wait; 5 s by default
	Draw     func() float64 // where in its bound a wait lies, from 0 to 1; random by default
}

func (r Retry) orDefault() Retry {
	if r.Attempts == 0 {
		r.Attempts = 7
	}
	if r.First == 0 {
		r.First = 100 * time.Millisecond
	}
	if r.Most == 0 {
		r.Most = 5 * time.Second
	}
	if r.Draw == nil {
		r.Draw = rand.Float64
	}
	return r
}

// after returns how long to wait after an attempt, counted from 1; not ok where the error stands.
func (r Retry) after(e *Error, attempt int, repeatable bool) (wait time.Duration, ok bool) {
	if attempt >= r.Attempts || !passes(e, repeatable) {
		return 0, false
	}
	wait = time.Duration(r.Draw() * float64(retry.Exponential{First: r.First, Last: r.Most}.After(attempt)))
	if e.RetryAfter != nil {
		wait += *e.RetryAfter
	}
	return wait, true
}

// passes says whether the call may succeed when it is repeated, and does no harm by it. RetryInfo says that nothing was done; or, of
// OVERLOADED, that what was done is found again by its request_id.
func passes(e *Error, repeatable bool) bool {
	switch e.Code {
	case codes.Unavailable:
		return repeatable || e.RetryAfter != nil && e.Reason != ""
	case codes.ResourceExhausted, codes.Aborted:
		return e.RetryAfter != nil && (repeatable || e.Metadata["cause"] != "reply_bytes")
	default:
		return false
	}
}

// reads are what the names of methods begin with that change nothing.
func reads(method string) bool {
	name := method[strings.LastIndexByte(method, '/')+1:]
	for _, verb := range []string{"Get", "List", "Search", "Build", "Count", "Check", "Compact", "WaitFor"} {
		if strings.HasPrefix(name, verb) {
			return true
		}
	}
	return false
}

// identified returns the request that all attempts send: with a request_id, so that the service knows a repeat by it. The caller's own
// is left as it is, since it may be sent again as another call. It has none where it has no such field.
func identified(request any) (sent any, has bool) {
	m, ok := request.(proto.Message)
	if !ok {
		return request, false
	}
	from := m.ProtoReflect()
	field := from.Descriptor().Fields().ByName("request_id")
	if field == nil {
		return request, false
	}
	if from.Get(field).String() != "" {
		return request, true
	}
	to := from.New()
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	to.Set(field, protoreflect.ValueOfString(uuid.NewString()))
	return to.Interface(), true
}

type attempts struct {
	timeout time.Duration
	retry   Retry
}

// unary makes a call, and makes it again, under one deadline.
func (a attempts) unary(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
		defer cancel()
	}
	sent, has := request, false
	if a.retry.Attempts > 1 {
		sent, has = identified(request)
	}
	repeatable := has || reads(method)
	for attempt := 1; ; attempt++ {
		err := invoke(ctx, method, sent, reply, conn, opts...)
		if err == nil {
			return nil
		}
		failed := errorOf(err)
		wait, again := a.retry.after(failed, attempt, repeatable)
		if deadline, _ := ctx.Deadline(); !again || time.Until(deadline) <= wait {
			return failed
		}
		if !retry.Pause(ctx, wait) {
			return failed
		}
	}
}
