package builder

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// firstPanics is a store whose first call panics.
type firstPanics struct{ calls chan string }

func (f *firstPanics) TouchFacts(_ context.Context, user memory.UserRef, _ []string, _ time.Time) error {
	f.calls <- user.UserID
	if user.UserID == "ada" {
		panic("a user's words")
	}
	return nil
}

func TestAPanicWhenAUseIsNotedKeepsNoOtherFromBeingNoted(t *testing.T) {
	var log strings.Builder
	f := &firstPanics{calls: make(chan string)}
	u := NewUsage(f, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- u.Run(ctx) }()
	for _, id := range []string{"ada", "eve"} {
		u.queue <- used{user: memory.UserRef{UserID: id}}
		if got := <-f.calls; got != id {
			t.Errorf("the use of %s is noted, want %s", got, id)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
	if out := log.String(); !strings.Contains(out, "panic of type string") || strings.Contains(out, "words") {
		t.Errorf("the log says %s", out)
	}
}
