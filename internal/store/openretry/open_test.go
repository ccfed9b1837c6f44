package openretry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/openretry"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("connection refused")

// server is one that may be down.
type server struct {
	mu             sync.Mutex
	down           error
	missing, found int
}

func (s *server) options() openretry.Options[store.VectorView] {
	return openretry.Options[store.VectorView]{
		Now:     time.Now,
		Missing: func(error) { s.missing++ },
		Found:   func() { s.found++ },
		Open: func(context.Context) (store.VectorView, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.down != nil {
				return nil, s.down
			}
			return memview.NewVectors(), nil
		},
	}
}

func TestAViewThatIsDownAtTheStartIsTakenUpWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{down: errDown}
		v, err := openretry.Open(t.Context(), s.options())
		if err != nil || s.missing != 1 {
			t.Fatalf("got %v, told of it %d times", err, s.missing)
		}
		if err := v.Check(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("got %v, want what the attempt said", err)
		}
		s.down = nil
		time.Sleep(3 * time.Second) // of the fake clock: an attempt may follow
		if err := v.Check(t.Context()); err == nil {
			t.Error("a call waited for the attempt that it began")
		}
		synctest.Wait()
		if err := v.Check(t.Context()); err != nil || s.found != 1 {
			t.Errorf("got %v, told of it %d times", err, s.found)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if err := v.Check(t.Context()); err == nil {
			t.Error("a closed view answered")
		}
	})
}

func TestANewerSchemaAndSettingsThatCannotBeServedAreRefusedAtOnce(t *testing.T) {
	for _, final := range []error{store.ErrNewerSchema, store.ErrViewSettings} {
		s := &server{down: final}
		if _, err := openretry.Open(t.Context(), s.options()); !errors.Is(err, final) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAViewThatIsThereIsUsedAtOnce(t *testing.T) {
	v, err := openretry.Open(t.Context(), openretry.Options[store.TextView]{
		Now: time.Now, Missing: func(error) {}, Found: func() {},
		Open: func(context.Context) (store.TextView, error) { return memview.NewTexts(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAViewThatHangsHoldsTheStartUpForThreeSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := (&server{}).options()
		told := error(nil)
		o.Missing = func(err error) { told = err }
		o.Open = func(ctx context.Context) (store.VectorView, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		v, err := openretry.Open(t.Context(), o)
		if took := time.Since(began); err != nil || took != 3*time.Second || !errors.Is(told, context.DeadlineExceeded) {
			t.Errorf("got %v after %v, told %v", err, took, told)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
}
