package config

import (
	"strings"
	"testing"
)

func TestCredentialsThatCannotBeVerifiedAreRefusedAtTheStart(t *testing.T) {
	const tls = "tls-cert: c.pem\ntls-key: k.pem\n"
	const issuer = "auth: required\njwt-issuer: https://login.example.org\n"
	for name, row := range map[string]struct{ file, says string }{
		"a certificate without its key": {"tls-cert: c.pem", "tls-cert (s.yaml:1): a certificate and its key belong together: set tls-cert and tls-key"},
		"a key without its certificate": {"tls-key: k.pem", "set tls-cert and tls-key, or neither"},
		"clients' signers without TLS":  {"tls-client-ca: ca.pem", "tls-client-ca (s.yaml:1): clients have certificates over TLS alone: set tls-cert and tls-key too"},
		"names without their signers": {
			tls + "auth: required\nclient-certificates: {x: {}}", "client-certificates (s.yaml:4): nobody is known by a certificate without tls-client-ca",
		},
		"names that nobody asks for": {tls + "tls-client-ca: ca.pem\nclient-certificates: {x: {}}", "without tls-client-ca and auth required: set both"},
		"a role that is none": {
			tls + "tls-client-ca: ca.pem\nauth: required\nclient-certificates:\n  x: {role: root}",
			`client-certificates.x.role (s.yaml:6): "root" is no role: choose agent, user, operator or admin`,
		},
		"the role user without a user": {
			tls + "tls-client-ca: ca.pem\nauth: required\nclient-certificates:\n  x: {role: user}", "client-certificates.x (s.yaml:6): it names no tenant, or with the role user no user",
		},
		"an operator who is bound to a user": {
			tls + "tls-client-ca: ca.pem\nauth: required\nclient-certificates:\n  x: {role: operator, user: ada}",
			"client-certificates.x.user (s.yaml:6): the role operator is about no user or about all: leave the user out",
		},
		"an issuer where nobody is asked": {"jwt-issuer: https://login.example.org\njwt-audience: strata", "jwt-issuer (s.yaml:1): tokens count where auth is required: set it"},
		"an issuer without an audience":   {issuer, "jwt-audience (default): without it tokens that are meant for other services would count"},
		"an audience without an issuer":   {"auth: required\njwt-audience: strata", "jwt-issuer (default): tokens are verified for one issuer: set it"},
		"keys over plain text": {
			issuer + "jwt-audience: strata\njwt-keys: http://login.example.org/keys", `jwt-keys (s.yaml:4): "http://login.example.org/keys" is not an https URL`,
		},
		"an issuer that is no address": {
			"auth: required\njwt-issuer: login.example.org\njwt-audience: strata", `jwt-issuer (s.yaml:2): "login.example.org" is not an https URL`,
		},
		"users of whom no claim says which": {
			issuer + "jwt-audience: strata\njwt-user-claim: ''", "jwt-user-claim (s.yaml:4): tokens with the role user must name the user: set the claim with it, such as sub",
		},
		"a role of tokens that is none": {
			issuer + "jwt-audience: strata\njwt-role: root", `jwt-role (s.yaml:4): "root" is not one of agent, user, operator, admin`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(row.file + "\n")})
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("it says %v,\nwant %s", err, row.says)
			}
		})
	}
	t.Run("what can be verified is taken", func(t *testing.T) {
		load(t, Sources{File: "s.yaml", ReadFile: fileOf(tls + issuer + `
jwt-audience: strata
jwt-keys: http://127.0.0.1:8080/keys
tls-client-ca: ca.pem
client-certificates:
  spiffe://example.org/assistant: {tenant: acme}
  ada's app: {role: user, user: ada}
`)})
	})
}
