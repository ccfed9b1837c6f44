package extract

import (
	"crypto/sha256"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Key is what makes two texts the same fact: their words in order, without case, punctuation and the words by which a
// text names the user.
func Key(text string) string {
	ws := words(text)
	for _, name := range [][]string{{"the", "user"}, {"user"}, {"사용자는"}, {"사용자가"}, {"유저는"}} {
		if len(ws) > len(name) && strings.Join(ws[:len(name)], " ") == strings.Join(name, " ") {
			ws = ws[len(name):]
			break
		}
	}
	return strings.Join(ws, " ")
}

// KeyDigest is the digest of a fact's key under its subject. It stands for a forgotten fact.
func KeyDigest(subject, text string) memory.Digest {
	return sha256.Sum256([]byte(subjectKey(subject) + "\x00" + Key(text)))
}

// Wordings are the digests of all that a fact ever said, by which it is not learnt again once it is deleted.
func Wordings(revisions []memory.FactRevision) []memory.Digest {
	out := make([]memory.Digest, len(revisions))
	for i, r := range revisions {
		out[i] = KeyDigest(r.Subject, r.Text)
	}
	return out
}

// subjectKey is what makes two subjects the same.
func subjectKey(subject string) string { return strings.Join(words(subject), " ") }
