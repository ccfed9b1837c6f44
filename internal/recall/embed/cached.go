package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Cache returns the vectors of recently embedded texts from memory. Texts that are being embedded are waited for and not
// embedded twice. A call goes on when its caller leaves, so that the next caller finds its vectors: next must end by
// itself.
type Cache struct {
	next    Embedder
	vectors *otter.Cache[textKey, []float32]
	ctx     context.Context // of the calls, which outlive their callers
	cancel  context.CancelFunc
	calls   safegroup.Group

	mu      sync.Mutex // also of calls.Add and closed
	pending map[textKey]*pending
	closed  bool
}

// textKey is the SHA-256 of the model and a text.
type textKey [sha256.Size]byte

// pending is a vector that a running call will deliver.
type pending struct {
	done   chan struct{}
	vector []float32
	err    error
}

// entryBytes is about what an entry takes beside its vector.
const entryBytes = 128

// Cached makes a Cache of about maxBytes, at least one vector's.
func Cached(next Embedder, maxBytes int64) (*Cache, error) {
	vectors, err := otter.New(&otter.Options[textKey, []float32]{
		MaximumWeight: uint64(max(maxBytes, 1)),
		Weigher:       func(_ textKey, v []float32) uint32 { return uint32(4*len(v) + entryBytes) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of vectors: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Cache{next: next, vectors: vectors, ctx: ctx, cancel: cancel, pending: map[textKey]*pending{}}, nil
}

// Close gives up the calls that still run and waits for their end. Later calls fail.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	_ = c.calls.Wait() // its members return no error
}

// Info implements Embedder.
func (c *Cache) Info() Info { return c.next.Info() }

// Embed implements Embedder. It returns when ctx ends, with a ClassTransient error that cost nothing.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	waits, err := c.ask(ctx, texts)
	if err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, p := range waits {
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, &llm.Error{Class: llm.ClassTransient, Err: fmt.Errorf("wait for an embedding: %w", ctx.Err())}
		}
		if p.err != nil {
			return nil, p.err
		}
		vectors[i] = slices.Clone(p.vector)
	}
	return vectors, nil
}

// ask returns what to wait for, text by text, and starts a call for the texts that no call has asked for yet.
func (c *Cache) ask(ctx context.Context, texts []string) ([]*pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: errors.New("the cache of vectors is closed")}
	}
	waits := make([]*pending, len(texts))
	call := call{}
	for i, text := range texts {
		key := c.key(text)
		waits[i] = c.known(key)
		if waits[i] != nil {
			continue
		}
		waits[i] = &pending{done: make(chan struct{})}
		c.pending[key] = waits[i]
		call.add(key, text, waits[i])
	}
	if len(call.texts) > 0 {
		c.calls.Go(func() error {
			c.run(context.WithoutCancel(ctx), call)
			return nil
		})
	}
	return waits, nil
}

// known is what is there or on its way; nil when there is nothing.
func (c *Cache) known(key textKey) *pending {
	if p := c.pending[key]; p != nil {
		return p
	}
	v, ok := c.vectors.GetIfPresent(key)
	if !ok {
		return nil
	}
	return &pending{done: alreadyDone, vector: v}
}

// alreadyDone is what nobody waits on.
var alreadyDone = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// call is one call of the embedder.
type call struct {
	keys  []textKey
	texts []string
	waits []*pending
}

func (c *call) add(key textKey, text string, p *pending) {
	c.keys, c.texts, c.waits = append(c.keys, key), append(c.texts, text), append(c.waits, p)
}

// Contained embeds, and returns a panic of the embedder as an *llm.Error of ClassPermanent.
func Contained(ctx context.Context, e Embedder, texts []string) (vectors [][]float32, err error) {
	err = safegroup.Contain(func() (err error) {
		vectors, err = e.Embed(ctx, texts)
		return err
	})
	if p, ok := errors.AsType[*safegroup.PanicError](err); ok {
		return nil, &llm.Error{Class: llm.ClassPermanent, Err: p}
	}
	return vectors, err
}

// run makes the call. ctx has the caller's values, such as its trace, but ends with the cache.
func (c *Cache) run(ctx context.Context, call call) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	vectors, err := Contained(ctx, c.next, call.texts)
	if err == nil && len(vectors) != len(call.texts) {
		err = &llm.Error{Class: llm.ClassPermanent, Err: fmt.Errorf("embedder answered %d vectors for %d texts", len(vectors), len(call.texts))}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range call.waits {
		if p.err = err; err == nil {
			p.vector = vectors[i]
			c.vectors.Set(call.keys[i], p.vector)
		}
		delete(c.pending, call.keys[i])
		close(p.done)
	}
}

func (c *Cache) key(text string) textKey {
	h := sha256.New()
	h.Write([]byte(c.next.Info().Model))
	h.Write([]byte{0}) // no model's name has one
	h.Write([]byte(text))
	return textKey(h.Sum(nil))
}
