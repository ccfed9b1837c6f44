package grpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"google.golang.org/grpc/credentials"
)

// overTLS has the connections that l accepts speak TLS, where the server has a certificate. They are limited as they come, below TLS.
func (s *Server) overTLS(l net.Listener) net.Listener {
	if s.tls == nil {
		return l
	}
	return tls.NewListener(l, s.tls)
}

// tlsOf is the TLS connection that a connection goes over, whatever stands above it; nil for none.
func tlsOf(c net.Conn) *tls.Conn {
	for {
		switch v := c.(type) {
		case *tls.Conn:
			return v
		case interface{ NetConn() net.Conn }:
			c = v.NetConn()
		default:
			return nil
		}
	}
}

// handshaken gives gRPC the certificates of a connection whose handshake is over: the beginning of its first request was read to see
// which protocol it speaks. It implements credentials.TransportCredentials for a server.
type handshaken struct{}

// ServerHandshake implements credentials.TransportCredentials.
func (handshaken) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	over := tlsOf(c)
	if over == nil {
		return nil, nil, errors.New("a connection without TLS")
	}
	if err := over.HandshakeContext(context.Background()); err != nil { // of a server that speaks gRPC alone; gRPC bounds it
		return nil, nil, err
	}
	return c, credentials.TLSInfo{
		State: over.ConnectionState(), CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (handshaken) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("these are credentials of a server")
}

// Info implements credentials.TransportCredentials.
func (handshaken) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (h handshaken) Clone() credentials.TransportCredentials { return h }

// OverrideServerName implements credentials.TransportCredentials.
func (handshaken) OverrideServerName(string) error { return nil }

type tlsKey struct{}

// withTLSOf keeps the connection's TLS for its requests: net/http does not see it under what divides protocols.
func withTLSOf(ctx context.Context, c net.Conn) context.Context {
	if over := tlsOf(c); over != nil {
		return context.WithValue(ctx, tlsKey{}, over)
	}
	return ctx
}

// knowingTLS has requests say over which TLS they came.
func knowingTLS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if over, ok := r.Context().Value(tlsKey{}).(*tls.Conn); ok {
			state := over.ConnectionState()
			r.TLS = &state
		}
		next.ServeHTTP(w, r)
	})
}
