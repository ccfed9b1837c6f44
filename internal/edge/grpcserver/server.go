// Package grpcserver serves an API over gRPC: it verifies callers, admits calls, counts what requests and replies hold,
// bounds connections, keeps deadlines, makes entries in the audit, and drains. It knows no RPC by name: an API value says
// what it must know of the calls.
package grpcserver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/edge/protocolmux"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Limits of a connection. The receive limit lies above the limits of the API so that the error of a request that is
// too large can name the field.
const (
	maxReceiveBytes   = 8 << 20
	maxHeaderBytes    = 16 << 10
	maxStreams        = 250 // per connection; unlimited otherwise, which invites rapid resets (CVE-2023-44487)
	connectTimeout    = 10 * time.Second
	keepaliveMinTime  = 30 * time.Second
	maxConnectionIdle = 15 * time.Minute
	// streamWindow and connectionWindow are how many bytes a client may send ahead of what was read. Windows of a fixed size: to find one
	// by itself the transport sends a PING and a WINDOW_UPDATE with almost every small call, which both sides have to write, read and
	// acknowledge. They let one call send 10 MB/s, and all of a connection 40 MB/s, over a way of 100 ms.
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
	// callWorkers is how many goroutines wait for calls, their stacks grown by earlier ones; a goroutine for each call grows its own.
	// Calls that find none of them free have goroutines of their own.
	callWorkers = 8
)

// Options are what a Server needs.
type Options struct {
	API            API
	Access         Access
	Audit          Audit
	Admission      Admission
	Port           Port
	Observed       Observed
	RequestTimeout time.Duration // the longest a call may take
	DrainTimeout   time.Duration // how long Serve waits for running calls when its context ends
	Log            *slog.Logger
	// HTTP makes the handler of clients that do not speak gRPC, on the same port; nil for none.
	HTTP func(Entrance) (http.Handler, error)
}

// Access says who calls and how often.
type Access struct {
	Verifier auth.Verifier // says who calls; nil while authentication is off
	Refusals Refusals      // counts credentials that were refused; nil for nobody
	Limits   Limiter       // nil for none
}

// Audit says which calls have entries in the audit.
type Audit struct {
	To     Auditor // keeps the entries; nil while the audit is off
	Agents bool    // whether what agents do each day has entries too
}

// Admission says which calls may run now. Gate is required.
type Admission struct {
	Gate       *admission.Gate
	Turns      *admission.Turns      // of tenants; nil for none
	StoreLimit *admission.StoreLimit // of calls at once while the primary store does not keep up; nil for none
}

// Port is what the Server offers on its port, and what clients may keep open there.
type Port struct {
	TLS            *tls.Config   // nil for none
	Reflection     bool          // whether the server describes its services to clients
	MaxConnections int           // open at once; further ones are closed
	ReplyTimeout   time.Duration // how long a reply may go unread before its connection is closed
}

// Observed is where the Server reports its calls. Each field may be nil.
type Observed struct {
	Meter  Meter         // counts calls
	Calls  *atomic.Int64 // is how many are being served now
	Traces stats.Handler // makes a span of every call
}

// Entrance is what a handler of HTTP reaches the API by.
type Entrance struct {
	GRPC     http.Handler // serves gRPC over HTTP
	Services []string     // the full names of its services that HTTP serves too
	// MayCall returns nil where the sender of a request may call a method of the API, by its full name, else the error of the call. It is
	// for what is no call and is shown to the same people.
	MayCall func(r *http.Request, method string) error
}

// Server serves the API over gRPC, and over HTTP where it is given a handler for that.
type Server struct {
	grpc   *grpc.Server
	http   *http.Server // nil for none
	health *health.Server
	drain  time.Duration
	log    *slog.Logger
	gate   *admission.Gate
	tls    *tls.Config // nil for none
	conns  connectionLimits
}

// connectionLimits bound what clients may keep open and unread.
type connectionLimits struct {
	most     int
	patience time.Duration
}

