package memory

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Digest is the SHA-256 of a body. It is stored only keyed: see Keyed.
type Digest [sha256.Size]byte

// HashKey is the key under which a user's ids and bodies are hashed. It is the scope key of the life in which the user was
// first stored; a life that was imported has another scope key and keeps the hash key, so that its hashes hold.
type HashKey string

// KeyedHash is the stored form of an id or a body: it can be compared by who has the user's hash key, and reveals nothing once
// that key is gone.
type KeyedHash [16]byte

// Keyed hashes a digest under the key (HMAC-SHA-256, cut to 128 bits).
func (k HashKey) Keyed(d Digest) KeyedHash {
	mac := hmac.New(sha256.New, []byte(k))
	mac.Write(d[:])
	return KeyedHash(mac.Sum(nil)[:16])
}

// ErasureUserHash is what is left of a user's id in an erasure (HMAC-SHA-256, cut to 128 bits): who knows the id and the secret
// that the servers of a store share can ask for the user's erasures, and nobody can read the id from it.
func ErasureUserHash(secret []byte, user UserRef) KeyedHash {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%d:%s%s", len(user.Tenant), user.Tenant, user.UserID)
	return KeyedHash(mac.Sum(nil)[:16])
}

// IDDigest is the digest of an id.
func IDDigest(id string) Digest { return sha256.Sum256([]byte(id)) }

// BodyDigest is the digest of what may not change under a known message id: role, name and parts as received.
// Times, tags, metadata, pinned, hidden and original are left out, since adapters resend histories with others.
func BodyDigest(m Message) (Digest, error) {
	body, err := json.Marshal(struct {
		Role  Role
		Name  string
		Parts []Part
	}{m.Role, m.Name, m.Parts})
	if err != nil {
		return Digest{}, fmt.Errorf("encode message body: %w", err)
	}
	return sha256.Sum256(body), nil
}
