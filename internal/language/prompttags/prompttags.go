// Package prompttags holds what sets apart the parts of a prompt that the service writes: the tags around what memory knows,
// what keeps content from passing for such a tag or for another speaker's line, and the recogniser of what was rendered
// before and comes back in a message. It is pure.
package prompttags

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// Name is the kind of content that a fence encloses.
type Name string

// The names. A tag is "strata-", the name, a hyphen and an ID.
const (
	Memory  Name = "memory"  // what memory knows
	State   Name = "state"   // a JSON value of a session's state, or of a call's variables
	Context Name = "context" // a whole context as one text, without the messages that are not recorded yet
)

// stem is what every tag begins with, before a hyphen and the name.
const stem = "strata"

func names() [3]Name { return [3]Name{Memory, State, Context} }

// ID distinguishes a user's fences from text that looks like them: 16 hex digits that only the server can derive. Every reply to
// a user has the same, so that providers' prompt caches hold.
type ID string

// idBytes is how many bytes an ID has before it is written in hex: 64 bits cannot be guessed through a service's calls.
const idBytes = 8

// SecretBytes is how long a server's secret is, that of HMAC-SHA-256's output.
const SecretBytes = sha256.Size

// IDOf derives the id of a user's fences: HMAC-SHA-256 of the scope's key under the server's secret, cut to 64 bits.
func IDOf(secret []byte, scope memory.ScopeKey) ID { return derive(secret, "scope", string(scope)) }

// IDOfUnknown derives the id for a user of whom nothing is stored, who has no scope yet. It stays known when the user has
// one, so that what was rendered before the first Record is recognised.
func IDOfUnknown(secret []byte, user memory.UserRef) ID {
	return derive(secret, "user", user.Tenant, user.UserID)
}

func derive(secret []byte, fields ...string) ID {
	mac := hmac.New(sha256.New, secret)
	for _, f := range fields {
		sum := sha256.Sum256([]byte(f)) // of one length each, so that no two lists of fields are the same bytes
		mac.Write(sum[:])
	}
	return ID(hex.EncodeToString(mac.Sum(nil)[:idBytes]))
}

// Open is the tag that opens a fence.
func (id ID) Open(n Name) string { return "<" + stem + "-" + string(n) + "-" + string(id) + ">" }

// Close is the tag that closes a fence.
func (id ID) Close(n Name) string { return "</" + stem + "-" + string(n) + "-" + string(id) + ">" }

// Disarm puts a backslash before the hyphen of every fence name in a text, whatever id follows: in any case, in letters
// that look like it, or with invisible characters between. Backslashes before such a hyphen are looked through, so that
// dropping one backslash from each gives back the text.
func Disarm(s string) string {
	hyphens := hyphensOfNames(s)
	if len(hyphens) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, at := range hyphens {
		b.WriteString(s[last:at])
		b.WriteByte('\\')
		last = at
	}
	b.WriteString(s[last:])
	return b.String()
}

// DisarmJSON writes the hyphens of fence names, and line ends that JSON leaves as they are, as JSON escapes: both can only
// stand within a string.
func DisarmJSON(s string) string {
	hyphens := hyphensOfNames(s)
	if len(hyphens) == 0 && !strings.ContainsAny(s, "\u0085\u2028\u2029") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		armed := len(hyphens) > 0 && hyphens[0] == i
		if armed {
			hyphens = hyphens[1:]
		}
		if !armed && r != '\u0085' && r != '\u2028' && r != '\u2029' {
			b.WriteString(s[i : i+runeBytes(s, i)])
			continue
		}
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte("0123456789abcdef"[(r>>shift)&15])
		}
	}
	return b.String()
}

func runeBytes(s string, i int) int {
	_, n := utf8.DecodeRuneInString(s[i:])
	return n
}
