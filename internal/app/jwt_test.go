package app_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
)

// TestTokensOfAnIssuerLetIn: a JSON Web Token lets its bearer in as the claims say, and one that is no good is refused in the words in
// which a call without any is.
func TestTokensOfAnIssuerLetIn(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	keys := must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}}))(t)
	file := filepath.Join(dir, "keys.json")
	if err := os.WriteFile(file, keys, 0o600); err != nil {
		t.Fatal(err)
	}
	h := startOn(t, filepath.Join(dir, "strata.db"), func(c *config.Config) {
		c.Auth, c.JWTIssuer, c.JWTAudience, c.JWTKeys = config.AuthRequired, "https://issuer.example", "strata", file
		c.JWTTenant, c.JWTRole = "tenant", "role"
	})
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "k")))(t)
	by := func(subject, role string, age time.Duration) context.Context {
		claims := must(json.Marshal(map[string]any{
			"iss": "https://issuer.example", "aud": "strata", "sub": subject, "role": role, "tenant": "acme", "exp": time.Now().Add(time.Hour - age).Unix(),
		}))(t)
		token := must(must(signer.Sign(claims))(t).CompactSerialize())(t)
		return metadata.AppendToOutgoingContext(h.ctx, "authorization", "Bearer "+token)
	}
	for _, id := range []string{"ada", "bob"} {
		must(h.Record(by("the app", "agent", 0), &memoryv1.RecordRequest{
			UserId: id, SessionId: "s", Messages: []*memoryv1.Message{user("m", "I like rain.")},
		}))(t)
	}
	list := func(ctx context.Context, of string) error {
		_, err := h.ListSessions(ctx, &memoryv1.ListSessionsRequest{UserId: of})
		return err
	}
	_, none := h.ListSessions(h.ctx, &memoryv1.ListSessionsRequest{UserId: "ada"})
	for name, row := range map[string]struct {
		err  error
		want codes.Code
	}{
		"an agent reads any user":          {list(by("the app", "agent", 0), "bob"), codes.OK},
		"a user reads their own":           {list(by("ada", "user", 0), "ada"), codes.OK},
		"and nobody else's":                {list(by("ada", "user", 0), "bob"), codes.NotFound},
		"an operator reads no memory":      {list(by("ops", "operator", 0), "ada"), codes.PermissionDenied},
		"an expired one lets nobody in":    {list(by("ada", "user", 2*time.Hour), "ada"), codes.Unauthenticated},
		"nor does one without a user":      {list(by("", "user", 0), "ada"), codes.Unauthenticated},
		"nor one with a role that is none": {list(by("ada", "root", 0), "ada"), codes.Unauthenticated},
	} {
		if status.Code(row.err) != row.want {
			t.Errorf("%s: %v", name, row.err)
		}
		if row.want == codes.Unauthenticated && status.Convert(row.err).Message() != status.Convert(none).Message() {
			t.Errorf("%s: another text than without a token: %v", name, row.err)
		}
	}
}
