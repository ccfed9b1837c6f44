package workloop

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory/retry"
)

// Rests has a worker that computes leave the machine to callers: while somebody waits for an answer it rests between the pieces of
// its work, as long as each of them took. It belongs to one goroutine at a time.
type Rests struct {
	busy  func() bool
	began time.Time // the piece that runs
}

// NewRests makes Rests. busy reports whether somebody waits for an answer; nil where nobody does.
func NewRests(busy func() bool) *Rests {
	if busy == nil {
		busy = func() bool { return false }
	}
	return &Rests{busy: busy}
}

// Begin marks the beginning of the first piece.
func (r *Rests) Begin() { r.began = time.Now() }

// Between marks the end of a piece and, once it has rested, the beginning of the next. It ends early when ctx does.
func (r *Rests) Between(ctx context.Context) {
	if r.busy() {
		retry.Pause(ctx, time.Since(r.began))
	}
	r.Begin()
}
