package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
)

// issuer signs tokens, and says by which keys.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	keys    map[string]*ecdsa.PrivateKey // by key id
	other   []jose.JSONWebKey            // that it publishes beside them
	fetches int                          // of the key set
	down    bool
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]*ecdsa.PrivateKey{}}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	i.rotate(t, "k1")
	return i
}

// rotate has the issuer sign by a new key, and forget the others.
func (i *issuer) rotate(t testing.TB, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.keys)
	i.keys[id] = key
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down:
		http.Error(w, "down", http.StatusBadGateway)
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL})
	default:
		i.fetches++
		_ = json.NewEncoder(w).Encode(i.set())
	}
}

func (i *issuer) set() (set jose.JSONWebKeySet) {
	for id, key := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"})
	}
	set.Keys = append(set.Keys, i.other...)
	return set
}

func (i *issuer) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) token(t testing.TB, keyID string, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	return signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["k1"]}, keyID, claims)
}

func signed(t testing.TB, key jose.SigningKey, keyID string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithHeader("kid", keyID))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var jwtNow = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// good are the claims of a token of ada, with changes; nil takes one away.
func (i *issuer) good(changes map[string]any) map[string]any {
	claims := map[string]any{
		"iss": i.URL, "aud": "strata", "sub": "ada", "exp": jwtNow.Add(time.Hour).Unix(), "org": map[string]any{"id": "acme"}, "role": "user",
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

func (i *issuer) verifier(t testing.TB, now func() time.Time) *auth.JWT {
	t.Helper()
	j, err := auth.NewJWT(auth.Issuer{URL: i.URL, Audience: "strata", Claims: auth.Claims{
		Tenant: "org.id", User: "sub", Role: "role", Otherwise: auth.Principal{Tenant: auth.DefaultTenant, Role: auth.RoleUser},
	}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func atNoon() time.Time { return jwtNow }

func verify(j auth.Verifier, token string) (auth.Principal, error) {
	return j.Verify(context.Background(), auth.Credential{Token: token})
}

func TestJWT(t *testing.T) {
	t.Parallel()
	ada := auth.Principal{Tenant: "acme", UserID: "ada", Role: auth.RoleUser, Subject: "jwt:ada", Method: auth.MethodJWT}
	agent := auth.Principal{Tenant: "acme", Role: auth.RoleAgent, Subject: "jwt:ada", Method: auth.MethodJWT}
	in := func(p auth.Principal, tenant string) auth.Principal {
		p.Tenant = tenant
		return p
	}
	for name, row := range map[string]struct {
		claims map[string]any
		want   auth.Principal
		cause  auth.Cause
	}{
		"a user's token reaches that user in the tenant of its claim":   {nil, ada, ""},
		"a role that the token names counts, for all of the tenant":     {map[string]any{"role": "agent"}, agent, ""},
		"one of the tenant default must name it":                        {map[string]any{"org": map[string]any{"id": "default"}}, in(ada, "default"), ""},
		"one role in a list, beside those of other services, counts":    {map[string]any{"role": []string{"viewer", "agent"}}, agent, ""},
		"two roles in a list are refused: there is no order among them": {map[string]any{"role": []string{"agent", "user"}}, auth.Principal{}, auth.CauseClaims},
		"a list without a role is refused":                              {map[string]any{"role": []string{"viewer"}}, auth.Principal{}, auth.CauseClaims},
		"without the role that is asked for it is refused":              {map[string]any{"role": nil}, auth.Principal{}, auth.CauseClaims},
		"a role that is no text is refused":                             {map[string]any{"role": 7}, auth.Principal{}, auth.CauseClaims},
		"an empty role is refused":                                      {map[string]any{"role": ""}, auth.Principal{}, auth.CauseClaims},
		"without the tenant that is asked for it is refused":            {map[string]any{"org": nil}, auth.Principal{}, auth.CauseClaims},
		"so is an admin's, who would be the server's":                   {map[string]any{"org": nil, "role": "admin"}, auth.Principal{}, auth.CauseClaims},
		"a tenant that is no text is refused":                           {map[string]any{"org": map[string]any{"id": []string{"acme"}}}, auth.Principal{}, auth.CauseClaims},
		"an empty tenant is refused":                                    {map[string]any{"org": map[string]any{"id": ""}}, auth.Principal{}, auth.CauseClaims},
		"a tenant longer than 255 bytes is refused":                     {map[string]any{"org": map[string]any{"id": strings.Repeat("x", 256)}}, auth.Principal{}, auth.CauseClaims},
		"a user with a control character is refused":                    {map[string]any{"sub": "ada\n"}, auth.Principal{}, auth.CauseClaims},
		"one of several audiences is enough":                            {map[string]any{"aud": []string{"other", "strata"}}, ada, ""},
		"a clock that is a little off is forgiven":                      {map[string]any{"exp": jwtNow.Add(-20 * time.Second).Unix()}, ada, ""},
		"an expired token is refused":                                   {map[string]any{"exp": jwtNow.Add(-time.Minute).Unix()}, auth.Principal{}, auth.CauseExpired},
		"one that never expires is refused":                             {map[string]any{"exp": nil}, auth.Principal{}, auth.CauseClaims},
		"one that is not valid yet is refused":                          {map[string]any{"nbf": jwtNow.Add(time.Minute).Unix()}, auth.Principal{}, auth.CauseEarly},
		"one whose begin is no time is refused":                         {map[string]any{"nbf": "tomorrow"}, auth.Principal{}, auth.CauseUnknown},
		"one that expires at no time that there is is refused":          {map[string]any{"exp": 1e300}, auth.Principal{}, auth.CauseClaims},
		"one for another service is refused":                            {map[string]any{"aud": "other"}, auth.Principal{}, auth.CauseAudience},
		"one for nobody in particular is refused":                       {map[string]any{"aud": nil}, auth.Principal{}, auth.CauseAudience},
		"one of another issuer is refused":                              {map[string]any{"iss": "https://evil.example"}, auth.Principal{}, auth.CauseUnknown},
		"a user's token without a user is refused":                      {map[string]any{"sub": nil}, auth.Principal{}, auth.CauseClaims},
		"a role that does not exist is refused rather than passed over": {map[string]any{"role": "root"}, auth.Principal{}, auth.CauseClaims},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			got, err := verify(i.verifier(t, atNoon), i.token(t, "k1", i.good(row.claims)))
			if got != row.want || auth.CauseOf(err) != row.cause || (err == nil) != (row.cause == "") {
				t.Errorf("it stands for %+v, %v", got, err)
			}
		})
	}
}

func TestWhatIsNotSignedByTheIssuerIsRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	public, err := x509.MarshalPKIXPublicKey(i.keys["k1"].Public())
	if err != nil {
		t.Fatal(err)
	}
	other := newIssuer(t)
	part := func(s string) string { return strings.Split(s, ".")[1] }
	good := i.token(t, "k1", i.good(nil))
	for name, token := range map[string]string{
		"nothing signed it":             "eyJhbGciOiJub25lIn0." + part(good) + ".",
		"its public key as a secret":    signed(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, "k1", i.good(nil)),
		"another key of the same id":    signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: other.keys["k1"]}, "k1", i.good(nil)),
		"other claims under its own":    strings.Replace(good, part(good), part(i.token(t, "k1", i.good(map[string]any{"sub": "bob"}))), 1),
		"something that is not a token": "a.b.c",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := verify(i.verifier(t, atNoon), token); auth.CauseOf(err) != auth.CauseUnknown {
				t.Errorf("it stands for %+v, %v", got, err)
			}
		})
	}
	t.Run("and what is no JWT is another verifier's", func(t *testing.T) {
		t.Parallel()
		for _, token := range []string{"", "opaque", "strata_a.b.c"} {
			if _, err := verify(i.verifier(t, atNoon), token); !errors.Is(err, auth.ErrNoCredential) {
				t.Errorf("%q: %v", token, err)
			}
		}
	})
}

