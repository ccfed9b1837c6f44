package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := e2e.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert := e2e.Must(x509.ParseCertificate(e2e.Must(x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key))(t)))(t)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{cert, key, pool}
}

// pair is a certificate with the common name and its key, in PEM.
func (a *authority) pair(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	own := e2e.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := e2e.Must(x509.CreateCertificate(rand.Reader, tmpl, a.cert, own.Public(), a.key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: e2e.Must(x509.MarshalPKCS8PrivateKey(own))(t)})
}

// client is a client's side of TLS, with a certificate of that name unless it is "".
func (a *authority) client(t *testing.T, name string) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: a.pool, MinVersion: tls.VersionTLS12}
	if name != "" {
		c.Certificates = []tls.Certificate{e2e.Must(tls.X509KeyPair(a.pair(t, name)))(t)}
	}
	return c
}

// files has a server use a certificate of that name, and the authority for those of clients.
func (a *authority) files(t *testing.T, dir, name string) func(*config.Config) {
	t.Helper()
	cert, key := a.pair(t, name)
	write := func(file string, data []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certFile, keyFile := write("server.pem", cert), write("server.key", key)
	ca := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	return func(c *config.Config) { c.TLSCert, c.TLSKey, c.TLSClientCA = certFile, keyFile, ca }
}

func over(t *testing.T, h *e2e.Server, c *tls.Config) memoryv1.MemoryServiceClient {
	t.Helper()
	conn := e2e.Must(grpc.NewClient(h.App.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(c))))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return memoryv1.NewMemoryServiceClient(conn)
}

// listedOf asks for sessions over REST.
func listedOf(t *testing.T, h *e2e.Server, c *tls.Config, header http.Header) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+h.App.Addr()+"/v1/users/ada/sessions", nil))(t)
	r.Header = header
	reply := e2e.Must(client.Do(r))(t) //nolint:bodyclose // it is, below
	defer func() { _ = reply.Body.Close() }()
	return reply.StatusCode, string(e2e.Must(io.ReadAll(reply.Body))(t))
}

func TestTheServerSpeaksTLS(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	h := e2e.StartOn(t, filepath.Join(dir, "strata.db"), a.files(t, dir, "first"))
	one := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "I like rain.")}}
	e2e.Must(over(t, h, a.client(t, "")).Record(h.Ctx, one))(t)
	t.Run("to HTTP/2 and to HTTP/1.1 on the same port", func(t *testing.T) {
		both, http1 := a.client(t, ""), a.client(t, "")
		http1.NextProtos = []string{"http/1.1"}
		for proto, c := range map[string]*tls.Config{"HTTP/2.0": both, "HTTP/1.1": http1} {
			client := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: proto == "HTTP/2.0"}
			defer client.CloseIdleConnections()
			r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+h.App.Addr()+"/v1/users/ada/sessions", nil))(t)
			reply := e2e.Must(client.RoundTrip(r))(t) //nolint:bodyclose // it is, below
			body := string(e2e.Must(io.ReadAll(reply.Body))(t))
			_ = reply.Body.Close()
			if reply.Proto != proto || reply.StatusCode != http.StatusOK || !strings.Contains(body, `"s"`) {
				t.Errorf("%s: %s %s: %s", proto, reply.Proto, reply.Status, body)
			}
		}
	})
	t.Run("and not in plain text", func(t *testing.T) {
		if _, err := h.Record(h.Ctx, one); status.Code(err) != codes.Unavailable {
			t.Errorf("a call without TLS: %v", err)
		}
		reply := e2e.Must(http.Get("http://" + h.App.Addr() + "/healthz"))(t) //nolint:bodyclose // it is, below
		body := string(e2e.Must(io.ReadAll(reply.Body))(t))
		_ = reply.Body.Close()
		if reply.StatusCode != http.StatusBadRequest || !strings.Contains(body, "an HTTP request to an HTTPS server") {
			t.Errorf("a request without TLS: %s: %s", reply.Status, body)
		}
	})
	t.Run("in no version before 1.2", func(t *testing.T) {
		c := a.client(t, "")
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if conn, err := tls.Dial("tcp", h.App.Addr(), c); err == nil {
			_ = conn.Close()
			t.Error("TLS 1.1 was accepted")
		}
	})
	t.Run("a certificate that is replaced counts for new connections", func(t *testing.T) {
		served := func() string {
			conn := e2e.Must(tls.Dial("tcp", h.App.Addr(), a.client(t, "")))(t)
			defer func() { _ = conn.Close() }()
			return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
		}
		if got := served(); got != "first" {
			t.Fatalf("%q is served at first", got)
		}
		a.files(t, dir, "second")
		e2e.Eventually(t, "the second certificate", func() bool { return served() == "second" })
	})
}

