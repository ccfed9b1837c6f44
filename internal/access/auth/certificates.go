package auth

import (
	"context"
	"crypto/x509"
	"time"
)

// Certificates verifies callers by the certificate of their connection, which the TLS handshake verified. It implements Verifier.
type Certificates struct {
	names map[string]Principal
	now   func() time.Time
}

// NewCertificates makes Certificates; names says whom those in certificates stand for.
func NewCertificates(names map[string]Principal, now func() time.Time) Certificates {
	return Certificates{names, now}
}

// Verify implements Verifier. A call with a token is the token's: a proxy with a certificate passes on who calls through it. Names are
// tried as they stand in the certificate: URIs, DNS names, addresses of mail, and the common name of the subject last. A connection may
// last longer than the certificate that it began with.
func (c Certificates) Verify(_ context.Context, credential Credential) (Principal, error) {
	if credential.Peer == nil || credential.Token != "" {
		return Principal{}, ErrNoCredential
	}
	if c.now().After(credential.Peer.NotAfter) {
		return Principal{}, Refuse(CauseExpired)
	}
	for _, name := range namesOf(credential.Peer) {
		if p, ok := c.names[name]; ok {
			p.Subject, p.Method = "certificate:"+name, MethodMTLS
			return p, nil
		}
	}
	return Principal{}, Refuse(CauseUnknown)
}

func namesOf(c *x509.Certificate) []string {
	var names []string
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	names = append(names, c.DNSNames...)
	names = append(names, c.EmailAddresses...)
	if c.Subject.CommonName != "" {
		names = append(names, c.Subject.CommonName)
	}
	return names
}
