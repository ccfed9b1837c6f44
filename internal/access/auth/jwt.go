package auth

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const (
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
	// rememberFor is how long a token that was verified is believed.
	rememberFor = 5 * time.Minute
	// maxJWTBytes is more than any issuer needs: a header may be 16 KiB.
	maxJWTBytes = 12 << 10
	// maxClaimBytes bounds names of tenants and users, as requests do.
	maxClaimBytes = 255
)

// algorithms are those that a token may be signed by: with public keys. A shared secret would let every holder of the issuer's public
// key sign.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
}

// Issuer says which tokens are good, and what their claims stand for.
type Issuer struct {
	URL      string // as "iss" names it; with KeySet "" it is asked for its keys by OpenID Connect discovery
	Audience string // that "aud" must hold
	KeySet   string // the URL or the file of a JSON Web Key Set; "" for discovery
	Claims   Claims
}

// Claims name the claims that hold a tenant, a role and, of those with the role user, the user; a name with dots goes into objects. A
// token must have each that is named: one without a tenant would be the default one's, whose admins are the server's. Where Tenant or
// Role is "", that of Otherwise counts.
type Claims struct {
	Tenant, User, Role string
	Otherwise          Principal
}

// JWT verifies tokens of an issuer. It implements Verifier.
type JWT struct {
	issuer   Issuer
	now      func() time.Time
	verifier *oidc.IDTokenVerifier

	mu   sync.Mutex
	seen map[[sha256.Size]byte]verified
}

type verified struct {
	principal Principal
	until     time.Time
}

// NewJWT makes a JWT; a file of keys is read now, an issuer is asked when the first token comes.
func NewJWT(i Issuer, now func() time.Time) (*JWT, error) {
	var keys oidc.KeySet = newIssuerKeys(i, now)
	if i.KeySet != "" && !strings.Contains(i.KeySet, "://") {
		public, err := keysOf(i.KeySet)
		if err != nil {
			return nil, err
		}
		keys = &oidc.StaticKeySet{PublicKeys: public}
	}
	return &JWT{
		issuer: i, now: now, seen: map[[sha256.Size]byte]verified{},
		// What depends on the clock and on the audience is left to principal, which returns a cause for each.
		verifier: oidc.NewVerifier(i.URL, keys, &oidc.Config{
			SupportedSigningAlgs: algorithms(), SkipClientIDCheck: true, SkipExpiryCheck: true,
		}),
	}, nil
}

func keysOf(file string) (keys []crypto.PublicKey, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a key set: %w", err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("read the key set %s: %w", file, err)
	}
	for _, k := range set.Keys {
		if !k.IsPublic() {
			return nil, fmt.Errorf("the key set %s holds a key that is not public: give the issuer's public keys alone", file)
		}
		keys = append(keys, k.Key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the key set %s holds no key", file)
	}
	return keys, nil
}

// Verify implements Verifier.
func (j *JWT) Verify(ctx context.Context, c Credential) (Principal, error) {
	if strings.Count(c.Token, ".") != 2 || strings.HasPrefix(c.Token, tokenPrefix) {
		return Principal{}, ErrNoCredential
	}
	if len(c.Token) > maxJWTBytes {
		return Principal{}, Refuse(CauseMalformed)
	}
	hash, now := sha256.Sum256([]byte(c.Token)), j.now()
	j.mu.Lock()
	known, ok := j.seen[hash]
	j.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.principal, nil
	}
	claims, err := j.claims(ctx, c.Token)
	if err != nil {
		return Principal{}, err
	}
	p, until, cause := j.issuer.principal(claims, now)
	if cause != "" {
		return Principal{}, Refuse(cause)
	}
	j.remember(hash, verified{p, until}, now)
	return p, nil
}

// unavailable says that nobody can know now whether a token is good.
func unavailable(err error) error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonIssuerUnavailable, Retry: store.RetryAfter, Err: err,
		Message: "the issuer of the token cannot be asked for its keys now: retry",
	}
}