func TestClientsAreKnownByTheirCertificates(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	h := e2e.StartOn(t, filepath.Join(dir, "strata.db"), func(c *config.Config) {
		a.files(t, dir, "server")(c)
		c.Auth, c.BootstrapKey = config.AuthRequired, true
		c.ClientCertificates = map[string]config.ClientCertificate{
			"the agent": {Tenant: "acme", Role: "agent"}, "ada's app": {Tenant: "acme", Role: "user", User: "ada"},
		}
	})
	for _, id := range []string{"ada", "bob"} {
		e2e.Must(over(t, h, a.client(t, "the agent")).Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: id, SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "I like rain.")},
		}))(t)
	}
	token := http.Header{"Authorization": {"Bearer " + h.App.FirstKey()}}
	for _, row := range []struct {
		who     string
		config  *tls.Config
		header  http.Header
		ada     codes.Code // over gRPC, without the header
		overWeb int
	}{
		{"its agent", a.client(t, "the agent"), nil, codes.OK, http.StatusOK},
		{"the user", a.client(t, "ada's app"), nil, codes.OK, http.StatusOK},
		{"a name that nobody configured", a.client(t, "mallory"), nil, codes.Unauthenticated, http.StatusUnauthorized},
		{"nobody", a.client(t, ""), nil, codes.Unauthenticated, http.StatusUnauthorized},
		{"a token, which counts alone: of an admin of another tenant", a.client(t, "mallory"), token, codes.Unauthenticated, http.StatusOK},
		{"a token that is no good", a.client(t, "the agent"), http.Header{"Authorization": {"Bearer x.y.z"}}, codes.OK, http.StatusUnauthorized},
	} {
		t.Run(row.who, func(t *testing.T) {
			_, err := over(t, h, row.config).ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"})
			if status.Code(err) != row.ada {
				t.Errorf("over gRPC: %v", err)
			}
			if code, body := listedOf(t, h, row.config, row.header); code != row.overWeb {
				t.Errorf("over REST: %d: %s", code, body)
			}
		})
	}
	t.Run("a user's certificate reaches nobody else", func(t *testing.T) {
		_, err := over(t, h, a.client(t, "ada's app")).ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "bob"})
		if status.Code(err) != codes.NotFound {
			t.Errorf("ada's certificate asks for bob: %v", err)
		}
	})
	t.Run("one that another authority signed ends the handshake", func(t *testing.T) {
		c := newAuthority(t).client(t, "the agent")
		c.RootCAs = a.pool
		if _, err := over(t, h, c).ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}); status.Code(err) != codes.Unavailable {
			t.Errorf("it is answered %v", err)
		}
	})
	if log := h.Log.String(); strings.Contains(log, h.App.FirstKey()) || strings.Contains(log, "PRIVATE KEY") {
		t.Error("the log holds a credential")
	}
}

// TestAccessByCertificates: what a role may do does not depend on how its bearer is known.
func TestAccessByCertificates(t *testing.T) {
	t.Parallel()
	a, dir, roles := newAuthority(t), t.TempDir(), []string{"agent", "user", "operator", "admin"}
	h := e2e.StartOn(t, filepath.Join(dir, "strata.db"), func(c *config.Config) {
		a.files(t, dir, "server")(c)
		c.Auth, c.ClientCertificates = config.AuthRequired, map[string]config.ClientCertificate{"user": {Tenant: "default", Role: "user", User: "ada"}}
		for _, role := range []string{"agent", "operator", "admin"} {
			c.ClientCertificates[role] = config.ClientCertificate{Tenant: "default", Role: role}
		}
	})
	doors, cells := map[string]e2e.GRPCDoor{}, permissions(t)
	for _, role := range append(roles, "mallory") {
		conn := e2e.Must(grpc.NewClient(h.App.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(a.client(t, role)))))(t)
		t.Cleanup(func() { _ = conn.Close() })
		doors[role] = e2e.GRPCDoor{Conn: conn}
	}
	refused := map[string][]byte{}
	for i, step := range walk {
		aboutUser := cells[step.method]["about"] == "a user" && step.method != "UserService/ImportUser" && strings.Contains(step.request, "$user")
		for _, role := range roles {
			_, err := (&steps{door: doors[role], user: "ada", canary: "x"}).take(t, i)
			wantAllowed(t, step.method, "certificate of "+role, cells[step.method][role] != "–", role, aboutUser, err)
		}
		_, err := (&steps{door: doors["mallory"], user: "ada"}).take(t, i)
		wantRefused(t, step.method, "certificate of nobody", err, refused)
	}
}

func TestCertificatesThatCannotBeUsedAreNamedAtTheStart(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t), t.TempDir()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(dir, "strata.db"), "127.0.0.1:0", ""
	a.files(t, dir, "server")(&cfg)
	if err := os.WriteFile(filepath.Join(dir, "server.key"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err == nil || !strings.Contains(err.Error(), "server.key") {
		t.Errorf("a key that is none: %v", err)
	}
}
