package store

import (
	"crypto/rand"
	"encoding/hex"
)

// MintKey returns a new key of 128 random bits, for a life of a user or an incarnation of a session.
func MintKey() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// MaxKeyLength is how long a key that reaches a view may be, in bytes.
const MaxKeyLength = 128

// MintedKey reports whether a key could have been minted by us: 1 to MaxKeyLength letters, digits, dashes and
// underscores of ASCII. A view puts keys into expressions of a query language; no other key may get that far.
func MintedKey(key string) bool {
	if key == "" || len(key) > MaxKeyLength {
		return false
	}
	for i := range len(key) {
		if !keyByte(key[i]) {
			return false
		}
	}
	return true
}

func keyByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}
