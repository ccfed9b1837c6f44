package faults_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// hangingTruth is the real store, in which reading a page of hangingPage messages waits for the test.
type hangingTruth struct {
	store.PrimaryStore
	reading chan struct{} // is sent to when such a read begins
	goOn    chan error    // ends one of them: with what the store returns, or well
}

const hangingPage = 77

func (s *hangingTruth) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	if q.Limit == hangingPage && q.After == 0 { // background work asks for other pages
		s.reading <- struct{}{}
		if err := <-s.goOn; err != nil {
			return nil, err
		}
	}
	return s.PrimaryStore.Messages(ctx, q)
}

// unanswered is what a store returns that waited for its server in vain.
func unanswered() error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonStoreUnavailable, Retry: store.RetryAfter, Err: errors.New("no reply"),
		Message: "the database does not answer: retry",
	}
}

func TestCallsAreRefusedWhileTheStoreDoesNotAnswer(t *testing.T) {
	truth := &hangingTruth{reading: make(chan struct{}, 64), goOn: make(chan error)}
	wrap := app.Options{Hooks: app.Hooks{Wrap: func(real store.PrimaryStore) store.PrimaryStore {
		truth.PrimaryStore = real
		return truth
	}}}
	h := e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), wrap, func(c *config.Config) { c.MetricsListen = "127.0.0.1:0" })
	h.RecordTurn(t, "s", e2e.User("m1", "I like figs"))
	list := func() error {
		_, err := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: hangingPage, NewestFirst: true})
		return err
	}
	// begin makes calls, of which so many reach the store, and returns what the others end with.
	begin := func(calls, reach int) (ended chan error) {
		ended = make(chan error, calls)
		for range calls {
			go func() { ended <- list() }()
		}
		for range reach {
			<-truth.reading
		}
		for range calls - reach {
			unavailable(t, <-ended)
		}
		return ended
	}
	// end has the store end calls, and looks how they end.
	end := func(ended chan error, calls int, with error) {
		for range calls {
			truth.goOn <- with
			if err := <-ended; status.Code(err) != status.Code(with) && (with == nil || status.Code(err) != codes.Unavailable) {
				t.Errorf("a call that the store ended with %v: %v", with, err)
			}
		}
	}
	refusals := func() float64 { return h.Metric(t, "strata_calls_refused_total", "store_behind") }

	end(begin(20, 20), 20, nil)
	if got := refusals(); got != 0 {
		t.Fatalf("a store that keeps up: %v calls were refused", got)
	}
	end(begin(20, 20), 20, unanswered()) // the first of them halves what may run: nineteen others run still
	second := begin(20, 10)
	e2e.Must(h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{Messages: []*memoryv1.Message{e2e.User("m1", "I like figs")}}))(t)
	end(second, 10, unanswered()) // nothing succeeded between: the least is left
	end(begin(20, 8), 8, nil)
	if got := refusals(); got != 10+12 {
		t.Errorf("%v refusals are counted, want 22", got)
	}
	if got := h.Metric(t, "strata_store_calls_at_most", ""); got != 9 {
		t.Errorf("%v calls may ask the store after eight succeeded, want 9", got)
	}
	end(begin(9, 9), 9, nil)
}

// unavailable checks that a call was refused because of the store, and is told when to come again.
func unavailable(t *testing.T, err error) {
	t.Helper()
	e2e.Refused(t, err, codes.Unavailable, "STORE_UNAVAILABLE", "")
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.GetRetryDelay().AsDuration() > 0 {
			return
		}
	}
	t.Errorf("no RetryInfo in %v", err)
}
