package milvusstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The causes that a caller may want to distinguish. The server's own text never gets into an error: it repeats expressions,
// and with them keys.
var (
	ErrUnreachable = errors.New("the server cannot be reached")
	ErrRefused     = errors.New("the server refused it")
	ErrNoSpace     = errors.New("no such space")
	ErrKey         = errors.New("a key that was not minted")

	errMalformed   = errors.New("a response that cannot be read")
	errNoNode      = fmt.Errorf("%w: it has no query node for it", ErrRefused)
	errCredentials = fmt.Errorf("%w: it does not know the user, password or token, or they may not do this", ErrRefused)
	errNoDatabase  = fmt.Errorf("%w: there is no such database: make it in Milvus, or correct its name", ErrRefused)
)

// fault is the error of a call: what was tried, and the cause without the server's words. The end of the context shows
// through, as context.DeadlineExceeded or context.Canceled.
func fault(ctx context.Context, tried string, err error) error {
	return fmt.Errorf("milvus: %s: %w", tried, cause(ctx, err))
}

func cause(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	for _, known := range []error{ErrUnreachable, ErrRefused, ErrNoSpace, ErrKey, errMalformed, errNoIndex} {
		if errors.Is(err, known) {
			return known
		}
	}
	s, isStatus := status.FromError(err)
	if !isStatus {
		return refused(err.Error())
	}
	switch s.Code() {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Unavailable:
		return unreachable(s.Message())
	case codes.Unauthenticated, codes.PermissionDenied:
		return errCredentials
	case codes.Canceled: // the context has not ended: somebody else's call, which this one waited for, has
		return ErrUnreachable
	}
	return fmt.Errorf("%w (%s)", ErrRefused, s.Code())
}

// unreachable is why there is no connection. What TLS has to say comes from this side, or is a number from the other.
func unreachable(words string) error {
	for _, tls := range []string{"authentication handshake failed: ", "remote error: "} {
		if _, why, ok := strings.Cut(words, tls); ok {
			return fmt.Errorf("%w: TLS: %s", ErrUnreachable, strings.TrimSuffix(why, `"`))
		}
	}
	return ErrUnreachable
}

// refused turns the server's words into one of the reasons that an operator can act on.
func refused(words string) error {
	words = strings.ToLower(words)
	if strings.Contains(words, "collection not found") {
		return ErrNoSpace
	}
	if strings.Contains(words, "index not found") || strings.Contains(words, "no index") {
		return errNoIndex
	}
	if strings.Contains(words, "database not found") {
		return errNoDatabase
	}
	if strings.Contains(words, "nodes not enough") || strings.Contains(words, "node not enough") { // 2.3; later
		return errNoNode
	}
	if strings.Contains(words, "auth") || strings.Contains(words, "permission deny") {
		return errCredentials
	}
	for _, r := range [][2]string{
		{"rate limit", "too many requests"},
		{"quota", "over its quota"},
		{"not loaded", "the collection is not loaded"},
		{"not fully loaded", "the collection is still loading"},
		{"memory", "out of memory"},
		{"timeout", "it took too long"},
	} {
		if strings.Contains(words, r[0]) {
			return fmt.Errorf("%w: %s", ErrRefused, r[1])
		}
	}
	return ErrRefused
}
