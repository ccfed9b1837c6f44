package extract

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/memory"
)

// Key is what makes two texts the same fact: their words in order, without case, punctuation and the words by which a
// text names the user.
func Key(text string) string {
	ws := words(text)
	for _, name := range userNames() {
		if len(ws) > len(name) && slices.Equal(ws[:len(name)], name) {
			ws = ws[len(name):]
			break
		}
	}
	return strings.Join(ws, " ")
}

// userNames are the words by which a text names the user, each in its order.
var userNames = sync.OnceValue(func() [][]string {
	var out [][]string
	for _, line := range languagedata.AllLines(languagedata.UserNames) {
		out = append(out, strings.Fields(line))
	}
	return out
})

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
