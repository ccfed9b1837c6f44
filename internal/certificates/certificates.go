// Package certificates makes the TLS configuration of a server from files, and follows them when they change.
package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/credentials/tls/certprovider/pemfile"
)

// refresh is how long a changed file may go unnoticed.
const refresh = 10 * time.Second

// Files are PEM files.
type Files struct {
	Cert, Key string // the server's chain and its private key, in one directory, so that both are replaced at once
	ClientCA  string // who may sign clients' certificates; "" where none is asked for
	// Refresh is how often the files are looked at; 10 s when 0.
	Refresh time.Duration
}

// Server is a server's side of TLS. Changed files count for new connections; files that cannot be used leave what was used before.
type Server struct {
	files certprovider.Provider
	asks  bool // for clients' certificates
}

// Open reads the files. Its error names the file that cannot be used.
func Open(f Files) (*Server, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.Refresh == 0 {
		f.Refresh = refresh
	}
	provider, err := pemfile.NewProvider(pemfile.Options{
		CertFile: f.Cert, KeyFile: f.Key, RootFile: f.ClientCA, RefreshDuration: f.Refresh,
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", f.Cert, err)
	}
	return &Server{files: provider, asks: f.ClientCA != ""}, nil
}

// check reads the files once: what watches them reports what is wrong to its log alone.
func (f Files) check() error {
	if _, err := tls.LoadX509KeyPair(f.Cert, f.Key); err != nil {
		return fmt.Errorf("read the certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	if f.ClientCA == "" {
		return nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return fmt.Errorf("read the certificates that may sign clients' ones: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return errors.New("there is no certificate in " + f.ClientCA + ": it holds PEM of those that may sign clients' ones")
	}
	return nil
}

// Close stops following the files.
func (s *Server) Close() { s.files.Close() }

// Config is the configuration for a listener. HTTP/2 and HTTP/1.1 are offered, TLS from 1.2 on.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return s.config(hello.Context())
		},
	}
}

// config is of the files as they are now.
func (s *Server) config(ctx context.Context) (*tls.Config, error) {
	material, err := s.files.KeyMaterial(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	c := &tls.Config{Certificates: material.Certs, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	if s.asks { // a client without one may have another credential
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, material.Roots
	}
	return c, nil
}
