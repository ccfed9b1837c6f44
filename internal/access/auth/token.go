package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/stratamem/strata/internal/store"
)

// A token is strata_<id>_<secret><checksum>: the prefix and the checksum let a secret scanner find one without asking anybody, and a
// damaged one is refused without reading the store. Id, secret and checksum are base 62, of 12, 43 and 6 digits; the secret stands
// for 256 random bits, the checksum is the CRC-32 of all before it.
const (
	tokenPrefix    = "strata_"
	keyIDDigits    = 12
	secretDigits   = 43
	checksumDigits = 6
	secretBytes    = 32
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// encode62 writes b as a number of so many digits; higher ones are cut off.
func encode62(b []byte, digits int) string {
	n, base, rest := new(big.Int).SetBytes(b), big.NewInt(int64(len(base62))), new(big.Int)
	out := make([]byte, digits)
	for i := digits - 1; i >= 0; i-- {
		n.DivMod(n, base, rest)
		out[i] = base62[rest.Int64()]
	}
	return string(out)
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	return encode62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checksumDigits)
}

// MintKeyID returns the id of a new key.
func MintKeyID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return encode62(b[:], keyIDDigits)
}

// MintToken returns a new token of the key, which is shown once and kept nowhere, and the hash that is stored.
func MintToken(keyID string) (token string, hash store.KeyHash) {
	var b [secretBytes]byte
	rand.Read(b[:])
	secret := encode62(b[:], secretDigits)
	token = tokenPrefix + keyID + "_" + secret
	return token + checksum(token), sha256.Sum256([]byte(secret))
}

// TokenPrefix is what the key's tokens begin with: people know them by it, and it is no secret.
func TokenPrefix(keyID string) string { return tokenPrefix + keyID + "_" }

// parseToken takes a token apart; false where it is none, or damaged.
func parseToken(token string) (keyID, secret string, ok bool) {
	const length = len(tokenPrefix) + keyIDDigits + 1 + secretDigits + checksumDigits
	if len(token) != length || !strings.HasPrefix(token, tokenPrefix) || token[len(tokenPrefix)+keyIDDigits] != '_' {
		return "", "", false
	}
	body, sum := token[:length-checksumDigits], token[length-checksumDigits:]
	if checksum(body) != sum {
		return "", "", false
	}
	keyID, secret, _ = strings.Cut(body[len(tokenPrefix):], "_")
	return keyID, secret, strings.Trim(keyID+secret, base62) == ""
}