// claims are those of a token that the issuer signed.
func (j *JWT) claims(ctx context.Context, token string) (map[string]any, error) {
	var unreachable error
	signed, err := j.verifier.Verify(context.WithValue(ctx, unreachableKey{}, &unreachable), token)
	if unreachable != nil {
		return nil, unavailable(unreachable)
	}
	if err != nil {
		return nil, Refuse(CauseUnknown)
	}
	claims := map[string]any{}
	if err := signed.Claims(&claims); err != nil {
		return nil, Refuse(CauseMalformed)
	}
	return claims, nil
}

// principal is whom the claims stand for, and until when.
func (i Issuer) principal(claims map[string]any, now time.Time) (p Principal, until time.Time, cause Cause) {
	expires, ok := timeOf(claims["exp"])
	if !ok {
		return p, until, CauseClaims
	}
	if !now.Before(expires.Add(leeway)) {
		return p, until, CauseExpired
	}
	if begins, ok := claims["nbf"]; ok {
		if from, ok := timeOf(begins); !ok || now.Before(from.Add(-leeway)) {
			return p, until, CauseEarly
		}
	}
	if !holds(claims["aud"], i.Audience) {
		return p, until, CauseAudience
	}
	p = i.Claims.Otherwise // what the token must have and lacks leaves a principal that is not Valid
	if i.Claims.Tenant != "" {
		p.Tenant = nameIn(claims, i.Claims.Tenant)
	}
	if i.Claims.Role != "" {
		p.Role = roleOf(find(claims, i.Claims.Role))
	}
	if p.Role == RoleUser {
		p.UserID = nameIn(claims, i.Claims.User)
	}
	p.Subject, p.Method = "jwt:"+nameIn(claims, "sub"), MethodJWT
	if !p.Valid() {
		return p, until, CauseClaims
	}
	return p, expires.Add(leeway), ""
}

// timeOf is a NumericDate of RFC 7519, in years of four digits.
func timeOf(claim any) (time.Time, bool) {
	const year10000 = 253402300800
	seconds, ok := claim.(float64)
	if !ok || seconds < 0 || seconds >= year10000 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// holds reports whether an audience, one or a list, has the name.
func holds(claim any, name string) bool {
	if list, ok := claim.([]any); ok {
		for _, one := range list {
			if one == name {
				return true
			}
		}
		return false
	}
	return claim == name
}

// find is a claim by its path, nil for none. A claim whose own name has dots comes first, such as https://example.org/role.
func find(claims map[string]any, path string) any {
	if claim, ok := claims[path]; ok {
		return claim
	}
	head, rest, ok := strings.Cut(path, ".")
	if inner, isObject := claims[head].(map[string]any); ok && isObject {
		return find(inner, rest)
	}
	return nil
}

// nameIn is a claim that may name a tenant or a user; "" for one that may not.
func nameIn(claims map[string]any, path string) string {
	name, _ := find(claims, path).(string)
	if len(name) > maxClaimBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

// roleOf is the role that a claim names. A list may name roles of other services too, but one of this: there is no order among them.
func roleOf(claim any) Role {
	names, ok := claim.([]any)
	if !ok {
		names = []any{claim}
	}
	found := RoleNone
	for _, n := range names {
		name, _ := n.(string)
		role, err := ParseRole(name)
		if err != nil || role == found {
			continue
		}
		if found != RoleNone {
			return RoleNone
		}
		found = role
	}
	return found
}

// remember keeps who a token stands for while it is good, and rememberFor at most.
func (j *JWT) remember(hash [sha256.Size]byte, v verified, now time.Time) {
	if last := now.Add(rememberFor); v.until.After(last) {
		v.until = last
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.seen) >= maxKnown {
		for other := range j.seen { // whichever comes first
			delete(j.seen, other)
			break
		}
	}
	j.seen[hash] = v
}
