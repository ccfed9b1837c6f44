package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// ServerOptions are what a Server needs.
type ServerOptions struct {
	Address  string                      // host:port; port 0 takes a free one
	Recorder *Recorder                   // what /metrics shows
	Check    func(context.Context) error // whether the program can serve, for /healthz
	Log      *slog.Logger
}

// Server serves /metrics and /healthz over HTTP.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// The limits of the HTTP server.
const (
	headerTimeout = 5 * time.Second
	replyTimeout  = 30 * time.Second
	stopTimeout   = 5 * time.Second
	maxHeader     = 16 << 10
)

// Listen opens the port. Whoever calls it must call Serve or Close.
func Listen(ctx context.Context, o ServerOptions) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w; set metrics-listen to another address, or to nothing to turn metrics off", err)
	}
	return &Server{listener: l, http: &http.Server{
		Handler: o.handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: replyTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}}, nil
}

func (o ServerOptions) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Recorder.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := safegroup.Contain(func() error { return o.Check(r.Context()) }); err != nil {
			http.Error(w, "cannot serve; the log says why", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Addr returns the address the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close closes the port of a server that was never served.
func (s *Server) Close() error { return s.listener.Close() }

// Serve handles requests until ctx ends, lets running replies finish within a few seconds, and returns nil.
func (s *Server) Serve(ctx context.Context) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		until, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		stopped <- s.http.Shutdown(until)
	})
	err := s.http.Serve(s.listener)
	if stop() { // Serve failed by itself
		return fmt.Errorf("serve metrics: %w", err)
	}
	if err := <-stopped; err != nil {
		return errors.Join(fmt.Errorf("stop the metrics server: %w", err), s.http.Close())
	}
	return nil
}
