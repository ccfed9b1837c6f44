package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// ClientFiles say how a client knows its server, and how it is known to it. All are PEM files, and each may be "".
type ClientFiles struct {
	CA         string // who may sign the server's certificate; "" for whom the system trusts
	Cert, Key  string // the client's own chain and private key; both or neither
	ServerName string // that the server's certificate must have; "" for the host that is called
}

// Client is a client's side of TLS. The certificates of CA are read once; the client's own ones are read again for each
// connection, so that renewed ones count by themselves. The error names the file that cannot be used.
func Client(f ClientFiles) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that may sign the server's one: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("there is no certificate in " + f.CA + ": it holds PEM of those that may sign the server's one")
		}
	}
	if f.Cert == "" {
		return config, nil
	}
	if _, err := f.own(); err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return f.own() }
	return config, nil
}

// own reads the client's own certificate.
func (f ClientFiles) own() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("use the client's certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	return &pair, nil
}
