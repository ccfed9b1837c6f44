// Package certificates makes the TLS configuration of a server from files, and follows them when they change.
package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/stratamem/strata/internal/store/workloop"
)

// lookEvery is how long a changed file may go unnoticed.
const lookEvery = 10 * time.Second

// Files are PEM files.
type Files struct {
	Cert, Key string // the server's chain and its private key
	ClientCA  string // who may sign clients' certificates; "" where none is asked for
}

// Server is a server's side of TLS. Changed files count for new connections; files that cannot be used leave what was used before.
//
// It reads the files by itself: the provider of gRPC (credentials/tls/certprovider/pemfile) writes a private key that does not belong to
// its certificate into gRPC's log, which is how files look in the midst of a renewal.
type Server struct {
	files  Files
	log    *slog.Logger
	read   contents
	said   string                     // what was logged of files that cannot be used; "" once they can
	config atomic.Pointer[tls.Config] // of the last files that could be used
}

// contents are those of the files when they were last read.
type contents struct{ cert, key, clientCA []byte }

func (c contents) equal(other contents) bool {
	return bytes.Equal(c.cert, other.cert) && bytes.Equal(c.key, other.key) && bytes.Equal(c.clientCA, other.clientCA)
}

// Open reads the files. Its error names the file that cannot be used. Run follows them.
func Open(f Files, log *slog.Logger) (*Server, error) {
	s := &Server{files: f, log: log}
	read, err := f.read()
	if err != nil {
		return nil, err
	}
	config, err := f.config(read)
	if err != nil {
		return nil, err
	}
	s.read = read
	s.config.Store(config)
	return s, nil
}

func (f Files) read() (c contents, err error) {
	if c.cert, err = os.ReadFile(f.Cert); err != nil {
		return c, fmt.Errorf("read the certificate: %w", err)
	}
	if c.key, err = os.ReadFile(f.Key); err != nil {
		return c, fmt.Errorf("read the certificate's key: %w", err)
	}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.clientCA, err = os.ReadFile(f.ClientCA); err != nil {
		return c, fmt.Errorf("read the certificates that may sign clients' ones: %w", err)
	}
	return c, nil
}

// config is TLS from 1.2 on, with HTTP/2 and HTTP/1.1. Its errors have no word of the files' contents.
func (f Files) config(c contents) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("use the certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	if f.ClientCA == "" {
		return config, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.clientCA) {
		return nil, errors.New("there is no certificate in " + f.ClientCA + ": it holds PEM of those that may sign clients' ones")
	}
	config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, pool // a client without one may have another credential
	return config, nil
}

// Run follows the files until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	look := func(ctx context.Context) error { s.look(ctx); return nil }
	return workloop.NewPeriodic(lookEvery, look, nil).Run(ctx)
}

// look takes over files that changed and can be used. Of those that cannot be used the log says once what is wrong.
func (s *Server) look(ctx context.Context) {
	read, err := s.files.read()
	if err == nil && read.equal(s.read) {
		s.said = ""
		return
	}
	var config *tls.Config
	if err == nil {
		config, err = s.files.config(read)
	}
	if err != nil && err.Error() == s.said {
		return
	}
	if err != nil {
		s.said = err.Error()
		s.log.WarnContext(ctx, "changed certificates cannot be used: those of before still count", "error", err)
		return
	}
	s.read, s.said = read, ""
	s.config.Store(config)
	s.log.InfoContext(ctx, "changed certificates count for new connections", "certificate", s.files.Cert)
}

// Config is the configuration for a listener.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.config.Load(), nil },
	}
}
