package mongostore

import (
	"errors"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

func TestALaneWhoseWorkPanicsAnswersItsCallsAndGoesOn(t *testing.T) {
	l := newQueues()
	ref := memory.UserRef{Tenant: "t", UserID: "ada"}.Session("s")
	submit := func(serve func([]*call)) error {
		return l.submit(t.Context(), &call{p: store.AppendParams{Ref: ref}, done: make(chan struct{})}, serve)
	}
	err := submit(func([]*call) { panic("a user's words") })
	if _, ok := errors.AsType[*safegroup.PanicError](err); !ok || strings.Contains(err.Error(), "words") {
		t.Errorf("the call returned %v", err)
	}
	if err := submit(func(calls []*call) { calls[0].reply(store.AppendResult{}, nil) }); err != nil {
		t.Errorf("the next call returned %v", err)
	}
	l.close()
}

func TestTheValueOfAPanicStandsInNoErrorOfABatch(t *testing.T) {
	s := &transcript{queues: newQueues(), heads: newHeads(1 << 20)}
	defer s.queues.close()
	ref := memory.UserRef{Tenant: "t", UserID: "ada"}.Session("s")
	s.heads.put(ref, head{}) // without its collections, the batch panics when it asks the server
	c := &call{p: store.AppendParams{Ref: ref}, done: make(chan struct{})}
	err := s.queues.submit(t.Context(), c, s.serve)
	if _, ok := errors.AsType[*safegroup.PanicError](err); !ok {
		t.Errorf("the call returned %v", err)
	}
}
