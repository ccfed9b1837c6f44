package store_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

func TestARequestReadsOnceForAllWhoAsk(t *testing.T) {
	ctx := store.OneRequest(t.Context())
	var reads atomic.Int64
	begun, goOn := make(chan struct{}), make(chan struct{})
	read := func() (string, error) {
		if reads.Add(1) == 1 {
			close(begun)
		}
		<-goOn
		return "found", nil
	}
	ask := func() error {
		found, err := store.ReadOnce(ctx, "key", read)
		if found != "found" {
			t.Errorf("found %q", found)
		}
		return err
	}
	var all safegroup.Group
	all.Go(ask)
	<-begun // the others ask while it is read, or after it
	for range 3 {
		all.Go(ask)
	}
	close(goOn)
	if err := errors.Join(all.Wait(), ask()); err != nil || reads.Load() != 1 {
		t.Errorf("%d reads, error %v, want one", reads.Load(), err)
	}
}

func TestAReadThatFailedIsMadeAgainForTheNextWhoAsks(t *testing.T) {
	ctx, failure := store.OneRequest(t.Context()), errors.New("failed")
	if _, err := store.ReadOnce(ctx, "key", func() (int, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	if n, err := store.ReadOnce(ctx, "key", func() (int, error) { return 1, nil }); n != 1 || err != nil {
		t.Errorf("%d, error %v, want 1", n, err)
	}
}

func TestAReadThatPanickedLeavesNobodyWaiting(t *testing.T) {
	ctx := store.OneRequest(t.Context())
	err := safegroup.Contain(func() error {
		_, err := store.ReadOnce(ctx, "key", func() (int, error) { panic("defect") })
		return err
	})
	if !safegroup.IsPanic(err) {
		t.Errorf("error %v, want a panic", err)
	}
	if n, err := store.ReadOnce(ctx, "key", func() (int, error) { return 1, nil }); n != 1 || err != nil {
		t.Errorf("%d, error %v, want 1", n, err)
	}
}

func TestWithoutARequestEveryoneReads(t *testing.T) {
	reads := 0
	for range 2 {
		if _, err := store.ReadOnce(t.Context(), "key", func() (int, error) { reads++; return 0, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads, want 2", reads)
	}
}
