package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// maxConnectionPause is how long a connection over HTTP may be idle between requests.
const maxConnectionPause = 2 * time.Minute

type connectionKey struct{}

// newHTTPServer makes the server of connections that do not speak gRPC. What a client may hold of replies is bounded as for gRPC's:
// by the connection. What it may hold of requests is bounded by the handler.
func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           containedHTTP(knowingTLS(handler), log),
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: connectTimeout,
		IdleTimeout:       maxConnectionPause,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // of clients' faults
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = withTLSOf(ctx, c)
			a, ok := c.RemoteAddr().(connectionAddr)
			if !ok {
				return ctx
			}
			a.connection.uncounted()
			return context.WithValue(ctx, connectionKey{}, a.connection)
		},
	}
}

// containedHTTP has a panic end the request alone, as one of a gRPC call does: net/http would write its value, which may hold a user's
// words, and count it nowhere.
func containedHTTP(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler) // a reply that is cut off on purpose
			}
			log.ErrorContext(r.Context(), "request over HTTP", "error", safegroup.Recovered(v))
			http.Error(w, "internal error; the server's log has the cause", http.StatusInternalServerError)
		}()
		next.ServeHTTP(w, r)
	})
}

// shutdownHTTP lets running calls finish. When the drain timeout has passed their handlers are cut off, and with them their calls.
func (s *Server) shutdownHTTP() {
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}

// unlessClosed is nil for the error of a listener that was closed on purpose, before it was served too.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}
