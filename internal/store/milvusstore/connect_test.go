package milvusstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stratamem/strata/internal/access/certificates"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// authority signs certificates of a test, and keeps them as files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sign writes a certificate of that name with its key, and returns their paths.
func (a *authority) sign(t *testing.T, name string) (cert, key string) {
	t.Helper()
	own := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".pem", "CERTIFICATE", signed), a.write(t, name+".key", "PRIVATE KEY", secret)
}

// terminate listens with TLS as milvus.test in front of a server without, as a mesh or a balancer does.
func (a *authority) terminate(t *testing.T, server string, clients tls.ClientAuthType) (address string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.sign(t, "milvus.test"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}, ClientAuth: clients, ClientCAs: pool,
		MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go pipe(near, server)
		}
	}()
	return listener.Addr().String()
}

// pipe connects a client that TLS lets in. One that it does not let in is read until it hangs up: closing a connection with unread bytes
// resets it, and the client may lose the alert that says why.
func pipe(near net.Conn, server string) {
	defer near.Close()
	if client := near.(*tls.Conn); client.Handshake() != nil {
		io.Copy(io.Discard, client.NetConn())
		return
	}
	far, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer far.Close()
	go io.Copy(far, near)
	io.Copy(near, far)
}

func TestOverTLS(t *testing.T) {
	server, a, stranger := backend.Milvus(t), newAuthority(t), newAuthority(t)
	cert, key := a.sign(t, "strata")
	ca := filepath.Join(a.dir, "ca.pem")
	for _, c := range []struct {
		name    string
		clients tls.ClientAuthType
		files   certificates.ClientFiles
		says    string // "" where it connects
	}{
		{"a server whose authority is named is called", tls.NoClientCert, certificates.ClientFiles{CA: ca, ServerName: "milvus.test"}, ""},
		{
			"a server that asks for a certificate is shown one", tls.RequireAndVerifyClientCert,
			certificates.ClientFiles{CA: ca, ServerName: "milvus.test", Cert: cert, Key: key},
			"",
		},
		{
			"a client without the certificate that is asked for is told so", tls.RequireAndVerifyClientCert,
			certificates.ClientFiles{CA: ca, ServerName: "milvus.test"},
			"certificate required",
		},
		{
			"a certificate of another authority is refused", tls.NoClientCert,
			certificates.ClientFiles{CA: filepath.Join(stranger.dir, "ca.pem"), ServerName: "milvus.test"},
			"TLS: tls: failed to verify certificate: x509: ",
		},
		{
			"a certificate of another name is refused", tls.NoClientCert,
			certificates.ClientFiles{CA: ca, ServerName: "other.test"},
			"certificate is valid for milvus.test, not other.test",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := certificates.Client(c.files)
			if err != nil {
				t.Fatal(err)
			}
			address := a.terminate(t, server, c.clients)
			v, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: address, Prefix: newPrefix(), TLS: config})
			if c.says != "" {
				if !errors.Is(err, milvusstore.ErrUnreachable) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error is %v, want it to say %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { v.Close() })
			if err := v.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a client that speaks no TLS is not served", func(t *testing.T) {
		address := a.terminate(t, server, tls.NoClientCert)
		_, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: address, Prefix: newPrefix()})
		if !errors.Is(err, milvusstore.ErrUnreachable) {
			t.Errorf("the error is %v", err)
		}
	})
}

// refusing is a server that notes what a client says of itself, and lets nobody in.
func refusing(t *testing.T) (address string, heard <-chan metadata.MD) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan metadata.MD, 100)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		said, _ := metadata.FromIncomingContext(stream.Context())
		calls <- said
		return status.Error(codes.Unauthenticated, "auth check failure, please check username secret")
	}))
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	return listener.Addr().String(), calls
}

func TestWhatAClientSaysOfItself(t *testing.T) {
	encoded := func(s string) []string { return []string{base64.StdEncoding.EncodeToString([]byte(s))} }
	for _, c := range []struct {
		name                    string
		options                 milvusstore.Options
		authorization, database []string
	}{
		{"nothing", milvusstore.Options{}, nil, nil},
		{"user and password", milvusstore.Options{Username: "root", Password: "pass:word"}, encoded("root:pass:word"), nil},
		{"a token", milvusstore.Options{Token: "key"}, encoded("key"), nil},
		{"a database", milvusstore.Options{Database: "memory"}, nil, []string{"memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heard <-chan metadata.MD
			c.options.Address, heard = refusing(t)
			c.options.Prefix = "strata"
			_, err := milvusstore.Open(t.Context(), c.options)
			if !errors.Is(err, milvusstore.ErrRefused) || !strings.Contains(err.Error(), "user, password or token") ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("the error is %v", err)
			}
			said := <-heard
			if diff := cmp.Diff(c.authorization, said.Get("authorization")); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.database, said.Get("dbname")); diff != "" {
				t.Errorf("database (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADatabaseOfItsOwn(t *testing.T) {
	c, name, prefix := bare(t), newPrefix(), newPrefix()
	in := milvusstore.Options{Address: backend.Milvus(t), Prefix: prefix, Database: name}
	if _, err := milvusstore.Open(t.Context(), in); !errors.Is(err, milvusstore.ErrRefused) || !strings.Contains(err.Error(), "no such database") {
		t.Errorf("the error of a database that is not there is %v", err)
	}
	if err := c.CreateDatabase(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DropDatabase(context.WithoutCancel(t.Context()), name) })
	v, err := milvusstore.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 32}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Drop(context.WithoutCancel(t.Context()), space) })
	rows := someRows(alice, 3)
	mustPut(t, v, space, rows)
	if n := len(rowsOf(t, v, space, alice)); n != 3 {
		t.Errorf("%d rows in the database", n)
	}
	if spaces, err := openAs(t, prefix).Spaces(t.Context()); err != nil || len(spaces) > 0 {
		t.Errorf("the default database has %v, %v", spaces, err)
	}
}
