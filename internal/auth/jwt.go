package auth

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc" // verifies by discovery or a key set, follows rotated keys; kept by its authors since 2014
	jose "github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const (
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
	// rememberFor is how long a token that was verified is believed: a key that its issuer withdraws counts for so long still.
	rememberFor = 5 * time.Minute
	// fetchTimeout bounds one request to the issuer.
	fetchTimeout = 5 * time.Second
	// maxJWTBytes is more than any issuer needs: a header may be 16 KiB.
	maxJWTBytes = 12 << 10
)

// fetches bound how often tokens with unknown keys have the issuer asked for its keys.
const fetches, fetchBurst = rate.Limit(0.2), 5

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

// Claims name the claims that hold a tenant, a role and, of those with the role user, the user; a name with dots goes into objects. Where
// the name is "" or a token lacks the claim, Tenant and Role of Otherwise count.
type Claims struct {
	Tenant, User, Role string
	Otherwise          Principal
}

// JWT verifies tokens of an issuer. It implements Verifier.
type JWT struct {
	issuer Issuer
	now    func() time.Time
	client *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier // nil until the issuer was asked
	seen     map[[sha256.Size]byte]verified
}

type verified struct {
	principal Principal
	until     time.Time
}

// NewJWT makes a JWT; a file of keys is read now, an issuer is asked when the first token comes.
func NewJWT(i Issuer, now func() time.Time) (*JWT, error) {
	j := &JWT{
		issuer: i, now: now, seen: map[[sha256.Size]byte]verified{},
		client: &http.Client{Timeout: fetchTimeout, Transport: &seldom{limit: rate.NewLimiter(fetches, fetchBurst)}},
	}
	if i.KeySet == "" || strings.Contains(i.KeySet, "://") {
		return j, nil
	}
	keys, err := keysOf(i.KeySet)
	if err != nil {
		return nil, err
	}
	j.verifier = j.verifierOf(&oidc.StaticKeySet{PublicKeys: keys})
	return j, nil
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

// errTooOften says that the issuer is not asked again now.
var errTooOften = errors.New("the issuer was asked for its keys just now")

// seldom keeps tokens with made-up key ids from having the issuer asked each time.
type seldom struct{ limit *rate.Limiter }

// RoundTrip implements http.RoundTripper.
func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.limit.Allow() {
		return nil, errTooOften
	}
	return http.DefaultTransport.RoundTrip(r)
}

// verifierOf leaves to claims what depends on the clock and on the audience, whose causes are told apart.
func (j *JWT) verifierOf(keys oidc.KeySet) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(j.issuer.URL, noted{keys}, &oidc.Config{
		SupportedSigningAlgs: algorithms(), SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
}

// keySet is the verifier, once the issuer has said where its keys are.
func (j *JWT) keySet(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.verifier != nil {
		return j.verifier, nil
	}
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), j.client)
	if j.issuer.KeySet != "" {
		j.verifier = j.verifierOf(oidc.NewRemoteKeySet(ctx, j.issuer.KeySet))
		return j.verifier, nil
	}
	provider, err := oidc.NewProvider(ctx, j.issuer.URL)
	if err != nil {
		return nil, unavailable(err)
	}
	var found struct {
		URL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, fmt.Errorf("read what the issuer of tokens says of its keys: %w", err)
	}
	j.verifier = j.verifierOf(oidc.NewRemoteKeySet(ctx, found.URL))
	return j.verifier, nil
}

// noted keeps why a key set did not verify: the verifier's own error has the words alone.
type noted struct{ oidc.KeySet }

type noteKey struct{}

// VerifySignature implements oidc.KeySet.
func (n noted) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := n.KeySet.VerifySignature(ctx, token)
	if note, ok := ctx.Value(noteKey{}).(*error); ok && err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		*note = err
	}
	return payload, err
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
	verifier, err := j.keySet(ctx)
	if err != nil {
		return nil, err
	}
	var unreachable error
	signed, err := verifier.Verify(context.WithValue(ctx, noteKey{}, &unreachable), token)
	if unreachable != nil && !errors.Is(unreachable, errTooOften) {
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
	if from, ok := timeOf(claims["nbf"]); ok && now.Before(from.Add(-leeway)) {
		return p, until, CauseEarly
	}
	if !holds(claims["aud"], i.Audience) {
		return p, until, CauseAudience
	}
	p = i.Claims.Otherwise
	if tenant, ok := textOf(claims, i.Claims.Tenant); ok {
		p.Tenant = tenant
	}
	if name, ok := textOf(claims, i.Claims.Role); ok {
		role, err := ParseRole(name)
		if err != nil {
			return p, until, CauseClaims
		}
		p.Role = role
	}
	if p.Role == RoleUser { // without a user it is not Valid
		p.UserID, _ = textOf(claims, i.Claims.User)
	}
	subject, _ := textOf(claims, "sub")
	p.Subject, p.Method = "jwt:"+subject, MethodJWT
	if !p.Valid() {
		return p, until, CauseClaims
	}
	return p, expires.Add(leeway), ""
}

// timeOf is a NumericDate of RFC 7519.
func timeOf(claim any) (time.Time, bool) {
	seconds, ok := claim.(float64)
	return time.Unix(int64(seconds), 0), ok
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

// textOf is a claim that is text and not empty, by its path. A claim whose own name has dots comes first, such as https://example.org/role.
func textOf(claims map[string]any, path string) (string, bool) {
	if text, ok := claims[path].(string); ok {
		return text, text != ""
	}
	head, rest, ok := strings.Cut(path, ".")
	if inner, isObject := claims[head].(map[string]any); ok && isObject {
		return textOf(inner, rest)
	}
	return "", false
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
