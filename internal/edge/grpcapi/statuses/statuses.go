// Package statuses maps errors to what the callers of the gRPC API see: a code, a text and details.
package statuses

import (
	"context"
	"errors"
	"maps"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "strata"

// ToStatus maps an error to what the caller sees. Only a memory.Error shows its text; known says whether err was one
// or the caller's own doing, so that anything else is logged as a fault.
func ToStatus(err error) (st *status.Status, known bool) {
	if e, ok := errors.AsType[*memory.Error](err); ok {
		return errorStatus(e), e.Kind != memory.KindInternal
	}
	if e, ok := errors.AsType[*grpcserver.LateError](err); ok {
		return status.New(codes.DeadlineExceeded, lateMessage(e)), true
	}
	switch {
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the call was cancelled"), true
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "the deadline passed, that of the caller (X-Server-Timeout over REST) or the server's "+
			"request-timeout: allow the call more time"+repeatRecord), true
	}
	internal := &memory.Error{
		Kind:    memory.KindInternal,
		Reason:  memory.ReasonInternal,
		Message: "internal error; the server's log has the cause",
	}
	return errorStatus(internal), false
}

// repeatRecord ends what a caller reads whose call came too late.
const repeatRecord = "; a Record may have been stored: repeat it with the same request_id"

// lateMessage is what the caller of a call reads whose deadline passed.
func lateMessage(e *grpcserver.LateError) string {
	if e.RequestTimeout > 0 {
		return "the server's request-timeout of " + e.RequestTimeout.String() +
			" passed: ask for less at once, or have request-timeout raised" + repeatRecord
	}
	return "the caller's own deadline passed (X-Server-Timeout over REST): allow the call more time" + repeatRecord
}

func errorStatus(e *memory.Error) *status.Status {
	st := status.New(codeOf(e.Kind), e.Message)
	info := &errdetails.ErrorInfo{Reason: string(e.Reason), Domain: errorDomain, Metadata: maps.Clone(e.Metadata)}
	details := []protoadapt.MessageV1{info}
	if len(e.Fields) > 0 {
		details = append(details, badRequest(e.Fields))
	}
	if e.Retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.Retry)})
	}
	with, err := st.WithDetails(details...)
	if err != nil { // the details cannot be encoded: the code and the message still can
		return st
	}
	return with
}

func badRequest(fields []memory.FieldError) *errdetails.BadRequest {
	out := &errdetails.BadRequest{}
	for _, f := range fields {
		out.FieldViolations = append(out.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: f.Field, Description: f.Description})
	}
	return out
}

func codeOf(k memory.Kind) codes.Code {
	//exhaustive:enforce
	switch k {
	case memory.KindInvalid:
		return codes.InvalidArgument
	case memory.KindNotFound:
		return codes.NotFound
	case memory.KindExists:
		return codes.AlreadyExists
	case memory.KindPrecondition:
		return codes.FailedPrecondition
	case memory.KindConflict:
		return codes.Aborted
	case memory.KindExhausted:
		return codes.ResourceExhausted
	case memory.KindUnavailable:
		return codes.Unavailable
	case memory.KindInternal:
		return codes.Internal
	case memory.KindUnauthenticated:
		return codes.Unauthenticated
	case memory.KindDenied:
		return codes.PermissionDenied
	}
	return codes.Internal
}