// New makes a Server. It fails where nobody decided who may call a method.
func New(o Options) (*Server, error) {
	if o.Observed.Calls == nil {
		o.Observed.Calls = &atomic.Int64{}
	}
	g := newGuard(o)
	s := &Server{
		grpc: grpc.NewServer(serverOptions(o, g)...), health: health.NewServer(), drain: o.DrainTimeout, log: o.Log,
		gate: o.Admission.Gate, tls: o.Port.TLS, conns: connectionLimits{o.Port.MaxConnections, o.Port.ReplyTimeout},
	}
	o.API.Register(early{s.grpc, g})
	services := slices.Sorted(maps.Keys(s.grpc.GetServiceInfo()))
	healthv1.RegisterHealthServer(s.grpc, s.health)
	if o.Port.Reflection {
		reflection.Register(s.grpc)
	}
	if err := s.finish(o, g, services); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// finish checks who may call what, and makes what serves callers who do not speak gRPC.
func (s *Server) finish(o Options, g *guard, services []string) error {
	if err := o.API.Check(s.grpc.GetServiceInfo()); err != nil || o.HTTP == nil {
		return err
	}
	handler, err := o.HTTP(Entrance{GRPC: s.grpc, Services: services, MayCall: g.mayCall})
	if err != nil {
		return err
	}
	s.http = newHTTPServer(handler, o.Log)
	return nil
}

// Close ends a server whose Serve was never called, or has returned.
func (s *Server) Close() { s.grpc.Stop() }

func serverOptions(o Options, g *guard) []grpc.ServerOption {
	a := &admitted{gate: o.Admission.Gate, longest: o.RequestTimeout, heavy: o.API.Heavy}
	trail := &auditor{to: o.Audit.To, agents: o.Audit.Agents, api: o.API, log: o.Log}
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec(a)),
		grpc.MaxRecvMsgSize(maxReceiveBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinTime, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: maxConnectionIdle}),
		grpc.NumStreamWorkers(callWorkers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ChainUnaryInterceptor(withCount(o.Observed.Calls), withMeter(meterOf(o)), trail.unary, withOutcome(o.Log, o.API),
			a.withRequests, g.unary, withWellFormed, withDeadline(o.RequestTimeout), a.withReplies, withTurns(o.Admission.Turns, o.API),
			withStoreLimit(o.Admission.StoreLimit, o.RequestTimeout, o.API), a.withHeavy),
		grpc.StreamInterceptor(a.streams(o.Observed.Calls, g, trail, meterOf(o))),
	}
	if o.Observed.Traces != nil {
		options = append(options, grpc.StatsHandler(o.Observed.Traces))
	}
	if o.Port.TLS != nil {
		options = append(options, grpc.Creds(handshaken{}))
	}
	return options
}

func meterOf(o Options) Meter {
	if o.Observed.Meter == nil {
		return unmetered{}
	}
	return o.Observed.Meter
}

// SetHealthy says whether the service can serve, for grpc.health.v1.
func (s *Server) SetHealthy(ok bool) {
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if ok {
		status = healthv1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, status)
	}
}

// Serve serves calls on l until ctx ends. Then it reports NOT_SERVING, lets running calls finish within the drain
// timeout, cuts the rest off and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.shutdown()
	})
	err := s.serve(s.overTLS(newConnections(l, s.conns, s.gate, s.log)))
	if stop() { // Serve failed by itself
		return err
	}
	<-stopped
	return err
}

func (s *Server) serve(l net.Listener) error {
	if s.http == nil {
		return unlessClosed(s.grpc.Serve(l))
	}
	mux := protocolmux.New(l, connectTimeout)
	var g safegroup.Group
	g.Go(func() error { return unlessClosed(mux.Serve()) })
	g.Go(func() error { return unlessClosed(s.http.Serve(mux.HTTP())) })
	g.Go(func() error { return unlessClosed(s.grpc.Serve(mux.GRPC())) })
	return g.Wait()
}

func (s *Server) shutdown() {
	s.health.Shutdown()
	cut := time.AfterFunc(s.drain, func() {
		s.log.Warn("drain timeout passed; running calls are cut off", "timeout", s.drain)
		s.grpc.Stop()
	})
	defer cut.Stop()
	if s.http != nil { // first: its calls are gRPC's too
		s.shutdownHTTP()
	}
	s.grpc.GracefulStop()
}
