package mongostore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func TestServersThatStartAtOnceMigrateTogether(t *testing.T) {
	backend.MongoDB(t)
	name := database(t)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			s, err := mongostore.Open(t.Context(), mongostore.Options{URI: backend.MongoDB(t), Database: name})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
	if got := document(t, client(t).Database(name).Collection("meta")); len(got) != 2 {
		t.Errorf("meta holds %v", got)
	}
}

func TestANewerSchemaIsRefusedSayingWhatToDo(t *testing.T) {
	name := database(t)
	_, err := client(t).Database(name).Collection("meta").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "schema"}, {Key: "version", Value: 99}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = mongostore.Open(t.Context(), mongostore.Options{URI: backend.MongoDB(t), Database: name})
	if err == nil || !strings.Contains(err.Error(), "use the newer program") {
		t.Errorf("Open: %v", err)
	}
}

func TestOpenOfAServerThatIsNotThereSaysSo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = mongostore.Open(ctx, mongostore.Options{URI: "mongodb://user:secret@" + address})
	if memory.ReasonOf(err) != memory.ReasonStoreUnavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("Open: %v", err)
	}
}

func TestAConnectionStringThatCannotBeUsedIsRefusedWithoutItsPassword(t *testing.T) {
	for _, uri := range []string{"", "mongo://u:secret@h", "mongodb://u:secret@h/?w=%zz", "mongodb://u:sec%ret@h"} {
		if _, err := mongostore.Open(t.Context(), mongostore.Options{URI: uri}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open of %q: %v", uri, err)
		}
	}
}

// notInTime is far above what a call takes that ends by its deadline, also on a machine that does other work.
const notInTime = 20 * time.Second

// A server that accepts and does not answer must not hold a call longer than the call has time.
func TestAServerThatHangsHoldsNoCallBeyondItsDeadline(t *testing.T) {
	p := newProxy(t, server(t))
	s, err := mongostore.Open(t.Context(), mongostore.Options{URI: p.uri(), Database: database(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	ref := alice.Session("s")
	mustAppend(t, s, say(ref, "1"))
	p.hang()
	for name, call := range map[string]func(context.Context) error{
		"Append":  func(ctx context.Context) error { _, err := s.Append(ctx, say(ref, "2")); return err },
		"Session": func(ctx context.Context) error { _, err := s.Session(ctx, ref); return err },
		"Messages": func(ctx context.Context) error {
			_, err := s.Messages(ctx, store.MessageQuery{Ref: ref, Limit: 1})
			return err
		},
		"PendingFeeds": func(ctx context.Context) error { _, err := s.PendingFeeds(ctx, memory.ViewFacts, 1); return err },
		"Check":        s.Check,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		err := call(ctx)
		if took := time.Since(began); memory.ReasonOf(err) != memory.ReasonStoreUnavailable || took > notInTime {
			t.Errorf("%s took %v and returned %v", name, took, err)
		}
		cancel()
	}
	p.resume()
	mustAppend(t, s, say(ref, "3"))
}

func TestErrorsOfTheServerKeepItsWordsToThemselves(t *testing.T) {
	quoting := mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000, Message: `dup key: { user_id: "alice" }`}}}
	for name, x := range map[string]struct {
		err    error
		reason memory.Reason
	}{
		"a refused write": {quoting, ""},
		"a write that no majority confirmed": {
			mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 100, Message: "alice"}}, memory.ReasonStoreUnavailable,
		},
		"a lost primary":    {mongo.CommandError{Code: 10107, Message: "not primary alice"}, memory.ReasonStoreUnavailable},
		"a full disk":       {mongo.CommandError{Code: 14031, Message: "alice"}, memory.ReasonStoreFull},
		"a closed client":   {mongo.ErrClientDisconnected, memory.ReasonShuttingDown},
		"a network failure": {mongo.CommandError{Labels: []string{"NetworkError"}, Message: "EOF"}, memory.ReasonStoreUnavailable},
		"a deadline":        {context.DeadlineExceeded, memory.ReasonStoreUnavailable},
		"no server, after one of them failed": {topology.ServerSelectionError{Wrapped: context.DeadlineExceeded, Desc: description.Topology{
			Servers: []description.Server{{LastError: driver.Error{Code: 11600, Message: "alice"}}},
		}}, memory.ReasonStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			err := mongostore.Explain("try", x.err)
			if memory.ReasonOf(err) != x.reason || strings.Contains(err.Error(), "alice") {
				t.Errorf("the error is %v with reason %q", err, memory.ReasonOf(err))
			}
		})
	}
	t.Run("a call that was cancelled", func(t *testing.T) {
		if err := mongostore.Explain("try", mongo.CommandError{Wrapped: context.Canceled}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
}

// server is the address of the first server of the connection string.
func server(t *testing.T) string {
	t.Helper()
	return options.Client().ApplyURI(backend.MongoDB(t)).Hosts[0]
}

// proxy stands before a server and can stop to carry bytes without closing a connection.
type proxy struct {
	listener net.Listener
	server   string
	work     sync.WaitGroup

	mu    sync.Mutex
	flow  chan struct{} // closed while bytes flow
	conns []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, flow: make(chan struct{})}
	close(p.flow)
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) uri() string {
	return "mongodb://" + p.listener.Addr().String() + "/?directConnection=true"
}

func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flow = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.flow)
}

func (p *proxy) flowing() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flow
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.work.Go(func() { p.carry(in, out) })
		p.work.Go(func() { p.carry(out, in) })
	}
}

// carry copies until one side closes.
func (p *proxy) carry(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		<-p.flowing()
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}