// TestEveryKindOfPublicKeyVerifies: each algorithm that may sign does, and a shared secret made of the public key never.
func TestEveryKindOfPublicKeyVerifies(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	on := func(c elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for algorithm, key := range map[jose.SignatureAlgorithm]crypto.Signer{
		jose.RS256: rsaKey, jose.RS384: rsaKey, jose.RS512: rsaKey, jose.PS256: rsaKey, jose.PS384: rsaKey, jose.PS512: rsaKey,
		jose.ES256: on(elliptic.P256()), jose.ES384: on(elliptic.P384()), jose.ES512: on(elliptic.P521()), jose.EdDSA: edKey,
	} {
		t.Run(string(algorithm), func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			i.other = append(i.other, jose.JSONWebKey{Key: key.Public(), KeyID: "other"}) // whose algorithm the set does not say
			if _, err := verify(i.verifier(t, atNoon), signed(t, jose.SigningKey{Algorithm: algorithm, Key: key}, "other", i.good(nil))); err != nil {
				t.Error(err)
			}
			der, err := x509.MarshalPKIXPublicKey(key.Public())
			if err != nil {
				t.Fatal(err)
			}
			jwk, err := i.other[0].MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			secrets := map[string][]byte{"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "JSON": jwk}
			for form, secret := range secrets {
				for hs, least := range map[jose.SignatureAlgorithm]int{jose.HS256: 32, jose.HS384: 48, jose.HS512: 64} {
					if len(secret) < least { // of Ed25519 in DER: nobody would sign by it, and go-jose does not
						continue
					}
					token := signed(t, jose.SigningKey{Algorithm: hs, Key: secret}, "other", i.good(nil))
					if got, err := verify(i.verifier(t, atNoon), token); auth.CauseOf(err) != auth.CauseUnknown {
						t.Errorf("%s by the public key as %s stands for %+v, %v", hs, form, got, err)
					}
				}
			}
		})
	}
	t.Run("and a shared secret that the issuer publishes does not", func(t *testing.T) {
		t.Parallel()
		i, secret := newIssuer(t), []byte(strings.Repeat("s", 64))
		i.other = append(i.other, jose.JSONWebKey{Key: secret, KeyID: "shared"})
		token := signed(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "shared", i.good(nil))
		if got, err := verify(i.verifier(t, atNoon), token); auth.CauseOf(err) != auth.CauseUnknown {
			t.Errorf("it stands for %+v, %v", got, err)
		}
	})
}

func TestTheIssuersKeys(t *testing.T) {
	t.Parallel()
	t.Run("a new key is found when a token names it", func(t *testing.T) {
		t.Parallel()
		i := newIssuer(t)
		j := i.verifier(t, atNoon)
		if _, err := verify(j, i.token(t, "k1", i.good(nil))); err != nil {
			t.Fatal(err)
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		i.mu.Lock()
		i.keys["k2"] = key
		i.mu.Unlock()
		if _, err := verify(j, signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: key}, "k2", i.good(nil))); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that the issuer withdrew counts for five minutes at most, and then not while others are asked for either", func(t *testing.T) {
		t.Parallel()
		i, now := newIssuer(t), jwtNow
		j := i.verifier(t, func() time.Time { return now })
		withdrawn := i.keys["k1"]
		by := func(n int) string {
			return signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: withdrawn}, "k1", i.good(map[string]any{"n": n}))
		}
		if _, err := verify(j, by(1)); err != nil {
			t.Fatal(err)
		}
		i.rotate(t, "k2")
		now = jwtNow.Add(5 * time.Minute)
		for n := range 2 {
			if _, err := verify(j, by(2+n)); auth.CauseOf(err) != auth.CauseUnknown {
				t.Errorf("a new token by a key that was withdrawn: %v", err)
			}
		}
	})
	t.Run("count for an hour while the issuer cannot be asked again, and no longer", func(t *testing.T) {
		t.Parallel()
		i, now := newIssuer(t), jwtNow
		j := i.verifier(t, func() time.Time { return now })
		by := func(n int) string {
			return i.token(t, "k1", i.good(map[string]any{"n": n, "exp": jwtNow.Add(10 * time.Hour).Unix()}))
		}
		if _, err := verify(j, by(1)); err != nil {
			t.Fatal(err)
		}
		i.setDown(true)
		now = jwtNow.Add(59 * time.Minute)
		for n := range 20 { // without asking each time
			if _, err := verify(j, by(2+n)); err != nil {
				t.Fatalf("a minute before: %v", err)
			}
		}
		now = jwtNow.Add(time.Hour)
		if _, err := verify(j, by(100)); memory.ReasonOf(err) != memory.ReasonIssuerUnavailable {
			t.Errorf("after an hour: %v", err)
		}
		i.setDown(false)
		if _, err := verify(j, by(100)); err != nil {
			t.Errorf("once it is back: %v", err)
		}
	})
	t.Run("who waits for an issuer that does not answer waits no longer than their call", func(t *testing.T) {
		t.Parallel()
		i := newIssuer(t)
		hang := make(chan struct{})
		i.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang })
		defer close(hang)
		j, token := i.verifier(t, atNoon), i.token(t, "k1", i.good(nil))
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := j.Verify(ctx, auth.Credential{Token: token})
				ended <- err
			}()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) || auth.CauseOf(err) != "" { // who waits for the issuer ends by its timeout
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("made-up key ids do not have it asked each time", func(t *testing.T) {
		t.Parallel()
		i := newIssuer(t)
		j := i.verifier(t, atNoon)
		for n := range 50 {
			token := i.token(t, strings.Repeat("x", n+1), i.good(nil))
			if _, err := verify(j, token); auth.CauseOf(err) != auth.CauseUnknown {
				t.Fatalf("a made-up key id: %v", err)
			}
		}
		if i.fetches > 6 {
			t.Errorf("the issuer was asked %d times", i.fetches)
		}
	})
	t.Run("while it cannot be reached the call fails, and is no refusal", func(t *testing.T) {
		t.Parallel()
		i := newIssuer(t)
		token := i.token(t, "k1", i.good(nil))
		i.setDown(true)
		j := i.verifier(t, atNoon)
		if _, err := verify(j, token); err == nil || memory.ReasonOf(err) != memory.ReasonIssuerUnavailable {
			t.Errorf("got %v", err)
		}
		i.setDown(false)
		if _, err := verify(j, token); err != nil {
			t.Errorf("once it is back: %v", err)
		}
	})
	t.Run("a token that was verified is believed without the issuer, until it expires", func(t *testing.T) {
		t.Parallel()
		i, now := newIssuer(t), jwtNow
		j := i.verifier(t, func() time.Time { return now })
		token := i.token(t, "k1", i.good(map[string]any{"exp": jwtNow.Add(2 * time.Minute).Unix()}))
		for range 2 {
			if _, err := verify(j, token); err != nil {
				t.Fatal(err)
			}
			i.Close()
		}
		now = jwtNow.Add(3 * time.Minute)
		if _, err := verify(j, token); auth.CauseOf(err) != auth.CauseExpired {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("may come from a file, which must hold public keys alone", func(t *testing.T) {
		t.Parallel()
		i := newIssuer(t)
		path := filepath.Join(t.TempDir(), "keys.json")
		write := func(set jose.JSONWebKeySet) {
			data, err := json.Marshal(set)
			if err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		write(i.set())
		from := auth.Issuer{URL: i.URL, Audience: "strata", KeySet: path, Claims: auth.Claims{
			User: "sub", Otherwise: auth.Principal{Tenant: "acme", Role: auth.RoleUser},
		}}
		j, err := auth.NewJWT(from, atNoon)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := verify(j, i.token(t, "k1", i.good(nil))); err != nil || p.UserID != "ada" || p.Tenant != "acme" {
			t.Errorf("it stands for %+v, %v", p, err)
		}
		write(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.keys["k1"], KeyID: "k1"}}})
		if _, err := auth.NewJWT(from, atNoon); err == nil || !strings.Contains(err.Error(), "not public") {
			t.Errorf("a private key: %v", err)
		}
	})
}

// BenchmarkJWT prints how long a token takes that was seen before, and one at first sight, whose signature is verified.
func BenchmarkJWT(b *testing.B) {
	i := newIssuer(b)
	j := i.verifier(b, atNoon)
	token := i.token(b, "k1", i.good(nil))
	if _, err := verify(j, token); err != nil {
		b.Fatal(err)
	}
	b.Run("seen before", func(b *testing.B) {
		for b.Loop() {
			if _, err := verify(j, token); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("at first sight", func(b *testing.B) {
		var tokens []string
		for n := range 2000 {
			tokens = append(tokens, i.token(b, "k1", i.good(map[string]any{"n": n})))
		}
		for n := 0; b.Loop(); n++ {
			if n == len(tokens) {
				b.Skip("more rounds than tokens: run with -benchtime 1000x")
			}
			if _, err := verify(j, tokens[n]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
