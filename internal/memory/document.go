package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Document is a JSON object that a caller filed under a namespace and a key.
type Document struct {
	DocumentPlace
	Value      json.RawMessage // an object, as it came
	Fields     []string        // the paths that are searched; nil for the whole value
	Unindexed  bool            // no query finds it
	TTL        time.Duration   // from when it was put or read last; 0 for ever
	CreateTime time.Time
	UpdateTime time.Time // when it was put last
	ExpireTime time.Time // zero for never
	ETag       string    // another one with each put
}

// DocumentPlace is where one of a user's documents is.
type DocumentPlace struct {
	Namespace []string // from the widest to the narrowest
	Key       string
}

// Compare orders places by namespace, then key.
func (p DocumentPlace) Compare(o DocumentPlace) int {
	return cmp.Or(slices.Compare(p.Namespace, o.Namespace), strings.Compare(p.Key, o.Key))
}

// HasExpired reports whether the document is not to be seen at the time any more.
func (d Document) HasExpired(now time.Time) bool {
	return !d.ExpireTime.IsZero() && !d.ExpireTime.After(now)
}

// DigestOf is what is known of a place without naming it.
func (p DocumentPlace) DigestOf() Digest {
	b, _ := json.Marshal(p) // of strings alone, which cannot fail
	return IDDigest("document/" + string(b))
}
