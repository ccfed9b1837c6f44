package certificates

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// renewal writes the files of a server.
type renewal struct {
	t *testing.T
	Files
}

func newRenewal(t *testing.T) renewal {
	dir := t.TempDir()
	return renewal{t, Files{Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key"), ClientCA: filepath.Join(dir, "ca.pem")}}
}

// pair is a certificate of the name, and its key.
func (r renewal) pair(name string) (cert, key []byte) {
	r.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, own.Public(), own)
	if err != nil {
		r.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		r.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func (r renewal) write(path string, data []byte) {
	r.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// served is the name in the certificate that a new connection gets.
func (r renewal) served(s *Server) string {
	r.t.Helper()
	c, err := s.Config().GetConfigForClient(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return c.Certificates[0].Leaf.Subject.CommonName
}

// lines are a log that is written and read at once.
type lines struct {
	mu      sync.Mutex
	written bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(p)
}

// take returns what was written since the last time.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.written.String()
	l.written.Reset()
	return text
}

func TestFilesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRenewal(t)
		first, firstKey := r.pair("first")
		second, secondKey := r.pair("second")
		r.write(r.Cert, first)
		r.write(r.Key, firstKey)
		r.write(r.ClientCA, first)
		var log lines
		s, err := Open(r.Files, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		looked := func() string { // what the log says after the files were looked at
			log.take()
			time.Sleep(lookEvery)
			synctest.Wait()
			return log.take()
		}
		if said := looked(); said != "" {
			t.Errorf("files that did not change are logged: %s", said)
		}
		for what, broken := range map[string]struct {
			path string
			data []byte
		}{
			"a certificate that is none":                 {r.Cert, []byte("no certificate")},
			"a certificate without its key, yet":         {r.Cert, second},
			"a key of another certificate":               {r.Key, secondKey},
			"certificates of clients' signers, none":     {r.ClientCA, []byte("none")},
			"an empty file, as it is while it is copied": {r.Cert, nil},
		} {
			before, err := os.ReadFile(broken.path)
			if err != nil {
				t.Fatal(err)
			}
			r.write(broken.path, broken.data)
			said := looked()
			if !strings.Contains(said, "level=WARN") || !strings.Contains(said, broken.path) && !strings.Contains(said, r.Cert) {
				t.Errorf("%s: the log does not name it: %s", what, said)
			}
			if strings.Contains(said, "PRIVATE KEY") || strings.Contains(said, "BEGIN") {
				t.Errorf("%s: the log holds the contents of a file", what)
			}
			if got := r.served(s); got != "first" {
				t.Errorf("%s: %q is served", what, got)
			}
			if again := looked(); again != "" {
				t.Errorf("%s: it is logged again: %s", what, again)
			}
			r.write(broken.path, before)
			if said := looked(); said != "" {
				t.Errorf("%s: once it is mended the log says %s", what, said)
			}
		}
		if err := os.Remove(r.Key); err != nil {
			t.Fatal(err)
		}
		if said := looked(); !strings.Contains(said, r.Key) || r.served(s) != "first" {
			t.Errorf("a key that is gone: %q is served, the log says %s", r.served(s), said)
		}
		r.write(r.Cert, second)
		r.write(r.Key, secondKey)
		if said := looked(); !strings.Contains(said, "level=INFO") || r.served(s) != "second" {
			t.Errorf("a certificate that was renewed: %q is served, the log says %s", r.served(s), said)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	r := newRenewal(t)
	cert, key := r.pair("one")
	_, other := r.pair("other")
	for name, broken := range map[string]func() string{
		"no certificate":      func() string { return filepath.Join(filepath.Dir(r.Cert), "missing.pem") },
		"another one's key":   func() string { r.write(r.Key, other); return r.Cert },
		"no signer in the CA": func() string { r.write(r.ClientCA, []byte("none")); return r.Cert },
	} {
		t.Run(name, func(t *testing.T) {
			r.write(r.Cert, cert)
			r.write(r.Key, key)
			r.write(r.ClientCA, cert)
			files := r.Files
			files.Cert = broken()
			_, err := Open(files, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), filepath.Dir(r.Cert)) || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
