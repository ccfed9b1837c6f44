package faults_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// The faults that no proxy makes.
const (
	erring  backendtest.Fault = "erroring"     // every request is answered by an error
	foreign backendtest.Fault = "foreign rows" // answers hold what is another user's, or was never said
)

// mood is what is wrong with a backend, and how often it was asked.
type mood struct {
	mu    sync.Mutex
	fault backendtest.Fault // "" while nothing is
	asked atomic.Int64
}

func (m *mood) set(f backendtest.Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func (m *mood) is(f backendtest.Fault) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault == f
}

// What moody views say. Feeders log why a view cannot be fed, so a driver must not quote; nothing of a search gets out.
var (
	errPut    = errors.New("the server takes nothing")
	errSearch = errors.New("the server says no to " + canaryOfEve)
)

// moodyVectors is a view of vectors that errs or lies when it is told to.
type moodyVectors struct {
	store.VectorView
	*mood
	put sync.Map // store.VectorHit of every row that it was given
}

func (v *moodyVectors) Put(ctx context.Context, space store.VectorSpace, rows []store.VectorRow) error {
	if v.is(erring) {
		return errPut
	}
	for _, r := range rows {
		v.put.Store(store.VectorHit{Scope: r.Scope, FactID: r.FactID, Score: 1}, true)
	}
	return v.VectorView.Put(ctx, space, rows)
}

func (v *moodyVectors) Search(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
	v.asked.Add(1)
	if v.is(erring) {
		return nil, errSearch
	}
	hits, err := v.VectorView.Search(ctx, q)
	if err != nil || !v.is(foreign) {
		return hits, err
	}
	return append(lies(&v.put, q.Scope, func(h store.VectorHit) memory.ScopeKey { return h.Scope },
		func(h store.VectorHit) store.VectorHit { h.Scope = q.Scope; return h }), hits...), nil
}

// lies are all rows of others, each as what it is and once more as the asker's own.
func lies[Hit any](rows *sync.Map, asker memory.ScopeKey, of func(Hit) memory.ScopeKey, forged func(Hit) Hit) []Hit {
	var out []Hit
	rows.Range(func(k, _ any) bool {
		if h, ok := k.(Hit); ok && of(h) != asker {
			out = append(out, h, forged(h))
		}
		return true
	})
	return out
}

// moodyTexts is a full-text view that errs or lies when it is told to.
type moodyTexts struct {
	store.TextView
	*mood
	messages, facts sync.Map // store.TextHit of every row that it was given
}

func (v *moodyTexts) rows(view memory.View) *sync.Map {
	if view == memory.ViewFacts {
		return &v.facts
	}
	return &v.messages
}

func (v *moodyTexts) Put(ctx context.Context, space store.TextSpace, rows []store.TextRow) error {
	if v.is(erring) {
		return errPut
	}
	for _, r := range rows {
		v.rows(space.View).Store(store.TextHit{Scope: r.Scope, Place: r.Place, FactID: r.FactID, Score: 100}, true)
	}
	return v.TextView.Put(ctx, space, rows)
}

func (v *moodyTexts) Search(ctx context.Context, q store.TextSearch) ([]store.TextHit, error) {
	v.asked.Add(1)
	if v.is(erring) {
		return nil, errSearch
	}
	hits, err := v.TextView.Search(ctx, q)
	if err != nil || !v.is(foreign) {
		return hits, err
	}
	return append(lies(v.rows(q.Space.View), q.Scope, func(h store.TextHit) memory.ScopeKey { return h.Scope },
		func(h store.TextHit) store.TextHit { h.Scope = q.Scope; return h }), hits...), nil
}

// moodyModel scripts a server of a chat model and an embedder, each with a mood of its own.
type moodyModel struct {
	e2e.Moody
	chat, embedder mood
}

func (m *moodyModel) serve(t *testing.T) *llmtest.Server {
	t.Helper()
	s := llmtest.New(llmtest.Options{Chat: m.complete, Embed: m.embed})
	t.Cleanup(s.Close)
	return s
}

func (m *moodyModel) complete(r llmtest.Request) llmtest.Reply {
	m.chat.asked.Add(1)
	switch {
	case m.chat.is(erring):
		return llmtest.Fails(http.StatusInternalServerError, llmtest.Failure{Message: r.User})
	case m.chat.is(foreign) && r.Operation == llm.OpExtract:
		return invent(e2e.Read(r))
	}
	return m.Answer(r)
}

// invent returns what the user said, and each time what the user never said.
func invent(a e2e.Asked) llmtest.Reply {
	var ops []extract.Op
	for text, alias := range a.Lines {
		for _, found := range e2e.Likes.FindAllStringSubmatch(text, -1) {
			never := a.Add("Likes "+canaryOfEve, "I like "+canaryOfEve)
			never.Message = alias
			ops = append(ops, never, a.Add("Likes "+found[1], found[0]))
		}
	}
	return e2e.Say(ops)
}

func (m *moodyModel) embed(r llmtest.EmbedRequest) llmtest.EmbedReply {
	m.embedder.asked.Add(1)
	switch {
	case m.embedder.is(erring):
		return llmtest.EmbedReply{Status: http.StatusInternalServerError, Failure: llmtest.Failure{Message: strings.Join(r.Texts, " ")}}
	case m.embedder.is(foreign):
		wrong := llmtest.Vector(factOfEve, llmtest.DefaultDimension)
		return llmtest.EmbedReply{Vectors: slices.Repeat([][]float32{wrong}, len(r.Texts))}
	}
	return llmtest.EmbedReply{}
}

// moodyMongo passes what clients and a MongoDB server say to each other, but answers every command itself, as a server
// that is shutting down does, when it is told to.
type moodyMongo struct {
	mood
	server string // HOST:PORT
}

// serve returns the address of the relay.
func (m *moodyMongo) serve(t *testing.T) string {
	t.Helper()
	l := e2e.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { m.relay(ctx, client) })
		}
	})
	t.Cleanup(func() {
		stop()
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// relay passes one connection until either side or ctx ends.
func (m *moodyMongo) relay(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.server)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	m.forward(client, server)
	_ = server.Close()
	back.Wait()
}

// forward reads the client's messages: a header of four numbers, the first of which is the length of all, and a body.
func (m *moodyMongo) forward(client, server net.Conn) {
	const opMsg = 2013
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, max(0, int(binary.LittleEndian.Uint32(head))-len(head)))
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		to, message := server, slices.Concat(head, body)
		if m.is(erring) && binary.LittleEndian.Uint32(head[12:]) == opMsg {
			m.asked.Add(1)
			to, message = client, shuttingDown(head[4:8])
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}

// shuttingDown is the answer InterruptedAtShutdown to a request.
func shuttingDown(request []byte) []byte {
	doc, err := bson.Marshal(bson.D{
		{Key: "ok", Value: 0.0},
		{Key: "code", Value: int32(11600)},
		{Key: "codeName", Value: "InterruptedAtShutdown"},
		{Key: "errmsg", Value: canaryOfEve + " was interrupted at shutdown"},
	})
	if err != nil {
		panic(err) // the document above is always one
	}
	message := binary.LittleEndian.AppendUint32(nil, uint32(16+4+1+len(doc)))
	message = append(message, 0, 0, 0, 1)
	message = append(message, request...)
	message = append(message, 0xdd, 0x07, 0, 0, 0, 0, 0, 0, 0) // OP_MSG, no flags, a section of one document
	return append(message, doc...)
}
