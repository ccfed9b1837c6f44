// Package milvusstore keeps the vectors of facts and messages in Milvus: the driver of store.VectorView. It works with servers from 2.3.
//
// One collection is one space. A row is never changed in place: Put deletes and inserts, because servers 2.3.5 to 2.3.9
// lose upserted rows from searches of a partition key (https://github.com/milvus-io/milvus/issues/30607). Rows of a scope
// lie together by the partition key, and every search and query names the scope.
package milvusstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	retry "github.com/grpc-ecosystem/go-grpc-middleware/retry"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusindex"
)

// A call whose context has no deadline gets one, because the client retries for minutes by itself.
const (
	openWithin    = 10 * time.Second
	searchWithin  = 10 * time.Second
	writeWithin   = 30 * time.Second
	prepareWithin = 2 * time.Minute // loading waits for the server's other collections
	eraseWithin   = 5 * time.Minute
)

// loadAgain is how often a server is asked to load that has no query node yet.
const loadAgain = 500 * time.Millisecond

// lag is the server's common.gracefulTime: how far behind a search with bounded staleness may be.
const lag = 5 * time.Second

// Options name the server and how to use it.
type Options struct {
	Address  string      // host:port
	Prefix   string      // of the collections' names: a letter or _, then letters, digits and _, at most 64
	Database string      // that must be there; "" for the server's default one
	TLS      *tls.Config // nil for none
	Username string      // "" for none
	Password string
	Token    string // an API token in place of user and password; "" for none
	// Index and Partitions are those of collections that Prepare makes; the zero values are those of the schema. A collection
	// keeps what it was made with, and is searched by the index that it has.
	Index      milvusindex.Index
	Partitions int
	Log        *slog.Logger // of collections that have another index or other partitions; nil for none
}

// View is a store.VectorView. It may be used by many goroutines at once.
type View struct {
	client  client.Client
	prefix  string
	schema  schema
	index   milvusindex.Index // of new collections
	indexes indexes           // that collections have
}

var _ store.VectorView = (*View)(nil)

// Open connects, and must be refused by collections of a newer schema. It fails when the server does not respond within ten
// seconds. The caller must call Close.
func Open(ctx context.Context, o Options) (*View, error) {
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString(o.Prefix) {
		return nil, errors.New("milvus: the prefix of collections is a letter or _, then letters, digits and _, at most 64 together")
	}
	if o.Address == "" {
		return nil, errors.New("milvus: no address")
	}
	current, err := readSchema()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	c, err := dial(ctx, config(o))
	if err != nil {
		return nil, fault(ctx, "connect to "+o.Address, err)
	}
	v := &View{client: c, prefix: o.Prefix, schema: current, index: o.Index}
	if v.index.Type == "" {
		v.index = milvusindex.Default(current.Index.Type)
	}
	if o.Partitions > 0 {
		v.schema.Partitions = int64(o.Partitions)
	}
	if err := v.refuseNewer(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if err := v.compare(ctx, o.Log); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// dial closes the connection when the server does not greet: the client would forget it open, once for each attempt to
// reach a server that is away.
func dial(ctx context.Context, c client.Config) (client.Client, error) {
	var conn atomic.Pointer[grpc.ClientConn]
	c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			conn.Store(cc)
			return invoke(ctx, method, req, reply, cc, o...)
		}))
	opened, err := client.NewClient(ctx, c)
	if cc := conn.Load(); err != nil && cc != nil {
		_ = cc.Close() // the error of connecting is the useful one
	}
	return opened, err
}

// config replaces all of the client's own options. By default it repeats calls to a server that is away for 22 seconds,
// inserts that may have been stored too, and refused writes for minutes; here the feeder repeats by itself, and a search
// has milliseconds. Connecting does not block, so that the first call returns why it failed.
func config(o Options) client.Config {
	return client.Config{
		Address: o.Address, Username: o.Username, Password: o.Password, APIKey: o.Token, DBName: o.Database,
		RetryRateLimit: &client.RetryRateLimitOption{MaxRetry: 5, MaxBackoff: 500 * time.Millisecond},
		DialOptions: []grpc.DialOption{
			grpc.WithTransportCredentials(transport(o.TLS)), // in place of the client's own ones, which cannot be given roots
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
				MinConnectTimeout: 3 * time.Second,
			}),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), retry.Disable()),
			grpc.WithChainUnaryInterceptor(timed),
		},
	}
}

func transport(c *tls.Config) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c)
}

// timed adds the time that each call took at the server to the clock of the call.
func timed(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	defer backendlatency.Begin(ctx)()
	return invoke(ctx, method, req, reply, c, o...)
}

// Lag is 5 seconds: what bounded staleness allows. Most rows are found much sooner.
func (v *View) Lag() time.Duration { return lag }

// Check asks the server whether all of its parts work.
func (v *View) Check(ctx context.Context) error {
	ctx, cancel := within(ctx, searchWithin)
	defer cancel()
	state, err := v.client.CheckHealth(ctx)
	if err != nil {
		return fault(ctx, "check health", err)
	}
	if !state.IsHealthy {
		return fmt.Errorf("milvus: unhealthy: %s", strings.Join(state.Reasons, "; "))
	}
	return nil
}

// Close ends the connection. Calls that run fail.
func (v *View) Close() error {
	if err := v.client.Close(); err != nil {
		return fmt.Errorf("milvus: close: %w", err)
	}
	return nil
}

// within adds a deadline to a context that has none.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
