package access_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// issuer is one of tokens, over HTTP: by OpenID Connect discovery it says where its keys are.
type issuer struct {
	*httptest.Server
	mu   sync.Mutex
	id   string // of the key that it signs by
	key  *rsa.PrivateKey
	down bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.rotate(t, "k1")
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		switch {
		case i.down:
			http.Error(w, "down", http.StatusBadGateway)
		case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
		default:
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id}}})
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// rotate has it sign by a new key, and publish that alone.
func (i *issuer) rotate(t *testing.T, id string) {
	t.Helper()
	key := e2e.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id, i.key = id, key
}

// use has a server take its tokens.
func (i *issuer) use(c *config.Config) {
	c.Auth, c.JWTIssuer, c.JWTAudience = config.AuthRequired, i.URL, "strata"
	c.JWTTenant, c.JWTRole = "org.id", "https://strata.example/roles"
}

// claims are those of a good token of the role and subject, with changes; nil takes one away.
func (i *issuer) claims(subject, role string, changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": i.URL, "aud": "strata", "sub": subject, "https://strata.example/roles": []string{"viewer", role},
		"org": map[string]any{"id": "acme"}, "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	return signedBy(t, jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, i.id, claims)
}

func signedBy(t *testing.T, key jose.SigningKey, id string, claims map[string]any) string {
	t.Helper()
	signer := e2e.Must(jose.NewSigner(key, (&jose.SignerOptions{}).WithHeader("kid", id)))(t)
	return e2e.Must(e2e.Must(signer.Sign(e2e.Must(json.Marshal(claims))(t)))(t).CompactSerialize())(t)
}

// TestTokensOfAnIssuerLetIn: a JSON Web Token lets its bearer in as the claims say, and one that is no good is refused in the bytes in
// which a call without any is.
func TestTokensOfAnIssuerLetIn(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { i.use(c); c.BootstrapKey = true })
	with := func(token string) context.Context {
		return metadata.AppendToOutgoingContext(h.Ctx, "authorization", "Bearer "+token)
	}
	by := func(subject, role string, changes map[string]any) context.Context {
		return with(i.token(t, i.claims(subject, role, changes)))
	}
	for _, id := range []string{"ada", "bob"} {
		e2e.Must(h.Record(by("the app", "agent", nil), &memoryv1.RecordRequest{
			UserId: id, SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m", "I like rain.")},
		}))(t)
	}
	list := func(ctx context.Context, of string) error {
		_, err := h.ListSessions(ctx, &memoryv1.ListSessionsRequest{UserId: of})
		return err
	}
	t.Run("as their claims say", func(t *testing.T) {
		for name, row := range map[string]struct {
			err  error
			want codes.Code
		}{
			"an agent reads any user of its tenant":   {list(by("the app", "agent", nil), "bob"), codes.OK},
			"a user reads their own":                  {list(by("ada", "user", nil), "ada"), codes.OK},
			"a call that names nobody is about them":  {list(by("ada", "user", nil), ""), codes.OK},
			"a user reads nobody else's":              {list(by("ada", "user", nil), "bob"), codes.NotFound},
			"an operator reads no memory":             {list(by("ops", "operator", nil), "ada"), codes.PermissionDenied},
			"another tenant has no such user":         {session(by("app", "agent", map[string]any{"org": map[string]any{"id": "b"}}), h), codes.NotFound},
			"nor has the server's, by its first key":  {session(with(h.App.FirstKey()), h), codes.NotFound},
			"and there it is":                         {session(by("app", "agent", nil), h), codes.OK},
			"a tenant's admin is none of the server":  {tenants(by("root", "admin", nil), h), codes.PermissionDenied},
			"the default tenant's admin is, by claim": {tenants(by("root", "admin", map[string]any{"org": map[string]any{"id": "default"}}), h), codes.OK},
		} {
			if status.Code(row.err) != row.want {
				t.Errorf("%s: %v", name, row.err)
			}
		}
	})
	refused := e2e.Must(proto.Marshal(status.Convert(list(h.Ctx, "ada")).Proto()))(t)
	mustRefuse := func(t *testing.T, name string, err error) {
		t.Helper()
		if got := e2e.Must(proto.Marshal(status.Convert(err).Proto()))(t); status.Code(err) != codes.Unauthenticated || string(got) != string(refused) {
			t.Errorf("%s: %v, which is not what a call without a token is told", name, err)
		}
	}
	t.Run("and are refused alike whatever is wrong", func(t *testing.T) {
		der := e2e.Must(x509.MarshalPKIXPublicKey(i.key.Public()))(t)
		public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		good := i.claims("ada", "user", nil)
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + strings.Split(i.token(t, good), ".")[1] + "."
		past, soon := time.Now().Add(-time.Minute).Unix(), time.Now().Add(time.Hour).Unix()
		for name, ctx := range map[string]context.Context{
			"expired":                                by("ada", "user", map[string]any{"exp": past}),
			"not valid yet":                          by("ada", "user", map[string]any{"nbf": soon}),
			"without an end":                         by("ada", "user", map[string]any{"exp": nil}),
			"of another audience":                    by("ada", "user", map[string]any{"aud": "billing"}),
			"of another issuer":                      by("ada", "user", map[string]any{"iss": "https://evil.example"}),
			"signed by nothing":                      with(none),
			"signed by the public key as a secret":   with(signedBy(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, "k1", good)),
			"of a key that the issuer does not have": with(signedBy(t, jose.SigningKey{Algorithm: jose.RS256, Key: newIssuer(t).key}, "k9", good)),
			"without a role":                         by("ada", "user", map[string]any{"https://strata.example/roles": nil}),
			"of a role that is none":                 by("ada", "root", nil),
			"without a tenant":                       by("root", "admin", map[string]any{"org": nil}),
			"of the role user without a user":        by("ada", "user", map[string]any{"sub": nil}),
			"cut off":                                with(strings.TrimSuffix(i.token(t, good), "A")[:200]),
		} {
			mustRefuse(t, name, list(ctx, "ada"))
		}
	})
	t.Run("by a key that is new, when a token names it", func(t *testing.T) {
		i.rotate(t, "k2")
		if err := list(by("ada", "user", nil), "ada"); err != nil {
			t.Error(err)
		}
	})
	t.Run("of a suspended tenant not at all", func(t *testing.T) {
		d := &desk{e2e.GRPCDoor{Conn: h.Conn}, t, h.App.FirstKey()}
		d.ask("TenantService/SuspendTenant", &memoryv1.SuspendTenantRequest{Tenant: "acme"}, &memoryv1.SuspendTenantResponse{})
		mustRefuse(t, "a suspended tenant", list(by("ada", "user", nil), "ada"))
	})
	t.Run("and neither they nor their claims are in the log", func(t *testing.T) {
		log := h.Log.String()
		for _, secret := range []string{"eyJ", "billing", "evil.example", "org"} {
			if strings.Contains(log, secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
		for _, cause := range []string{"expired", "early", "audience", "unknown", "claims", "suspended"} {
			if !strings.Contains(log, "refused: "+cause) {
				t.Errorf("the log does not name the cause %q", cause)
			}
		}
	})
}

// session asks for ada's, of the tenant of the call's credential.
func session(ctx context.Context, h *e2e.Server) error {
	_, err := h.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"})
	return err
}

// tenants asks for all of the server.
func tenants(ctx context.Context, h *e2e.Server) error {
	_, err := memoryv1.NewTenantServiceClient(h.Conn).ListTenants(ctx, &memoryv1.ListTenantsRequest{})
	return err
}
