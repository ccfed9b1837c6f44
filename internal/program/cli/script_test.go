package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"strata": func() { os.Exit(Main(context.Background(), os.Args[1:], terminal.OSEnv())) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"server": startServer, "env-file": envFile},
	})
}

// startServer runs a real server over a file of the script's directory until the script ends, and tells the script's
// commands where it is. With the word keys it lets nobody in without one, and the script has its first; with tls it speaks that, by a
// certificate that its own file in ca.pem vouches for.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	keys, over := slices.Contains(args, "keys"), slices.Contains(args, "tls")
	if neg || len(args) > 2 || len(args) == 2 && !(keys && over) || len(args) == 1 && !keys && !over {
		ts.Fatalf("usage: server [keys] [tls]")
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = ts.MkAbs("strata.db"), "127.0.0.1:0", "127.0.0.1:0"
	patient(&cfg)
	for name, p := range cfg.Profiles {
		p.Summaries.Idle = 0 // no session is summarised in the midst of a script because time went by
		cfg.Profiles[name] = p
	}
	scheme := ""
	if over {
		cfg.TLSCert, cfg.TLSKey, scheme = ts.MkAbs("ca.pem"), ts.MkAbs("server.key"), "https://"
		ts.Check(writeCertificate(cfg.TLSCert, cfg.TLSKey))
	}
	if keys {
		cfg.Auth, cfg.BootstrapKey = config.AuthRequired, true
	}
	addresses, stopped := make(chan [3]string), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		stopped <- withServer(ctx, cfg, func(ctx context.Context, a *app.App) error {
			addresses <- [3]string{a.Addr(), a.MetricsAddr(), a.FirstKey()}
			<-ctx.Done()
			return nil
		})
	}()
	ts.Defer(func() {
		stop()
		if err := <-stopped; err != nil {
			ts.Logf("server: %v", err)
		}
	})
	select {
	case a := <-addresses:
		ts.Setenv("STRATA_TIMEOUT", "2m")
		ts.Setenv("STRATA_SERVER", scheme+a[0])
		ts.Setenv("STRATA_METRICS_LISTEN", a[1])
		if a[2] != "" {
			ts.Setenv("STRATA_KEY", a[2])
		}
	case err := <-stopped:
		stopped <- err
		ts.Fatalf("start server: %v", err)
	}
}

// writeCertificate writes a certificate of this machine's loopback that signed itself, and its key.
func writeCertificate(cert, key string) error {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, own.Public(), own)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return err
	}
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
}

// envFile sets a variable to the first line of a file.
func envFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: env-file NAME FILE")
	}
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	ts.Setenv(args[0], line)
}
