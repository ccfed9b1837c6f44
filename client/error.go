package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// FieldViolation is a field of the request that is not as it must be.
type FieldViolation struct {
	Field       string // its path, such as overrides.budget_tokens
	Description string
}

// Error is what a call fails with. Its message is the service's own: it names the field, the limit and what to do about it.
type Error struct {
	Code    codes.Code
	Message string
	// Reason is the ErrorReason of the API without its prefix, such as SESSION_NOT_FOUND; "" where the call did not reach the service.
	Reason string
	// Fields are all fields that the service refuses.
	Fields []FieldViolation
	// Metadata has the variables of the message, such as the id that was not found.
	Metadata map[string]string
	// RetryAfter is after what time the service wants to be asked again; nil where it says nothing of that.
	RetryAfter *time.Duration

	status *status.Status
}

// Error names the reason and the message.
func (e *Error) Error() string {
	where := e.Reason
	if where == "" {
		where = e.Code.String()
	}
	return fmt.Sprintf("%s: %s", where, e.Message)
}

// GRPCStatus is the status of the call, by which status.FromError and status.Code read it.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Is reports that a call whose time is up is context.DeadlineExceeded, and one that was given up is context.Canceled.
func (e *Error) Is(target error) bool {
	return e.Code == codes.DeadlineExceeded && target == context.DeadlineExceeded || e.Code == codes.Canceled && target == context.Canceled
}

// Code returns the canonical code of what a call failed with: codes.OK of nil, codes.Unknown of an error of something else.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return codes.Unknown
}

// Reason returns the reason that the service gives for a failure, such as SESSION_NOT_FOUND; "" where it gives none.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// errorOf returns the Error for what gRPC returned.
func errorOf(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	s := status.Convert(err)
	e := &Error{Code: s.Code(), Message: s.Message(), status: s}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, FieldViolation{Field: v.GetField(), Description: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			after := d.GetRetryDelay().AsDuration()
			e.RetryAfter = &after
		}
	}
	return e
}

// stream has the calls of streams fail with an Error. They are not made again: what has arrived of them is with the caller.
func stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, errorOf(err)
	}
	return failing{s}, nil
}

type failing struct{ grpc.ClientStream }

// RecvMsg receives a message; its error is an Error, but for io.EOF at the end.
func (s failing) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return errorOf(err)
}
