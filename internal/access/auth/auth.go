// Package auth says who calls: it turns a credential into a principal, or refuses it. What a principal may do is decided by
// the server's table of calls and roles.
package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
)

// DefaultTenant is the tenant of every call while authentication is off, and of keys that name none.
const DefaultTenant = "default"

// Role says what a principal may do. A principal has one.
type Role uint8

// The roles. There is no order among them: none includes another.
const (
	RoleNone     Role = iota // no role: may do nothing
	RoleAgent                // records, builds contexts, reads and corrects the memory of any user of its tenant
	RoleUser                 // the same, export and erasure, of the one user that it is bound to
	RoleOperator             // sees to the server's background work, and sees no content
	RoleAdmin                // everything within its tenant
)

var roleNames = [...]string{RoleNone: "", RoleAgent: "agent", RoleUser: "user", RoleOperator: "operator", RoleAdmin: "admin"}

// Roles are all that a principal can have.
func Roles() []Role { return []Role{RoleAgent, RoleUser, RoleOperator, RoleAdmin} }

// String returns the role's name in configuration, tokens and stores.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// ParseRole returns the role of that name; its error lists the names.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, nil
		}
	}
	return RoleNone, fmt.Errorf("%q is no role: choose agent, user, operator or admin", name)
}

// Method is how a principal was verified.
type Method string

// The methods.
const (
	MethodOff  Method = "off" // authentication is off
	MethodKey  Method = "key" // an API key
	MethodJWT  Method = "jwt" // a signed token of an issuer
	MethodMTLS Method = "mtls"
)

// Principal is who calls, as verified.
type Principal struct {
	Tenant string // never ""
	UserID string // the one user whose memory may be touched; "" for all of the tenant. Always set with RoleUser.
	Role   Role
	KeyID  string // of an API key; "" otherwise
	// Subject names the caller in the audit: the key's id, the token's subject, the certificate's subject. It is no secret.
	Subject string
	Method  Method
}

// Valid reports whether the principal may be let in: it has a tenant and a role, and a user where the role needs one.
func (p Principal) Valid() bool {
	return p.Tenant != "" && p.Role != RoleNone && int(p.Role) < len(roleNames) && (p.Role != RoleUser || p.UserID != "")
}

// Unauthenticated is the principal of every call while authentication is off: it may do all in DefaultTenant.
func Unauthenticated() Principal {
	return Principal{Tenant: DefaultTenant, Role: RoleAdmin, Subject: "anonymous", Method: MethodOff}
}

// Credential is what a call came with. It is a secret: neither it nor a part of it may get into a log, an error or a metric.
type Credential struct {
	Token string            // of "authorization: Bearer <token>"; "" for none
	Peer  *x509.Certificate // that the TLS handshake verified; nil for none
}

// Verifier turns a credential into a principal. It takes any number of concurrent calls.
type Verifier interface {
	// Verify must return
	//   - a principal that is Valid, where the credential is good;
	//   - ErrNoCredential where it holds nothing of the kind that this verifier knows: others are asked;
	//   - a Refusal where it is of this kind and is not good: nobody else is asked;
	//   - any other error where that could not be found out, such as a store that cannot be reached. The call fails.
	Verify(ctx context.Context, c Credential) (Principal, error)
}

// ErrNoCredential says that a call came without a credential that anyone knows.
var ErrNoCredential = errors.New("no credential")

// ErrRefused is what every Refusal is: errors.Is(err, ErrRefused).
var ErrRefused = errors.New("the credential was refused")

// Cause is why a credential was refused: a label of a metric and a word of the log, never in what the caller gets.
type Cause string

// The causes.
const (
	CauseNone      Cause = "none"      // there was no credential
	CauseMalformed Cause = "malformed" // it could not be read
	CauseUnknown   Cause = "unknown"   // nobody issued it, or its signature or secret is wrong
	CauseExpired   Cause = "expired"
	CauseEarly     Cause = "early" // not valid yet
	CauseRevoked   Cause = "revoked"
	CauseSuspended Cause = "suspended" // its tenant is
	CauseAudience  Cause = "audience"  // meant for another service
	CauseClaims    Cause = "claims"    // names no tenant, role or user that it must name
)

// Causes are all there are, for metrics that show zeros.
func Causes() []Cause {
	return []Cause{
		CauseNone, CauseMalformed, CauseUnknown, CauseExpired, CauseEarly, CauseRevoked, CauseSuspended, CauseAudience, CauseClaims,
	}
}

// Refusal is a credential that is not good.
type Refusal struct { //nolint:errname // what it is, not how it is returned
	Cause Cause
	KeyID string // of a key that is known, for the log
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.KeyID != "" {
		return ErrRefused.Error() + ": " + string(r.Cause) + ", key " + r.KeyID
	}
	return ErrRefused.Error() + ": " + string(r.Cause)
}

// Is makes every Refusal ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Refuse returns a Refusal.
func Refuse(cause Cause) error { return &Refusal{Cause: cause} }

// CauseOf is the cause of a call that was refused; "" for an error that is no refusal.
func CauseOf(err error) Cause {
	if errors.Is(err, ErrNoCredential) {
		return CauseNone
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Cause
	}
	return ""
}

// Chain asks verifiers in order until one knows the kind of credential.
type Chain []Verifier

// Verify implements Verifier. A principal that is not Valid is refused, whoever vouches for it. A token that no verifier knows is
// refused as malformed.
func (c Chain) Verify(ctx context.Context, credential Credential) (Principal, error) {
	for _, v := range c {
		p, err := v.Verify(ctx, credential)
		if errors.Is(err, ErrNoCredential) {
			continue
		}
		if err != nil {
			return Principal{}, err
		}
		if !p.Valid() {
			return Principal{}, Refuse(CauseClaims)
		}
		return p, nil
	}
	if credential.Token != "" {
		return Principal{}, Refuse(CauseMalformed)
	}
	return Principal{}, ErrNoCredential
}

type principalKey struct{}

// With returns a context of a call by that principal.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From returns the principal of a call; false where nobody was verified.
func From(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
