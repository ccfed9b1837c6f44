package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// failed turns a driver's error into one of the contract. doing names what was tried. Of the server's reply only the error
// code gets into the text, because servers quote documents in their messages.
func (s *core) failed(doing string, err error) error { return explain(doing, err) }

func explain(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case memory.ReasonOf(err) != "":
		return fmt.Errorf("%s: %w", doing, err)
	case errors.Is(err, mongo.ErrClientDisconnected):
		return store.ShuttingDown()
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", doing, context.Canceled)
	case isFull(err):
		return &memory.Error{
			Kind: memory.KindExhausted, Reason: memory.ReasonStoreFull, Retry: store.RetryAfter, Err: describe(doing, err),
			Message: "the disk of the database is full: free some room and retry",
		}
	case isUnavailable(err):
		return &memory.Error{
			Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: describe(doing, err),
			Message: "the database does not answer: retry; see the server's log",
		}
	}
	return describe(doing, err)
}

// uncertain is failed for a write that the server may have done although its reply is missing.
func uncertain(doing string, err error) error {
	if !isUnavailable(err) || neverSent(err) {
		return explain(doing, err)
	}
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: describe(doing, err),
		Message: "the database did not answer a write, so it may or may not be stored: " +
			"repeat the call (a request_id makes a repeated Record safe); see the server's log",
	}
}

// describe returns an error that names what was tried and the code of the server's error.
func describe(doing string, err error) error {
	if server, ok := errors.AsType[mongo.ServerError](err); ok && !mongo.IsNetworkError(err) {
		return fmt.Errorf("%s: MongoDB answered error code %d", doing, firstCode(server))
	}
	if lost, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		return fmt.Errorf("%s: %w", doing, unselected(lost))
	}
	var cleared driver.RetryablePoolError
	if errors.As(err, &cleared) && !neverSent(err) { // its text repeats the error of another call
		return fmt.Errorf("%s: the connection was closed because another call found the server failing", doing)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// unselected returns why no server could be selected. The text of the driver's own error repeats the servers' last
// messages, which may quote documents.
func unselected(lost topology.ServerSelectionError) error {
	why := "no server could be selected"
	for _, s := range lost.Desc.Servers {
		if s.LastError != nil {
			why += "; " + s.Addr.String() + ": " + lastSaid(s.LastError)
		}
	}
	return fmt.Errorf("%s: %w", why, cmp.Or(lost.Wrapped, context.DeadlineExceeded))
}

// lastSaid is what went wrong with a server last, without its words.
func lastSaid(err error) string {
	if server, ok := errors.AsType[driver.Error](err); ok && !server.NetworkError() {
		return fmt.Sprintf("MongoDB answered error code %d", server.Code)
	}
	if network, ok := errors.AsType[net.Error](err); ok {
		return network.Error()
	}
	return "the connection ended"
}

func firstCode(err mongo.ServerError) int {
	if codes := err.ErrorCodes(); len(codes) > 0 {
		return codes[0]
	}
	return 0
}

// The codes are those of MongoDB's error_codes.yml: shutting down, elections, lost primaries, exceeded time limits.
var unavailableCodes = []int{
	6, 7, 50, 64, 89, 91, 133, 134, 189, 202, 262, 317, 358, 9001, 10107, 11600, 11602, 13435, 13436,
}

func isUnavailable(err error) bool {
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || neverSent(err) || unconfirmed(err) {
		return true
	}
	return hasCode(err, unavailableCodes...)
}

// unconfirmed reports that a write was done by one server and not confirmed by a majority: it may be rolled back.
func unconfirmed(err error) bool {
	if e, ok := errors.AsType[mongo.WriteException](err); ok {
		return e.WriteConcernError != nil
	}
	e, ok := errors.AsType[mongo.BulkWriteException](err)
	return ok && e.WriteConcernError != nil
}

// neverSent reports that no server was found, or no connection was to be had: nothing was written.
func neverSent(err error) bool {
	if _, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		return true
	}
	_, ok := errors.AsType[topology.WaitQueueTimeoutError](err)
	return ok
}

// isFull reports a disk without room: OutOfDiskSpace.
func isFull(err error) bool { return hasCode(err, 14031) }

func hasCode(err error, codes ...int) bool {
	server, ok := errors.AsType[mongo.ServerError](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if server.HasErrorCode(code) {
			return true
		}
	}
	return false
}

func userImporting() error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter,
		Message: "the user is being copied here: retry when the copy is at its end; one that was interrupted goes on when it is run again",
	}
}
