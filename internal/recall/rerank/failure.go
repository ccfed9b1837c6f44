package rerank

import (
	"context"
	"errors"
	"net"
)

// Class is what kind of failure an Error is.
type Class string

// The classes.
const (
	ClassLate        Class = "late"        // the deadline passed
	ClassGivenUp     Class = "given_up"    // the caller went away
	ClassUnreachable Class = "unreachable" // no connection, or one that broke
	ClassRefused     Class = "refused"     // a status other than 200
	ClassNonsense    Class = "nonsense"    // a response that cannot be used
)

// Error is why there are no scores. Its text holds nothing of the request or the response.
type Error struct {
	Class  Class
	Status int // of the reply; 0 without a reply
	text   string
}

// Error names what failed.
func (e *Error) Error() string { return e.text }

func nonsense(text string) *Error { return &Error{Class: ClassNonsense, text: text} }

// broken classifies an error of the transport. Only the texts of network errors are repeated: others quote what was read.
func broken(ctx context.Context, err error) *Error {
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{Class: ClassGivenUp, text: "the call ended before the reranker answered"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Class: ClassLate, text: "the reranker did not answer in time"}
	case errors.As(err, &name):
		return &Error{Class: ClassUnreachable, text: "the reranker cannot be reached: " + name.Error()}
	case errors.As(err, &network):
		return &Error{Class: ClassUnreachable, text: "the reranker cannot be reached: " + network.Error()}
	}
	return &Error{Class: ClassUnreachable, text: "the connection to the reranker broke"}
}
