package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/memory"
)

// What principals begin with, by how they were verified.
const (
	keyPrefix   = "key:"
	tokenPrefix = "jwt:"
)

// Hasher makes the keyed hashes in place of ids of people (HMAC-SHA-256, cut to 128 bits), under the secret that all servers on a
// store share: who knows an id can ask for its entries, before and after the erasure of the user, and nobody reads an id from them.
type Hasher struct{ secret []byte }

// NewHasher makes a Hasher.
func NewHasher(secret []byte) Hasher { return Hasher{secret: secret} }

// keyed hashes parts of one kind. Each is hashed first, so that parts of other lengths are other inputs.
func (h Hasher) keyed(kind string, parts ...string) memory.KeyedHash {
	mac := hmac.New(sha256.New, h.secret)
	for _, p := range append([]string{"audit", kind}, parts...) {
		sum := sha256.Sum256([]byte(p))
		mac.Write(sum[:])
	}
	return memory.KeyedHash(mac.Sum(nil)[:16])
}

// User is the hash of a user's id.
func (h Hasher) User(user memory.UserRef) memory.KeyedHash {
	return h.keyed("user", user.Tenant, user.UserID)
}

// Session is the hash of a session's id.
func (h Hasher) Session(ref memory.SessionRef) memory.KeyedHash {
	return h.keyed("session", ref.Tenant, ref.UserID, ref.SessionID)
}

// Request is the hash of the request id of a call by the tenant.
func (h Hasher) Request(tenant, id string) memory.KeyedHash { return h.keyed("request", tenant, id) }

// principal names who called. The subject of a token may be a person's id; the id of a key and the name of a certificate in the
// server's settings are not.
func (h Hasher) principal(p auth.Principal) string {
	if p.Method != auth.MethodJWT {
		return p.Subject
	}
	return h.token(p.Tenant, strings.TrimPrefix(p.Subject, tokenPrefix))
}

func (h Hasher) token(tenant, subject string) string {
	hash := h.keyed("subject", tenant, subject)
	return tokenPrefix + hex.EncodeToString(hash[:])
}

// Named returns the principal of entries that a person names: a token by its subject or as entries show it, others as they are shown.
func (h Hasher) Named(tenant, principal string) string {
	subject, isToken := strings.CutPrefix(principal, tokenPrefix)
	if b, err := hex.DecodeString(subject); !isToken || err == nil && len(b) == len(memory.KeyedHash{}) {
		return principal
	}
	return h.token(tenant, subject)
}
