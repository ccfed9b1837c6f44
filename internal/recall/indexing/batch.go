package indexing

import (
	"context"
	"errors"
	"net/http"

	"github.com/stratamem/strata/internal/learning/llm"
)

const (
	// embedAtOnce is the most texts that one call of an endpoint embeds.
	embedAtOnce = 128
	// batchesToGrow is after how many batches in a row that came in time twice as many texts are tried: of an endpoint that
	// manages no more, one call in some nine is lost.
	batchesToGrow = 8
)

// batch is how many texts an endpoint manages within its time-out: half as many after a call that took too long, and more
// again after some that did not.
type batch struct {
	size int // texts of the next call, from 1 to embedAtOnce
	good int // batches of that size in a row that came in time
}

func newBatch() batch { return batch{size: embedAtOnce} }

// note notes what a batch of n texts came to, and returns the error of one that is not to be tried again with fewer texts.
func (b *batch) note(n int, err error) error {
	switch {
	case err == nil && n >= b.size:
		if b.good++; b.good == batchesToGrow {
			b.size, b.good = min(2*b.size, embedAtOnce), 0
		}
	case tookTooLong(err) && n > 1:
		b.size, b.good = n/2, 0
		return nil
	}
	return err
}

// noteBatch notes what a batch came to, and says so where it was too large.
func (e *Embeddings) noteBatch(ctx context.Context, n int, err error) error {
	left := e.batch.note(n, err)
	if err != nil && left == nil {
		e.log.WarnContext(ctx, "the embedding endpoint did not answer within embedding-timeout: it is given fewer texts at once",
			"texts", n, "next", e.batch.size)
	}
	return left
}

// tookTooLong reports whether a call failed because its time was over, here or at a proxy before the endpoint.
func tookTooLong(err error) bool {
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok || failed.Class != llm.ClassTransient {
		return false
	}
	return errors.Is(failed, context.DeadlineExceeded) ||
		failed.Status == http.StatusGatewayTimeout || failed.Status == http.StatusRequestTimeout
}
