package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/url"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	now := noon
	agent, operator := Principal{Tenant: "acme", Role: RoleAgent}, Principal{Tenant: "acme", Role: RoleOperator}
	c := NewCertificates(map[string]Principal{
		"spiffe://example.org/assistant": agent, "host.example.org": agent, "ops@example.org": operator, "night-jobs": operator,
	}, func() time.Time { return now })
	id, err := url.Parse("spiffe://example.org/assistant")
	if err != nil {
		t.Fatal(err)
	}
	named := func(cn string) pkix.Name { return pkix.Name{CommonName: cn} }
	for what, row := range map[string]struct {
		cert *x509.Certificate
		role Role
		name string
	}{
		"a URI is known":                      {&x509.Certificate{URIs: []*url.URL{id}}, RoleAgent, "spiffe://example.org/assistant"},
		"a DNS name is known":                 {&x509.Certificate{DNSNames: []string{"x", "host.example.org"}}, RoleAgent, "host.example.org"},
		"an address of mail is known":         {&x509.Certificate{EmailAddresses: []string{"ops@example.org"}}, RoleOperator, "ops@example.org"},
		"a common name is known":              {&x509.Certificate{Subject: named("night-jobs")}, RoleOperator, "night-jobs"},
		"other names come before the common":  {&x509.Certificate{URIs: []*url.URL{id}, Subject: named("night-jobs")}, RoleAgent, "spiffe://example.org/assistant"},
		"a name that nobody has is refused":   {&x509.Certificate{Subject: named("mallory")}, RoleNone, ""},
		"one without any name is refused":     {&x509.Certificate{}, RoleNone, ""},
		"names are known to the letter alone": {&x509.Certificate{DNSNames: []string{"HOST.example.org"}}, RoleNone, ""},
	} {
		t.Run(what, func(t *testing.T) {
			row.cert.NotAfter = noon.Add(time.Hour)
			p, err := c.Verify(t.Context(), Credential{Peer: row.cert})
			if row.role == RoleNone {
				if CauseOf(err) != CauseUnknown {
					t.Errorf("it stands for %+v, %v", p, err)
				}
				return
			}
			if want := (Principal{Tenant: "acme", Role: row.role, Subject: "certificate:" + row.name, Method: MethodMTLS}); err != nil || p != want {
				t.Errorf("it stands for %+v, %v", p, err)
			}
		})
	}
	t.Run("one that expired while its connection was open is refused", func(t *testing.T) {
		cert := &x509.Certificate{Subject: named("night-jobs"), NotAfter: noon}
		if _, err := c.Verify(t.Context(), Credential{Peer: cert}); err != nil {
			t.Errorf("in its last second: %v", err)
		}
		now = noon.Add(time.Second)
		if _, err := c.Verify(t.Context(), Credential{Peer: cert}); CauseOf(err) != CauseExpired {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("a call with a token, or without a certificate, is left to others", func(t *testing.T) {
		cert := &x509.Certificate{Subject: named("night-jobs"), NotAfter: now.Add(time.Hour)}
		for _, credential := range []Credential{{}, {Peer: cert, Token: "x"}} {
			if _, err := c.Verify(t.Context(), credential); !errors.Is(err, ErrNoCredential) {
				t.Errorf("%v", err)
			}
		}
	})
}
