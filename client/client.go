// Package client calls a server of Strata: the services of the contract over one connection, whose calls carry the key, keep a
// deadline, are retried by their request_id, and fail with an Error; lists as iterators; and messages of providers by their originals.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// DefaultAddress is where strata serve listens by default.
const DefaultAddress = "127.0.0.1:8081"

// DefaultTimeout is how long a call may take with all its attempts.
const DefaultTimeout = 30 * time.Second

// The service takes requests of 8 MiB; a reply may be somewhat larger than gRPC's own limit of 4 MiB.
const (
	mostReceived = 64 << 20
	mostSent     = 8 << 20
)

// Options are what a client is made of. The zero value is a client for a server on this machine.
type Options struct {
	// Key is the token of a key; that of STRATA_KEY where it is empty.
	Key string
	// Timeout is how long a call may take with all its attempts, where its context has no deadline; DefaultTimeout where it is 0.
	Timeout time.Duration
	// Retry is how often and how soon a call is made again.
	Retry Retry
	// TLS has the certificates of a connection over TLS, which an address that begins with https:// has without it too.
	TLS *tls.Config
	// Dial are further options of the connection, such as interceptors; they come after those of the client.
	Dial []grpc.DialOption
}

// Client calls one server, over one connection that any number of goroutines may share.
type Client struct {
	Memory      memoryv1.MemoryServiceClient
	Facts       memoryv1.FactServiceClient
	Documents   memoryv1.DocumentServiceClient
	Summaries   memoryv1.SummaryServiceClient
	Users       memoryv1.UserServiceClient
	History     memoryv1.HistoryServiceClient
	Work        memoryv1.WorkServiceClient
	Maintenance memoryv1.MaintenanceServiceClient
	Keys        memoryv1.KeyServiceClient
	Tenants     memoryv1.TenantServiceClient
	Audit       memoryv1.AuditServiceClient

	conn *grpc.ClientConn
}

// New returns a client of the server at an address: host and port, with https:// before them for TLS. An empty one is that of
// STRATA_SERVER, else DefaultAddress. It connects with the first call.
func New(address string, opts Options) (*Client, error) {
	address = cmp.Or(address, os.Getenv("STRATA_SERVER"), DefaultAddress)
	host, transport := transportOf(address, opts.TLS)
	conn, err := grpc.NewClient(host, append(dialOptions(transport, opts), opts.Dial...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &Client{
		Memory:      memoryv1.NewMemoryServiceClient(conn),
		Facts:       memoryv1.NewFactServiceClient(conn),
		Documents:   memoryv1.NewDocumentServiceClient(conn),
		Summaries:   memoryv1.NewSummaryServiceClient(conn),
		Users:       memoryv1.NewUserServiceClient(conn),
		History:     memoryv1.NewHistoryServiceClient(conn),
		Work:        memoryv1.NewWorkServiceClient(conn),
		Maintenance: memoryv1.NewMaintenanceServiceClient(conn),
		Keys:        memoryv1.NewKeyServiceClient(conn),
		Tenants:     memoryv1.NewTenantServiceClient(conn),
		Audit:       memoryv1.NewAuditServiceClient(conn),
		conn:        conn,
	}, nil
}

// Conn is the connection, for services that have no field here, such as grpc.health.v1. Calls by it are made as those of the fields are.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Close closes the connection. Calls after it fail.
func (c *Client) Close() error {
	return c.conn.Close()
}

func transportOf(address string, config *tls.Config) (host string, transport credentials.TransportCredentials) {
	host, secure := strings.CutPrefix(address, "https://")
	switch {
	case config != nil:
		return host, credentials.NewTLS(config)
	case secure:
		return host, credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	return strings.TrimPrefix(host, "http://"), insecure.NewCredentials()
}

// streamWindow and connectionWindow are how many bytes a server may send ahead of what was read. Windows of a fixed size: to find one by
// itself gRPC sends a PING with nearly every small reply, which the server has to acknowledge. They let one reply come with 10 MB/s, and
// all of a connection with 40 MB/s, over a way of 100 ms.
const (
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
)

func dialOptions(transport credentials.TransportCredentials, opts Options) []grpc.DialOption {
	attempts := attempts{timeout: cmp.Or(opts.Timeout, DefaultTimeout), retry: opts.Retry.orDefault()}
	// A connection that broke is tried again about as soon as calls are: by itself gRPC waits up to two minutes.
	soon := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostReceived), grpc.MaxCallSendMsgSize(mostSent)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: 5 * time.Second}),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithChainUnaryInterceptor(attempts.unary),
		grpc.WithChainStreamInterceptor(stream),
	}
	if key := cmp.Or(opts.Key, os.Getenv("STRATA_KEY")); key != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(key)))
	}
	return dial
}

// bearer sends a token with every call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: a server on this machine, or behind a proxy that ends TLS, has none.
func (bearer) RequireTransportSecurity() bool { return false }
