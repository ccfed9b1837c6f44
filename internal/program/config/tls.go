package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/access/auth"
)

// ClientCertificate is whom a certificate stands for.
type ClientCertificate struct {
	Tenant string `name:"tenant" default:"default" help:"The tenant."`
	Role   string `name:"role" default:"agent" help:"The role: agent, user, operator or admin."`
	User   string `name:"user" help:"The one user whose memory is reached. Required with the role user."`
}

// Principal is whom it stands for; its role must be one that checkTLS lets through.
func (c ClientCertificate) Principal() auth.Principal {
	role, _ := auth.ParseRole(c.Role)
	return auth.Principal{Tenant: c.Tenant, UserID: c.User, Role: role}
}

// checkTLS checks certificates and tokens but for the files themselves.
func (c Config) checkTLS(fs *faults) {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		fs.add("tls-cert", "a certificate and its key belong together: set tls-cert and tls-key, or neither")
	case c.TLSClientCA != "" && c.TLSCert == "":
		fs.add("tls-client-ca", "clients have certificates over TLS alone: set tls-cert and tls-key too")
	}
	if len(c.ClientCertificates) > 0 && (c.TLSClientCA == "" || c.Auth != AuthRequired) {
		fs.add("client-certificates", "nobody is known by a certificate without tls-client-ca and auth required: set both")
	}
	for _, name := range slices.Sorted(maps.Keys(c.ClientCertificates)) {
		rule := c.ClientCertificates[name]
		if _, err := auth.ParseRole(rule.Role); err != nil {
			fs.add("client-certificates."+name+".role", "%v", err)
		} else if !rule.Principal().Valid() {
			fs.add("client-certificates."+name, "it names no tenant, or with the role user no user: set tenant, and user with that role")
		} else if rule.User != "" && (rule.Role == auth.RoleOperator.String() || rule.Role == auth.RoleAdmin.String()) {
			fs.add("client-certificates."+name+".user", "the role %s is about no user or about all: leave the user out", rule.Role)
		}
	}
	c.checkJWT(fs)
}

func (c Config) checkJWT(fs *faults) {
	if c.JWTIssuer == "" {
		if c.JWTAudience != "" || c.JWTKeys != "" {
			fs.add("jwt-issuer", "tokens are verified for one issuer: set it, or neither jwt-audience nor jwt-keys")
		}
		return
	}
	if c.Auth != AuthRequired {
		fs.add("jwt-issuer", "tokens count where auth is required: set it")
	}
	if c.JWTAudience == "" {
		fs.add("jwt-audience", "without it tokens that are meant for other services would count: set what the issuer puts into aud for this one")
	}
	checkIssuer(fs, "jwt-issuer", c.JWTIssuer)
	if strings.Contains(c.JWTKeys, "://") {
		checkIssuer(fs, "jwt-keys", c.JWTKeys)
	}
	if c.JWTRole == "" && c.JWTOtherwise == auth.RoleUser.String() && c.JWTUser == "" {
		fs.add("jwt-user-claim", "tokens with the role user must name the user: set the claim with it, such as sub")
	}
}

// checkIssuer refuses an address whose replies somebody else could write.
func checkIssuer(fs *faults, name, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		fs.add(name, "%q is not an https URL, by which alone keys can be trusted: write https://host, or http:// on loopback", address)
	}
}
