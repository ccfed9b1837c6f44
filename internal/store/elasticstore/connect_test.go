package elasticstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/access/certificates"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// guarded is the real server behind a proxy that speaks TLS and lets in whoever it admits.
func guarded(t *testing.T, clients tls.ClientAuthType, admits func(r *http.Request) bool) *httptest.Server {
	t.Helper()
	target, err := url.Parse(backend.Elasticsearch(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !admits(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"type":"security_exception","reason":"` + r.Header.Get("Authorization") + `"}}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: clients, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.Listener = lingering{server.Listener}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// lingering is a listener whose connections are read until the client hangs up, a second at most, before they are closed: closing one
// with unread bytes resets it, and the client may lose the alert that says why TLS did not let it in.
type lingering struct{ net.Listener }

func (l lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return lingeringConn{conn.(*net.TCPConn)}, nil
}

type lingeringConn struct{ *net.TCPConn }

func (c lingeringConn) Close() error {
	if c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = io.Copy(io.Discard, c.TCPConn)
	}
	return c.TCPConn.Close()
}

func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// selfSigned writes a certificate that vouches for itself, and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "strata"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "cert.pem", "CERTIFICATE", signed), writePEM(t, "key.pem", "PRIVATE KEY", secret)
}

func anybody(*http.Request) bool { return true }

func TestOverTLS(t *testing.T) {
	cert, key := selfSigned(t)
	for _, c := range []struct {
		name    string
		clients tls.ClientAuthType
		files   certificates.ClientFiles // without CA: that of the server
		says    string                   // "" where it connects
	}{
		{"a server whose authority is named is called", tls.NoClientCert, certificates.ClientFiles{}, ""},
		{"the name in its certificate may be another than its host's", tls.NoClientCert, certificates.ClientFiles{ServerName: "example.com"}, ""},
		{"a certificate of another name is refused", tls.NoClientCert, certificates.ClientFiles{ServerName: "other.test"}, "not other.test"},
		{"a certificate of another authority is refused", tls.NoClientCert, certificates.ClientFiles{CA: cert}, "x509: "},
		{"a server that asks for a certificate is shown one", tls.RequireAnyClientCert, certificates.ClientFiles{Cert: cert, Key: key}, ""},
		{"a client without the certificate that is asked for is told so", tls.RequireAnyClientCert, certificates.ClientFiles{}, "certificate required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := guarded(t, c.clients, anybody)
			if c.files.CA == "" {
				c.files.CA = writePEM(t, "ca.pem", "CERTIFICATE", server.Certificate().Raw)
			}
			config, err := certificates.Client(c.files)
			if err != nil {
				t.Fatal(err)
			}
			v, err := elasticstore.Open(t.Context(), elasticstore.Options{URL: server.URL, TLS: config})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error is %v, want it to say %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if err := v.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	const user, password, apiKey = "strata", "p4ssw0rd", "a2V5OnZhbHVl"
	byKey := func(r *http.Request) bool { return r.Header.Get("Authorization") == "APIKey "+apiKey }
	byUser := func(r *http.Request) bool {
		name, word, ok := r.BasicAuth()
		return ok && name == user && word == password
	}
	for _, c := range []struct {
		name   string
		admits func(*http.Request) bool
		with   elasticstore.Options
		ok     bool
	}{
		{"an API key", byKey, elasticstore.Options{APIKey: apiKey}, true},
		{"another API key", byKey, elasticstore.Options{APIKey: "b3RoZXI="}, false},
		{"a user and a password", byUser, elasticstore.Options{Username: user, Password: password}, true},
		{"another password", byUser, elasticstore.Options{Username: user, Password: "0ther"}, false},
		{"nothing", byUser, elasticstore.Options{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := guarded(t, tls.NoClientCert, c.admits)
			config, err := certificates.Client(certificates.ClientFiles{CA: writePEM(t, "ca.pem", "CERTIFICATE", server.Certificate().Raw)})
			if err != nil {
				t.Fatal(err)
			}
			c.with.URL, c.with.TLS = server.URL, config
			v, err := elasticstore.Open(t.Context(), c.with)
			if err == nil {
				defer v.Close()
			}
			if (err == nil) != c.ok {
				t.Fatalf("Open returned %v", err)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), "401 (security_exception)") {
				t.Errorf("the error is %v", err)
			}
			for _, secret := range []string{"b3RoZXI=", "0ther", "c3RyYXRhOjB0aGVy"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error repeats %q: %v", secret, err)
				}
			}
		})
	}
}

func TestAnalyzersThatTheServerLacksAreNamedWithTheirPlugin(t *testing.T) {
	address := backend.Elasticsearch(t)
	open := func(o elasticstore.Options) error {
		o.URL = address
		v, err := elasticstore.Open(t.Context(), o)
		if err == nil {
			err = v.Close()
		}
		return err
	}
	err := open(elasticstore.Options{Content: true, Analyzers: []string{"standard", "no_such_analyzer"}})
	if !errors.Is(err, store.ErrViewSettings) || !strings.Contains(err.Error(), "the analyzer no_such_analyzer is not there") {
		t.Errorf("got %v", err)
	}
	for name, plugin := range map[string]string{
		"nori": "analysis-nori", "kuromoji": "analysis-kuromoji", "smartcn": "analysis-smartcn", "icu": "analysis-icu",
	} {
		err := open(elasticstore.Options{Content: true, Analyzers: []string{name}})
		if err != nil && (!errors.Is(err, store.ErrViewSettings) || !strings.Contains(err.Error(), "install the plugin "+plugin)) {
			t.Errorf("%s: %v", name, err) // a server that has the plugin opens
		}
	}
	if err := open(elasticstore.Options{Analyzers: []string{"no_such_analyzer"}}); err != nil {
		t.Errorf("without content: %v", err)
	}
}

func TestEachAnalyzerHasAFieldOfItsOwn(t *testing.T) {
	s := operated(t, elasticstore.Options{Content: true, Analyzers: []string{"standard", "whitespace"}})
	s.put(t, transcript, said("a", "ann", 1, may, "We fly to LISBON, then 京都"))
	for query, want := range map[string]int{
		`{"match_phrase":{"text":"to lisbon then"}}`:             1,
		`{"match_phrase":{"text":"都"}}`:                          1,
		`{"match_phrase":{"text.whitespace":"to LISBON, then"}}`: 1,
		`{"match_phrase":{"text.whitespace":"to lisbon then"}}`:  0,
		`{"match_phrase":{"text.whitespace":"都"}}`:               0,
	} {
		if got := s.found(t, s.prefix+"-"+memory.ViewTranscript.String(), query); len(got) != want {
			t.Errorf("%s finds %v", query, got)
		}
	}
}
